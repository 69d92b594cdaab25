"""Reading and writing .npy files, and the errors for unusable ones."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

from dml import DMLError
from dml.frontends.npy import read_npy, write_npy

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    "array",
    [X, np.asfortranarray(X), X.astype(">f4"), np.float16(3.5), np.zeros((0, 3), np.int64), np.array([True, False])],
    ids=["c", "fortran", "big-endian", "scalar", "empty", "bool"],
)
def test_arrays_come_back(tmp_path, array):
    (tmp_path / "x.npy").write_bytes(saved(array))
    found = read_npy(tmp_path / "x.npy")
    assert found.dtype == np.asarray(array).dtype.newbyteorder("=")
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    assert np.array_equal(found, array)


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not an .npy file: it is empty"),
        (b"hello world", "is not an .npy file: it begins with b'hello '"),
        (archive(a=X, b=X), r"is not an .npy file: an .npz archive of 2 \(a, b\); save one array with numpy.save"),
        (pickle.dumps(X), "is not an .npy file: pickled Python objects"),
        (saved(np.array([None, 1], object), allow_pickle=True), r"holds Python objects \(dtype object\)"),
        (saved(X)[:-8], r"is cut off: its header says float32 of shape \(3, 4\), 48 bytes, and it has 40"),
        (saved(X)[:20], "has a damaged .npy header"),
        (saved(X)[:7], "has a damaged .npy header"),
        (b"\x93NUMPY\x09\x00" + saved(X)[8:], "an .npy file of version 9.0, which is not read"),
        (saved(X).replace(b"(3, 4)", b"(-3,4)"), r"has a damaged .npy header: a shape of \(-3, 4\)"),
        (saved(X).replace(b"(3, 4)", b"(3, x)"), "has a damaged .npy header"),
        (saved(X).replace(b"<f4", b"<q9"), "has a damaged .npy header"),
        (saved(X).replace(b"(3, 4), }        ", b"(99999999, 9999)}"), "is cut off: its header says"),
    ],
)
def test_errors_describe_a_file_of_another_format(tmp_path, data, message):
    path = tmp_path / "x.npy"
    path.write_bytes(data)
    with pytest.raises(DMLError, match=message) as caught:
        read_npy(path)
    assert caught.value.message.startswith(f"{path}: ")


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(DMLError, match="No such file or directory"):
        read_npy(tmp_path / "none.npy")
    with pytest.raises(DMLError, match="Is a directory"):
        read_npy(tmp_path)
    with pytest.raises(DMLError, match="null"):
        read_npy(tmp_path / "a\0b")


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_file_is_an_array_or_a_dml_error(tmp_path, seed):
    random = np.random.default_rng(seed)
    data = bytearray(saved(X))
    for _ in range(random.integers(1, 4)):
        data[random.integers(len(data))] = random.integers(256)
    path = tmp_path / "x.npy"
    path.write_bytes(bytes(data[: random.integers(len(data) + 1)] if seed % 3 == 0 else data))
    try:
        assert isinstance(read_npy(path), np.ndarray)
    except DMLError as error:
        assert error.message  # noqa: PT017  either outcome is right


@pytest.mark.parametrize(
    "array",
    [
        X,
        X.T,
        X[::2, 1:3],
        np.float16([3])[0],
        np.array(2.5),
        np.zeros((0, 3), np.int64),
        np.array([True]),
        np.array("a"),
    ],
    ids=["c", "fortran", "strided", "scalar", "none", "empty", "bool", "text"],
)
def test_written_files_equal_numpys(tmp_path, array):
    write_npy(tmp_path / "new" / "x.npy", array)
    found = np.load(tmp_path / "new" / "x.npy", allow_pickle=False)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    assert found.shape == array.shape


@pytest.mark.parametrize("room", [0, 100, 5000])
def test_a_full_disk_is_reported_and_leaves_no_file(tmp_path, room):
    """A separate process uses RLIMIT_FSIZE to simulate a full disk."""
    code = f"""
import resource, signal, sys
from pathlib import Path
import numpy as np
from dml import DMLError
from dml.frontends.npy import write_npy
from dml.frontends.kernel_times import write_trace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
for name, write in (
    ("x.npy", lambda path: write_npy(path, np.zeros(2000))),
    ("t.json", lambda path: write_trace(path, {{"x" * 9000: []}}, "clock")),
):
    path = Path({str(tmp_path)!r}) / name
    try:
        write(path)
    except DMLError as error:
        assert error.message == f"{{path}}: cannot be written: File too large", error
    else:
        sys.exit(f"{{path}} was written")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert list(tmp_path.iterdir()) == []


def test_objects_are_not_written(tmp_path):
    with pytest.raises(DMLError, match=r"cannot be written: its elements are Python objects"):
        write_npy(tmp_path / "x.npy", np.array([{}], object))
    assert list(tmp_path.iterdir()) == []
