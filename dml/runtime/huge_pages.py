"""Large pages for large buffers on CPUs' drivers, whose memory is the process's own.

A first touch of a page costs the kernel 0.5 to 2 microseconds, most of what uploading weights takes: 512 of them become
one. Linux has its default for who asks (``madvise``); elsewhere nothing happens.
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
    """The C library's function, None where there is none or it knows no large pages."""
    found = getattr(ctypes.CDLL(None), "madvise", None) if hasattr(mmap, "MADV_HUGEPAGE") else None
    if found is not None:
        found.argtypes, found.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return found


def huge_pages(data: Bytes) -> None:
    """Ask for large pages where this memory, of the process's own, holds whole ones. A refusal does no harm."""
    start = -(-data.ctypes.data // _HUGE) * _HUGE
    end = (data.ctypes.data + data.size) // _HUGE * _HUGE
    advise = _madvise() if end > start else None
    if advise is not None:
        advise(start, end - start, mmap.MADV_HUGEPAGE)
