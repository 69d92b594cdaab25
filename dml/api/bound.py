"""Runs over buffers that change from one to the next: the recordings of the last sets of buffers, and outputs that
callers keep.

A loop that feeds an output back as an input gets its few buffers again and again: one is read while another is
written, and a recording is there for each such pair.
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

#: How many recordings an operator keeps, and how many buffers for one of its outputs.
MOST_RECORDINGS, MOST_BUFFERS = 8, 4


class BoundRecordings:
    """Recordings by the buffers that they are over, those used last. Not safe from several threads."""

    def __init__(self) -> None:
        #: The key holds the buffers, so that no other takes the identity of one.
        self._recordings: Recent[tuple[Buffer, ...], Recording] = Recent(MOST_RECORDINGS)
        #: Counts what was made and forgotten.
        self.changes = 0

    def __len__(self) -> int:
        return len(self._recordings)

    def get(self, buffers: tuple[Buffer, ...], make: Callable[[], Recording]) -> Recording:
        """The recording over these buffers, made where it is not there."""
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
    """Buffers for outputs that callers keep: one that nobody has any more is given out again."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._given: dict[int, list[tuple[Buffer, weakref.ref[Lease]]]] = {}
        #: Counts the buffers that were made.
        self.changes = 0

    def take(self, slot: int, size: int) -> tuple[Buffer, Lease]:
        """A buffer that nobody has, of ``size`` bytes at least, with what says that it is had."""
        given = self._given.setdefault(slot, [])
        lease = Lease()
        free = [buffer for buffer, holder in given if holder() is None and fits(size, buffer.size)]
        buffer = min(free, key=lambda one: one.size, default=None)
        if buffer is None:
            self.changes += 1
            buffer = grown(size, [buffer.size for buffer, _ in given], self._context.buffer)
        given[:] = [entry for entry in given if entry[0] is not buffer]
        given.append((buffer, weakref.ref(lease)))
        del given[:-MOST_BUFFERS]  # (theirs whoever has them)
        return buffer, lease

    @property
    def buffers(self) -> set[Buffer]:
        return {buffer for given in self._given.values() for buffer, _ in given}
