"""Huge pages for large buffers of CPU drivers, whose memory belongs to the process.

A page fault costs 0.5 to 2 microseconds, most of the time that uploading weights takes; a huge page replaces 512 of
them. Linux grants them on request (``madvise``); elsewhere nothing happens.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

from dml.runtime.memory import Bytes

_HUGE = 2 << 20


@cache
def _madvise() -> Any:
    """Return the C library's madvise; None without it or without huge pages."""
    found = getattr(ctypes.CDLL(None), "madvise", None) if hasattr(mmap, "MADV_HUGEPAGE") else None
    if found is not None:
        found.argtypes, found.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return found


def huge_pages(data: Bytes) -> None:
    """Request huge pages for the whole ones within this memory of the process. A refusal does no harm."""
    start = -(-data.ctypes.data // _HUGE) * _HUGE
    end = (data.ctypes.data + data.size) // _HUGE * _HUGE
    advise = _madvise() if end > start else None
    if advise is not None:
        advise(start, end - start, mmap.MADV_HUGEPAGE)
