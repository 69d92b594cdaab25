"""Memory for the regions of one resource.

Regions that do not overlap get separate buffers. No buffer is larger than one group of overlapping regions, and bytes
that no dispatch binds take no memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from dml.compiler.program import Dispatch, Region, Space
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.runtime.recording import Place


def bound_regions(space: Space, dispatches: Iterable[Dispatch]) -> list[Region]:
    """Return the regions of a space that the dispatches bind."""
    return [b.region for dispatch in dispatches for b in dispatch.bindings if b.region.space is space]


class Islands:
    """The contiguous byte ranges of a resource that regions cover. Overlapping regions share an island.

    spans: first byte and end of each island. starts: only the first bytes.
    """

    def __init__(self, regions: Iterable[Region]) -> None:
        found: list[list[int]] = []
        for start, end in sorted({(region.offset, region.offset + region.size) for region in regions}):
            if found and start < found[-1][1]:
                found[-1][1] = max(found[-1][1], end)
            else:
                found.append([start, end])
        self.spans = [(start, end) for start, end in found]
        self.starts = [start for start, _ in found]

    def number(self, region: Region) -> int:
        """Return the index of the island that contains the region."""
        return bisect_right(self.starts, region.offset) - 1


class Arena:
    """One buffer per island: the buffers given, or new ones with undefined contents."""

    def __init__(self, context: Context, islands: Islands, buffers: list[Buffer] | None = None) -> None:
        self.islands = islands
        self.buffers = buffers or [context.buffer(end - start, zero=False) for start, end in islands.spans]
        self._places = [Place(buffer, -start) for buffer, start in zip(self.buffers, islands.starts, strict=True)]

    def place(self, region: Region) -> Place:
        """Return the region's buffer, and the position in it of the resource's first byte; negative if that byte
        precedes the buffer."""
        return self._places[bisect_right(self.islands.starts, region.offset) - 1]
