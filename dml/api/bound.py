"""Caches for runs whose buffers change: a recording per recent set of buffers, and output buffers that callers may
keep.

A loop that feeds an output back as an input alternates between a few buffers; each combination of buffers has its own
recording.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable

from dml.api.device_array import Lease
from dml.api.working import fits, grown
from dml.recent import Recent
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.runtime.recording import Recording

#: Maximum recordings of an operator, and buffers of one output.
MOST_RECORDINGS, MOST_BUFFERS = 8, 4


class BoundRecordings:
    """Recent recordings by their buffers. Not thread-safe."""

    def __init__(self) -> None:
        #: Keys hold the buffers, so that no other object takes a buffer's identity.
        self._recordings: Recent[tuple[Buffer, ...], Recording] = Recent(MOST_RECORDINGS)
        #: Number of recordings made or dropped so far.
        self.changes = 0

    def __len__(self) -> int:
        return len(self._recordings)

    def get(self, buffers: tuple[Buffer, ...], make: Callable[[], Recording]) -> Recording:
        """Return the recording over these buffers; make it if missing."""
        found = self._recordings.get(buffers)
        if found is None:
            self._recordings.shrink(MOST_RECORDINGS - 1)
            self.changes += 1
            found = make()
            self._recordings.put(buffers, found)
        return found

    def clear(self) -> None:
        self.changes += 1
        self._recordings.clear()

    @property
    def recordings(self) -> list[Recording]:
        return [recording for _, recording in self._recordings.items()]

    @property
    def buffers(self) -> set[Buffer]:
        return {buffer for key, _ in self._recordings.items() for buffer in key}


class OutputBuffers:
    """Buffers for outputs that callers keep; a buffer without a lease is reused."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._given: dict[int, list[tuple[Buffer, weakref.ref[Lease]]]] = {}
        #: Number of buffers made so far.
        self.changes = 0

    def take(self, slot: int, size: int) -> tuple[Buffer, Lease]:
        """Return a free buffer of at least ``size`` bytes and its lease."""
        given = self._given.setdefault(slot, [])
        lease = Lease()
        free = [buffer for buffer, holder in given if holder() is None and fits(size, buffer.size)]
        buffer = min(free, key=lambda candidate: candidate.size, default=None)
        if buffer is None:
            self.changes += 1
            buffer = grown(size, [buffer.size for buffer, _ in given], self._context.buffer)
        given[:] = [entry for entry in given if entry[0] is not buffer]
        given.append((buffer, weakref.ref(lease)))
        del given[:-MOST_BUFFERS]  # leased buffers live on with their holders
        return buffer, lease

    @property
    def buffers(self) -> set[Buffer]:
        return {buffer for given in self._given.values() for buffer, _ in given}
