"""Files that people name, read and written. What the system refuses of one ends in a DMLError that names it."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dml.errors import HRESULT, DMLError


@contextlib.contextmanager
def reading(path: object) -> Iterator[None]:
    """Raises DMLError in place of an OSError in its block, and of a ValueError: no file can have such a path."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise DMLError(f"{path}: cannot be read: {_reason(error)}") from error


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Raises DMLError in place of an OSError in its block."""
    try:
        yield
    except OSError as error:
        raise DMLError(f"{path}: cannot be written: {_reason(error)}", HRESULT.E_ACCESSDENIED) from error


#: Bytes that do not change: an object's own, or those of a file (see ``mapped``).
Stored = bytes | memoryview


def mapped(path: Path) -> memoryview:
    """The bytes of a file, which are read when they are looked at. Raises OSError where it cannot be opened.

    The file must not become shorter while anybody has them.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def unload(data: Stored) -> None:
    """Free the memory that reading a mapped file's bytes took; they are read from the file when needed again."""
    if isinstance(data, memoryview) and isinstance(data.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        whole = np.frombuffer(data.obj, np.uint8).ctypes.data
        start = np.frombuffer(data, np.uint8).ctypes.data - whole if len(data) else 0
        first = start // mmap.PAGESIZE * mmap.PAGESIZE
        data.obj.madvise(mmap.MADV_DONTNEED, first, start + len(data) - first)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def check_writable(path: Path) -> None:
    """Raise DMLError where a file cannot be written there, before what it is to hold takes its time to be made."""
    with writing(path):
        path = Path(os.path.realpath(path))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not path.exists() or path.is_file():
            # (a file of its own, as ``whole_file`` writes: what is there may be read-only, and its folder decides)
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path.parent):
                pass


def write_whole(path: Path, data: bytes, *, through_links: bool = True) -> None:
    """Write a file as ``whole_file`` does."""
    with whole_file(path, through_links=through_links) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a file of UTF-8 as ``whole_file`` does."""
    write_whole(path, text.encode())


@contextlib.contextmanager
def whole_file(path: Path, *, through_links: bool = True) -> Iterator[BinaryIO]:
    """A file to write; it, and the folders it needs, are there in one step, at the end: who reads it meanwhile sees all
    of it or what was before. A link stays one, and what is no file (/dev/null, a pipe) is written to.

    through_links: False replaces whatever is at the path, a link or a pipe too, except a folder.
    Raises DMLError where it cannot be written; then, as after any other error, nothing is left behind.
    """
    with writing(path):
        path = Path(os.path.realpath(path)) if through_links else path
        path.parent.mkdir(parents=True, exist_ok=True)
        if through_links and path.exists() and not path.is_file():
            with open(path, "wb") as file:
                yield file
            return
        temporary = path.parent / f"{os.urandom(8).hex()}.tmp"
        try:
            with open(temporary, "xb") as file:  # with the rights that the user's other files get
                yield file
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
