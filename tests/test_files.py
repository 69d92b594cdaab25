"""Files that dml reads and writes for people: whole or not at all, or a DMLError that names the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dml.errors import HRESULT, DMLError
from dml.files import check_writable, reading, whole_file, write_whole


@pytest.mark.parametrize(
    ("name", "reason"), [("none", "No such file or directory"), (".", "Is a directory"), ("a\0b", "embedded null byte")]
)
def test_unreadable_files_are_named(tmp_path, name, reason):
    path = tmp_path / name
    with pytest.raises(DMLError) as caught, reading(path):
        path.read_bytes()
    assert caught.value.message.startswith(f"{path}: cannot be read: {reason}")


def test_a_file_has_the_rights_of_the_users_other_files(tmp_path):
    """Reports are sent and served, so others must be able to read them."""
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "new" / "file", b"text")
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "file").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file"]


def test_pipes_and_devices_are_written_to(tmp_path):
    """A pipe stands for /dev/null, which root would otherwise replace by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, b"text")
        assert os.read(reading, 100) == b"text"
    finally:
        os.close(reading)
    assert pipe.is_fifo()


def test_a_link_stays_one(tmp_path):
    (tmp_path / "real").write_bytes(b"before")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"text"


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), DMLError), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["full", "interrupted"],
)
def test_an_unfinished_file_leaves_nothing(tmp_path, error, raised):
    (tmp_path / "file").write_bytes(b"before")

    def write():
        with whole_file(tmp_path / "file") as file:
            file.write(b"half")
            raise error

    with pytest.raises(raised) as caught:
        write()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"before")]
    if raised is DMLError:
        assert caught.value.message == f"{tmp_path / 'file'}: cannot be written: No space left on device"
        assert caught.value.hresult == HRESULT.E_ACCESSDENIED


def test_writability_is_checked_in_advance(tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    for path in (tmp_path / "new" / "file", tmp_path / "file", Path(os.devnull)):
        check_writable(path)
    with pytest.raises(DMLError, match="cannot be written: Is a directory"):
        check_writable(tmp_path)
    with pytest.raises(DMLError, match=r"exists|Not a directory"):
        check_writable(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_bytes() == b"text"
    assert list((tmp_path / "new").iterdir()) == []
