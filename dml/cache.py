"""Data kept on disk between processes: folders of entries under one root, with a common size limit.

The root is ``$DML_CACHE_DIR`` or the user's cache directory. Each user of the cache has a ``folder`` and its files.
Above the limit, the least recently used entries are deleted; processes need not know of each other. An unwritable cache
or a damaged entry is not an error: the data is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import platformdirs

from dml.errors import HRESULT, DMLError
from dml.files import write_whole

#: The folders that count against the limit. (Builds of Kompute lie next to them and do not.)
FOLDERS = ("spirv", "pipelines", "tuned", "cases", "coverage")
#: Limit of all folders together, in MiB.
SIZE_VARIABLE = "DML_CACHE_SIZE"
_DEFAULT_MIB = 256
_MAGIC = b"dml-entry-2\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
#: An entry's modification time is its time of last use, with this precision in seconds.
_TOUCHED = 3600.0
#: On average the cache is pruned after this fraction of the limit (given as its inverse) was written.
_PRUNE_PARTS = 128
#: Pruning frees this fraction of the limit (given as its inverse): eight times as much as is written between two
#: prunings.
_FREE_PARTS = _PRUNE_PARTS // 8


class Usage(NamedTuple):
    """Contents of a folder: ``bytes`` in ``entries`` files."""

    entries: int
    bytes: int


class _File(NamedTuple):
    used: float  # seconds since the epoch
    bytes: int
    path: str


def root() -> Path:
    """Return the cache's root folder."""
    return Path(os.environ.get("DML_CACHE_DIR") or platformdirs.user_cache_dir("dml"))


def folder(name: str) -> Path:
    """Return the folder, one of FOLDERS, for entries of one kind."""
    assert name in FOLDERS, name
    return root() / name


def limit() -> int:
    """Return the limit in bytes. Raises DMLError if DML_CACHE_SIZE is not a number of MiB."""
    text = os.environ.get(SIZE_VARIABLE) or str(_DEFAULT_MIB)
    if not (text.isascii() and text.isdigit()):
        raise DMLError(f"{SIZE_VARIABLE}: must be a whole number of MiB, found {text!r}", HRESULT.E_INVALIDARG)
    return int(text) << 20


def read(entry: Path) -> bytes | None:
    """Read an entry; None if it is missing, damaged or another entry's. Counts as a use."""
    try:
        with open(entry, "rb") as file:
            data = file.read()
            used = os.fstat(file.fileno()).st_mtime
    except OSError:
        return None
    content = data[_HEAD:]
    if data[:_HEAD] != _head(entry, content):
        return None
    if time.time() - used > _TOUCHED:
        with contextlib.suppress(OSError):
            os.utime(entry)
    return content


def write(entry: Path, content: bytes) -> None:
    """Write ``content`` as an entry, a file in a ``folder`` or below; sometimes prune.

    A link at its path is replaced, never followed: it may lead to another entry or out of the cache.
    """
    most = limit()
    with contextlib.suppress(DMLError):
        write_whole(entry, _head(entry, content) + content, through_links=False)
    # At random, so that many processes that write little prune as often as one that writes much.
    if random.random() * most < _PRUNE_PARTS * len(content):
        prune()


def prune() -> None:
    """Delete the least recently used entries until 1 / _FREE_PARTS of the limit is free."""
    files = [file for name in FOLDERS for file in _files(folder(name))]
    most = limit()
    excess = sum(file.bytes for file in files) - (most - most // _FREE_PARTS)
    if excess <= 0:
        return
    for file in sorted(files):
        # another process may have deleted it
        with contextlib.suppress(OSError):
            os.unlink(file.path)
        excess -= file.bytes
        if excess <= 0:
            return


def usage() -> dict[str, Usage]:
    """Return the usage of each of FOLDERS."""
    sizes = {name: [file.bytes for file in _files(folder(name))] for name in FOLDERS}
    return {name: Usage(len(found), sum(found)) for name, found in sizes.items()}


def clear() -> None:
    """Delete everything that access rights allow."""
    for name in FOLDERS:
        shutil.rmtree(folder(name), ignore_errors=True)


def _head(entry: Path, content: bytes) -> bytes:
    """Return the header of an entry's file: a digest of the content and of the entry's name.

    The name is that of the file and its folder, so a whole cache can be moved or shipped, but an entry renamed, copied
    or linked to another's place is rejected.
    """
    name = "/".join(entry.parts[-2:]).encode()
    return _MAGIC + hashlib.sha256(b"%d:%b" % (len(name), name) + content).digest()


def _files(directory: Path) -> Iterator[_File]:
    """List the files below a directory; files that vanish meanwhile are left out."""
    for path, _, names in os.walk(directory):
        for name in names:
            file = os.path.join(path, name)
            with contextlib.suppress(OSError):
                status = os.lstat(file)
                yield _File(status.st_mtime, status.st_size, file)
