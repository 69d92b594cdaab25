"""Reading and writing of user files. A system error becomes a DMLError that names the file."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dml.errors import HRESULT, DMLError


@contextlib.contextmanager
def reading(path: object) -> Iterator[None]:
    """Convert an OSError, or a ValueError for an impossible path, into a DMLError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise DMLError(f"{path}: cannot be read: {_reason(error)}") from error


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Convert an OSError into a DMLError."""
    try:
        yield
    except OSError as error:
        raise DMLError(f"{path}: cannot be written: {_reason(error)}", HRESULT.E_ACCESSDENIED) from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def check_writable(path: Path) -> None:
    """Raise DMLError if the file cannot be written; call it before computing its contents."""
    with writing(path):
        path = Path(os.path.realpath(path))
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not path.exists() or path.is_file():
            # writes a new file, as ``whole_file`` does: the folder's rights decide, not those of an existing file
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path.parent):
                pass


def write_whole(path: Path, data: bytes, *, through_links: bool = True) -> None:
    """Write a file atomically; see ``whole_file``."""
    with whole_file(path, through_links=through_links) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically; see ``whole_file``."""
    write_whole(path, text.encode())


@contextlib.contextmanager
def whole_file(path: Path, *, through_links: bool = True) -> Iterator[BinaryIO]:
    """Write a file, and the folders it needs, in one step at the end: readers see all of it or the previous contents. A
    link stays a link; a device or a pipe, such as /dev/null, is written to directly.

    through_links: False replaces whatever is at the path, except a folder. Raises DMLError if it cannot be written;
    then, as after any other error, nothing is left behind.
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
            with open(temporary, "xb") as file:  # with the access rights of the user's other files
                yield file
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
