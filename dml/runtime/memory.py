"""Device memory: many pieces in few allocations.

Drivers allow a few thousand allocations (maxMemoryAllocationCount, 4,096 on many), and each is slow. So small pieces
share chunks; a large one has its own allocation, which is freed with it, or kept for the next one.
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

#: Alignment of pieces in bytes: the largest that Vulkan lets a device require of storage buffer offsets
#: (minStorageBufferOffsetAlignment).
PIECE_ALIGNMENT = 256

#: Sizes of a pool's first chunk and of its largest; each new chunk is about as large as all before it.
SMALLEST_CHUNK, LARGEST_CHUNK = 1 << 20, 16 << 20


class Use(Enum):
    """Who accesses a piece of memory; documented at Kompute's BufferUse of the same name."""

    DEVICE = "device"
    SHARED = "shared"
    UPLOAD = "upload"
    READBACK = "readback"


class _Chunk:
    """One allocation. ``free``: its free ranges (offset, size), in order. ``own``: it holds a single piece and is freed
    with it. ``kept``: it holds one large piece at a time and is reused for the next."""

    def __init__(self, native: Any, size: int, *, host: bool, own: bool, kept: bool) -> None:
        self.native = native
        self.size = size
        self.own = own
        self.kept = kept
        self.view: Bytes | None = native.data() if host else None
        self.free = [(0, size)]

    def take(self, size: int) -> int | None:
        """Allocate the best-fitting free range; return its offset, None if none fits."""
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
    """``size`` bytes at ``offset`` of ``native`` (a Kompute Buffer), freed when the last reference to the Piece is
    dropped.

    view: the bytes as the host sees them; None if only the device can access them.
    """

    def __init__(self, returned: deque[tuple[_Chunk, int, int]], chunk: _Chunk, offset: int, size: int) -> None:
        self._returned = returned
        self._chunk = chunk
        self.native = chunk.native
        self.offset = offset
        self.size = size
        self.view = None if chunk.view is None else chunk.view[offset : offset + size]

    def __del__(self) -> None:
        # The garbage collector may call this inside the pool's own code, so the pool processes it later.
        if self._chunk.own:
            self._chunk.native = self._chunk.view = None  # the chunk held only this piece, so it is freed
        self._returned.append((self._chunk, self.offset, self.size))


class Pool:
    """An allocator of pieces for one use. Thread-safe.

    allocate: makes a Kompute Buffer of a given number of bytes. own_from: pieces of at least this many bytes get their
    own allocation.
    """

    def __init__(self, allocate: Callable[[int], Any], own_from: int, *, host: bool) -> None:
        self._allocate = allocate
        self._own_from = own_from
        self._host = host
        self._chunks: list[_Chunk] = []
        self._returned: deque[tuple[_Chunk, int, int]] = deque()
        self._lock = threading.RLock()

    def take(self, size: int, *, keep: bool = False) -> Piece:
        """Allocate ``size`` bytes, rounded up, with undefined contents.

        keep: if the piece gets its own allocation, reuse that for later pieces, until ``release``: drivers take long
        for fresh memory. Raises what ``allocate`` raises.
        """
        size = max(1, -(-size // PIECE_ALIGNMENT)) * PIECE_ALIGNMENT
        keep = keep and size >= self._own_from
        with self._lock:
            self._sort_in()
            if size < self._own_from or keep:
                for chunk in self._chunks:
                    offset = chunk.take(size) if chunk.kept == keep else None
                    if offset is not None:
                        return Piece(self._returned, chunk, offset, size)
            if keep:
                self._release(kept=True)  # all chunks are too small
            chunk = self._new_chunk(size, keep)
            offset = chunk.take(size)
            assert offset is not None
            return Piece(self._returned, chunk, offset, size)

    @property
    def allocated(self) -> tuple[int, int]:
        """Number of allocations, and their bytes."""
        with self._lock:
            self._sort_in()
            return len(self._chunks), sum(chunk.size for chunk in self._chunks)

    @property
    def keeps(self) -> bool:
        """Whether unused allocations are kept for large pieces."""
        with self._lock:
            return any(chunk.kept for chunk in self._chunks)

    @property
    def in_use(self) -> int:
        """Bytes of the pieces in use."""
        with self._lock:
            self._sort_in()
            return sum(chunk.size - sum(length for _, length in chunk.free) for chunk in self._chunks)

    def release(self, *, kept: bool = False) -> None:
        """Return empty chunks to the driver. kept: return only those that are kept for large pieces."""
        with self._lock:
            self._sort_in()
            self._release(kept)

    def _release(self, kept: bool) -> None:
        self._chunks = [chunk for chunk in self._chunks if not chunk.is_free or (kept and not chunk.kept)]

    def _new_chunk(self, size: int, kept: bool) -> _Chunk:
        own = size >= self._own_from and not kept
        wanted = size
        if size < self._own_from:
            shared = sum(chunk.size for chunk in self._chunks if not (chunk.own or chunk.kept))
            target = min(max(SMALLEST_CHUNK, shared), max(LARGEST_CHUNK, self._own_from))
            # Chunks are multiples of the piece's size: a model's weights have few sizes, and then leave no gaps.
            wanted = max(1, target // size) * size
        chunk = _Chunk(self._allocate(wanted), wanted, host=self._host, own=own, kept=kept)
        self._chunks.append(chunk)
        return chunk

    def _sort_in(self) -> None:
        while self._returned:
            chunk, offset, size = self._returned.popleft()
            chunk.give_back(offset, size)
            if chunk.own:
                self._chunks.remove(chunk)
