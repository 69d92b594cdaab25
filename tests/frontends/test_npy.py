"""What an .npy file holds, and what is said of one that holds nothing of use."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

from dml import DMLError
from dml.frontends.npy import read_npy

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
        (b"", "is no .npy file: it is empty"),
        (b"hello world", "is no .npy file: it begins with b'hello '"),
        (archive(a=X, b=X), r"is no .npy file: an .npz archive of 2 \(a, b\); save one array with numpy.save"),
        (pickle.dumps(X), "is no .npy file: pickled Python objects"),
        (saved(np.array([None, 1], object), allow_pickle=True), r"holds Python objects \(dtype object\)"),
        (saved(X)[:-8], r"is cut off: its header says float32 of shape \(3, 4\), 48 bytes, and it has 40"),
        (saved(X)[:20], "has a damaged .npy header"),
        (saved(X)[:7], "has a damaged .npy header"),
        (b"\x93NUMPY\x09\x00" + saved(X)[8:], "an .npy file of version 9.0, which is not read"),
        (saved(X).replace(b"(3, 4)", b"(-3,4)"), "is cut off"),
        (saved(X).replace(b"(3, 4)", b"(3, x)"), "has a damaged .npy header"),
        (saved(X).replace(b"<f4", b"<q9"), "has a damaged .npy header"),
        (saved(X).replace(b"(3, 4), }        ", b"(99999999, 9999)}"), "is cut off: its header says"),
    ],
)
def test_it_says_what_a_file_is_instead(tmp_path, data, message):
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
        assert error.message  # noqa: PT017  either is right
