"""Immutable bytes: an object's own, or a file's, which are read when they are needed.

Reading a mapped page beyond the end of a file ends the process (SIGBUS), and a file may be overwritten by a smaller one
at any time. So bytes of a file are read through its descriptor, which fails instead; code that reads them by address,
as NumPy does, calls ``check_unchanged`` first.
"""

from __future__ import annotations

import mmap
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.errors import DMLError

Stored = bytes | memoryview

#: Bytes compared or hashed at a time.
_PART = 1 << 20
#: Longest step of a file system's clock, in seconds.
_TICK = 0.01


class _FileMap(mmap.mmap):
    """A file's bytes, with its path, an open descriptor, and its identity, size and time when it was opened."""

    path: Path
    descriptor: int
    stamp: tuple[int, ...]


def mapped(path: Path) -> memoryview:
    """Map a file. Raises OSError if it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        _wait_for_tick(descriptor)
        stamp = _stamp(descriptor)
        if not os.fstat(descriptor).st_size:
            os.close(descriptor)
            return memoryview(b"")
        file = _FileMap(descriptor, 0, access=mmap.ACCESS_READ)
    except BaseException:
        os.close(descriptor)
        raise
    file.path, file.descriptor, file.stamp = path, descriptor, stamp
    weakref.finalize(file, os.close, descriptor).atexit = False
    return memoryview(file)


def check_unchanged(data: object) -> None:
    """Raise DMLError if bytes, or an array's elements, are in a mapped file that has changed since it was opened."""
    file = _file_of(data)
    if file is not None and _stamp(file.descriptor) != file.stamp:
        raise _changed(file)


def detached(value: Any) -> Any:
    """Return a copy of an array whose elements are in a mapped file; return anything else unchanged.

    Raises DMLError if the file has changed.
    """
    if _file_of(value) is None:
        return value
    check_unchanged(value)
    return value.copy()


def in_parts(data: Stored, start: int, end: int, size: int = _PART) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield bytes ``start`` to ``end``, ``size`` at a time; each part is valid until the next one.

    Raises DMLError if the file that holds them has changed.
    """
    file = _file_of(data)
    scratch = np.empty(0 if file is None else min(size, end - start), np.uint8)
    for index in range(start, end, size):
        stop = min(end, index + size)
        if file is None:
            yield np.frombuffer(data, np.uint8, stop - index, index)
        else:
            part = scratch[: stop - index]
            _read(file, _place(file, data) + index, part)
            yield part


def read_into(target: npt.NDArray[np.uint8], data: Stored, start: int) -> None:
    """Fill the target with bytes starting at ``start``. Raises DMLError if the file that holds them has changed."""
    file = _file_of(data)
    if file is None:
        target[:] = np.frombuffer(data, np.uint8, target.size, start)
    else:
        _read(file, _place(file, data) + start, target)


def sampled(data: Stored, length: int, step: int) -> bytes:
    """Return ``length`` bytes starting at each multiple of ``step``. Raises DMLError if the file that holds them has
    changed."""
    file, starts = _file_of(data), range(0, len(data), step)
    if file is None:
        return b"".join([data[start : start + length] for start in starts])
    place = _place(file, data)
    parts = [_bytes(file, place + start, min(length, len(data) - start)) for start in starts]
    check_unchanged(data)
    return b"".join(parts)


def are_equal(one: Stored, other: Stored) -> bool:
    """Whether bytes are the same. Raises DMLError if a file that holds them has changed."""
    if one is other:
        return True
    if len(one) != len(other):
        return False
    first, second = _file_of(one), _file_of(other)
    if first and second and first.stamp == second.stamp and _place(first, one) == _place(second, other):
        check_unchanged(one)
        return True
    pairs = zip(in_parts(one, 0, len(one)), in_parts(other, 0, len(other)), strict=True)
    return all(np.array_equal(first, second) for first, second in pairs)


def _file_of(data: Any) -> _FileMap | None:
    base = data
    while isinstance(base, np.ndarray):
        base = base.base
    found = base.obj if isinstance(base, memoryview) else None
    return found if isinstance(found, _FileMap) else None


def _wait_for_tick(descriptor: int) -> None:
    """Sleep if the file was written just now: another write within the same tick of its clock would go unnoticed."""
    if abs(time.time_ns() - os.fstat(descriptor).st_mtime_ns) < _TICK * 10**9:
        time.sleep(_TICK)


def _stamp(descriptor: int) -> tuple[int, ...]:
    """Return the identity, size and time of a file, which differ once it is replaced or written to. (Renaming changes
    st_ctime, which is therefore not among them.)"""
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _changed(file: _FileMap) -> DMLError:
    return DMLError(f"{file.path}: was modified after it was opened, so its old contents are lost; load it again")


def _place(file: _FileMap, data: Stored) -> int:
    """Return where in the file the bytes begin."""
    if not len(data):
        return 0
    return int(np.frombuffer(data, np.uint8).ctypes.data - np.frombuffer(file, np.uint8).ctypes.data)


def _bytes(file: _FileMap, offset: int, count: int) -> bytes:
    if not hasattr(os, "pread"):  # (Windows refuses to shorten a mapped file)
        return file[offset : offset + count]
    return os.pread(file.descriptor, count, offset)


def _read(file: _FileMap, offset: int, target: npt.NDArray[np.uint8]) -> None:
    """Fill the target with the file's bytes starting at the offset. Raises DMLError if the file has changed."""
    done = 0
    while done < target.size:
        if hasattr(os, "preadv"):
            count = os.preadv(file.descriptor, [target.data[done:]], offset + done)
        else:
            part = _bytes(file, offset + done, target.size - done)
            target[done : done + len(part)] = np.frombuffer(part, np.uint8)
            count = len(part)
        if not count:
            raise _changed(file)
        done += count
    if _stamp(file.descriptor) != file.stamp:
        raise _changed(file)
