"""Device memory: many pieces out of few allocations.

Drivers allow some thousand allocations (maxMemoryAllocationCount, 4,096 on many), and each takes long. So small pieces
share chunks; large ones have an allocation of their own, which goes back to the driver with them.
"""

from __future__ import annotations

import threading
from bisect import insort
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

#: Pieces start at multiples of this many bytes: the most that Vulkan lets a device ask for of storage buffers' offsets
#: (minStorageBufferOffsetAlignment), and so enough for every device.
PIECE_ALIGNMENT = 256

#: The first chunk of a pool, and the largest: each next one is as large as all before it.
SMALLEST_CHUNK, LARGEST_CHUNK = 1 << 20, 16 << 20


class Use(Enum):
    """Who reaches a piece of memory; Kompute's BufferUse of the same name has the details."""

    DEVICE = "device"
    SHARED = "shared"
    UPLOAD = "upload"
    READBACK = "readback"


class _Chunk:
    """One allocation. ``free``: its free stretches, (offset, size), in order. ``own``: it is a single piece's."""

    def __init__(self, native: Any, size: int, *, host: bool, own: bool) -> None:
        self.native = native
        self.size = size
        self.own = own
        self.view: Bytes | None = native.data() if host else None
        self.free = [(0, size)]

    def take(self, size: int) -> int | None:
        """The offset of a free stretch of that size, which it is no longer; the tightest fit."""
        fitting = [(length, offset) for offset, length in self.free if length >= size]
        if not fitting:
            return None
        length, offset = min(fitting)
        self.free.remove((offset, length))
        if length > size:
            insort(self.free, (offset + size, length - size))
        return offset

    def give_back(self, offset: int, size: int) -> None:
        insort(self.free, (offset, size))
        merged: list[tuple[int, int]] = []
        for start, length in self.free:
            if merged and sum(merged[-1]) == start:
                merged[-1] = merged[-1][0], merged[-1][1] + length
            else:
                merged.append((start, length))
        self.free = merged

    @property
    def is_free(self) -> bool:
        return self.free == [(0, self.size)]


class Piece:
    """``size`` bytes at ``offset`` of ``native`` (a Kompute Buffer). They are free again once nothing refers to it.

    view: the bytes as the host sees them, None where only the device does.
    """

    def __init__(self, returned: deque[tuple[_Chunk, int, int]], chunk: _Chunk, offset: int, size: int) -> None:
        self._returned = returned
        self._chunk = chunk
        self.native = chunk.native
        self.offset = offset
        self.size = size
        self.view = None if chunk.view is None else chunk.view[offset : offset + size]

    def __del__(self) -> None:
        # The garbage collector may call this in the middle of the pool's own code: the pool takes note of it later.
        if self._chunk.own:
            self._chunk.native = self._chunk.view = None  # memory that nobody else has is the driver's at once
        self._returned.append((self._chunk, self.offset, self.size))


class Pool:
    """Pieces of one use.

    allocate: makes a Kompute Buffer of that many bytes. own_from: pieces of so many bytes get an allocation each.
    Safe from any thread.
    """

    def __init__(self, allocate: Callable[[int], Any], own_from: int, *, host: bool) -> None:
        self._allocate = allocate
        self._own_from = own_from
        self._host = host
        self._chunks: list[_Chunk] = []
        self._returned: deque[tuple[_Chunk, int, int]] = deque()
        self._lock = threading.RLock()

    def take(self, size: int) -> Piece:
        """A piece of ``size`` bytes, rounded up. Its contents are whatever was there.

        Raises what ``allocate`` does.
        """
        size = max(1, -(-size // PIECE_ALIGNMENT)) * PIECE_ALIGNMENT
        with self._lock:
            self._sort_in()
            if size < self._own_from:
                for chunk in self._chunks:
                    offset = chunk.take(size)
                    if offset is not None:
                        return Piece(self._returned, chunk, offset, size)
            chunk = self._new_chunk(size)
            offset = chunk.take(size)
            assert offset is not None
            return Piece(self._returned, chunk, offset, size)

    @property
    def allocated(self) -> tuple[int, int]:
        """Allocations, and bytes in them."""
        with self._lock:
            self._sort_in()
            return len(self._chunks), sum(chunk.size for chunk in self._chunks)

    @property
    def in_use(self) -> int:
        """Bytes of the pieces in them."""
        with self._lock:
            self._sort_in()
            return sum(chunk.size - sum(length for _, length in chunk.free) for chunk in self._chunks)

    def release(self) -> None:
        """Give chunks back to the driver that hold nothing."""
        with self._lock:
            self._sort_in()
            self._chunks = [chunk for chunk in self._chunks if not chunk.is_free]

    def _new_chunk(self, size: int) -> _Chunk:
        wanted = size
        if size < self._own_from:
            shared = sum(chunk.size for chunk in self._chunks if chunk.size < self._own_from)
            wanted = max(size, min(max(SMALLEST_CHUNK, shared), LARGEST_CHUNK, self._own_from - PIECE_ALIGNMENT))
        chunk = _Chunk(self._allocate(wanted), wanted, host=self._host, own=size >= self._own_from)
        self._chunks.append(chunk)
        return chunk

    def _sort_in(self) -> None:
        while self._returned:
            chunk, offset, size = self._returned.popleft()
            chunk.give_back(offset, size)
            if chunk.own:
                self._chunks.remove(chunk)
