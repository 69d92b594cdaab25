"""Bytes of mapped files: read unchanged, or refused if the file was overwritten."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dml
from dml.stored import are_equal, check_unchanged, detached, in_parts, mapped, sampled

SIZE = 3 << 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "weights.bin"
    made.write_bytes(np.random.default_rng(0).bytes(SIZE))
    return made


def shorten(path: Path) -> None:
    os.truncate(path, 10)


def overwrite(path: Path) -> None:
    path.write_bytes(bytes(SIZE))


def whole(data: bytes | memoryview) -> bytes:
    return b"".join(map(bytes, in_parts(data, 0, len(data), 1000)))


def test_bytes_are_the_files(path: Path) -> None:
    data, text = mapped(path), path.read_bytes()
    assert whole(data) == text
    assert whole(data[70000:]) == text[70000:]
    assert b"".join(map(bytes, in_parts(data[5:], 100, 2301, 1000))) == text[105:2306]
    assert sampled(data[7:], 3, 5000) == sampled(text[7:], 3, 5000)
    assert are_equal(data[5:], text[5:])
    assert are_equal(data[5:], mapped(path)[5:])
    assert not are_equal(data[5:], data[4:-1])
    assert not are_equal(data, text[:-1])


def test_an_empty_file_has_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert mapped(tmp_path / "empty") == b""


def test_copies_outlive_the_file(path: Path) -> None:
    text = path.read_bytes()
    array = np.frombuffer(mapped(path), np.uint8).reshape(3, -1)[1:]
    copy = detached(array)
    own = np.ones(3)
    shorten(path)
    assert copy.tobytes() == text[1 << 16 :]
    assert detached(own) is own


@pytest.mark.parametrize("change", [shorten, overwrite])
@pytest.mark.parametrize(
    "read",
    [
        whole,
        check_unchanged,
        lambda data: sampled(data, 3, 5000),
        lambda data: are_equal(data, bytes(SIZE)),
        lambda data: detached(np.frombuffer(data, np.uint8)),
        lambda data: dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(data).digest,
        lambda data: dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(data[:100]).digest,
    ],
)
def test_a_file_that_was_written_to_is_refused(
    path: Path, change: Callable[[Path], None], read: Callable[[memoryview], object]
) -> None:
    data = mapped(path)
    change(path)
    with pytest.raises(dml.DMLError, match=r"weights\.bin: was modified after it was opened"):
        read(data)


def test_a_file_that_was_replaced_keeps_its_bytes(path: Path) -> None:
    text, data = path.read_bytes(), mapped(path)
    other = path.with_name("other")
    overwrite(other)
    other.replace(path)
    assert whole(data) == text
    assert not are_equal(data, mapped(path))


@pytest.mark.parametrize("change", [shorten, overwrite])
def test_overwritten_constants_get_another_name(path: Path, change: Callable[[Path], None]) -> None:
    """The name identifies the data on the device: the bytes before the change."""
    before = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(mapped(path))
    name = before.digest
    text = path.read_bytes()
    change(path)
    assert dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(text).digest != name
    if change is overwrite:
        assert dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(mapped(path)).digest != name
    assert before.digest == name


def test_equal_constants_have_one_name(path: Path) -> None:
    nodes = [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(data) for data in [mapped(path), path.read_bytes(), mapped(path)]]
    assert len({node.digest for node in nodes}) == 1
