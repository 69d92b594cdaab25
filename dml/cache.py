"""What dml keeps on disk between processes: folders of entries under one root, together up to a size.

The root is ``$DML_CACHE_DIR`` or the user's cache directory. Whoever keeps something takes a ``folder`` of it and reads
and writes files below. Where all of them have more than the limit, the entries that were unused longest are forgotten;
processes need not know of each other for that. Neither a cache that cannot be written nor a damaged entry is an error:
what would have been there is made again.
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

#: What dml keeps, a folder each. (The set-up keeps builds of Kompute beside them, which are not ours to forget.)
FOLDERS = ("spirv", "pipelines", "tuned", "coverage")
#: How many MiB all folders together may have.
SIZE_VARIABLE = "DML_CACHE_SIZE"
_DEFAULT_MIB = 256
_MAGIC = b"dml-entry-2\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
#: An entry's time of last use is its time of modification, and this exact, in seconds.
_TOUCHED = 3600.0
#: Entries are counted once in so many parts of the limit written.
_PRUNE_PARTS = 64


class Usage(NamedTuple):
    """How much there is in a folder: ``bytes`` in so many ``entries``."""

    entries: int
    bytes: int


class _File(NamedTuple):
    used: float  # seconds since the epoch
    bytes: int
    path: str


def root() -> Path:
    """The folder that holds ours."""
    return Path(os.environ.get("DML_CACHE_DIR") or platformdirs.user_cache_dir("dml"))


def folder(name: str) -> Path:
    """The folder, one of FOLDERS, that entries of one kind are kept in."""
    assert name in FOLDERS, name
    return root() / name


def limit() -> int:
    """How many bytes the folders may have together; DMLError where DML_CACHE_SIZE is no number of MiB."""
    text = os.environ.get(SIZE_VARIABLE) or str(_DEFAULT_MIB)
    if not (text.isascii() and text.isdigit()):
        raise DMLError(f"{SIZE_VARIABLE}: must be a whole number of MiB, found {text!r}", HRESULT.E_INVALIDARG)
    return int(text) << 20


def read(entry: Path) -> bytes | None:
    """What ``write`` was given for this entry; None where there is none, it is damaged, or it is another entry's.

    The entry counts as used.
    """
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
    """Keep ``content`` as this entry, a file in a ``folder`` or below; now and then forget what was unused longest.

    A link in the entry's place is replaced: what it leads to may be another entry, or no entry at all.
    """
    most = limit()
    with contextlib.suppress(DMLError):
        write_whole(entry, _head(entry, content) + content, through_links=False)
    # By chance, so that many processes that write little count as often as one that writes much.
    if random.random() * most < _PRUNE_PARTS * len(content):
        prune()


def prune() -> None:
    """Forget the entries that were unused longest, as far as there are more bytes than the limit."""
    files = [file for name in FOLDERS for file in _files(folder(name))]
    excess = sum(file.bytes for file in files) - limit()
    if excess <= 0:
        return
    for file in sorted(files):
        # (another process may have forgotten it meanwhile)
        with contextlib.suppress(OSError):
            os.unlink(file.path)
        excess -= file.bytes
        if excess <= 0:
            return


def usage() -> dict[str, Usage]:
    """What there is in each of FOLDERS."""
    sizes = {name: [file.bytes for file in _files(folder(name))] for name in FOLDERS}
    return {name: Usage(len(found), sum(found)) for name, found in sizes.items()}


def clear() -> None:
    """Forget everything; what cannot be removed, for lack of rights, stays."""
    for name in FOLDERS:
        shutil.rmtree(folder(name), ignore_errors=True)


def _head(entry: Path, content: bytes) -> bytes:
    """What precedes the content in an entry's file: a digest of it and of the entry's name.

    The name is that of the file and its folder, so that a whole cache may be moved, and one be shipped. With it in the
    digest, an entry that was renamed, copied or linked to another's place is not taken for that one.
    """
    name = "/".join(entry.parts[-2:]).encode()
    return _MAGIC + hashlib.sha256(b"%d:%b" % (len(name), name) + content).digest()


def _files(directory: Path) -> Iterator[_File]:
    """The files in a directory and below; what vanishes while they are listed is left out."""
    for path, _, names in os.walk(directory):
        for name in names:
            file = os.path.join(path, name)
            with contextlib.suppress(OSError):
                status = os.lstat(file)
                yield _File(status.st_mtime, status.st_size, file)
