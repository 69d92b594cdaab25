"""Memory for the regions of one resource.

Regions that do not overlap get buffers of their own. So no buffer is larger than a group of regions that do, and bytes
that nothing binds take no memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from dml.compiler.program import Dispatch, Region, Space
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.runtime.recording import Place


def bound_regions(space: Space, dispatches: Iterable[Dispatch]) -> list[Region]:
    """The regions of a space that the dispatches bind."""
    return [b.region for dispatch in dispatches for b in dispatch.bindings if b.region.space is space]


class Islands:
    """The stretches of a resource that regions cover. Regions that share bytes lie in the same one.

    spans: the first byte of each, and its end. starts: the first byte alone.
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
        """The number of the island that a region lies in."""
        return bisect_right(self.starts, region.offset) - 1


class Arena:
    """A buffer for each island: those given, or new ones, whose contents are undefined."""

    def __init__(self, context: Context, islands: Islands, buffers: list[Buffer] | None = None) -> None:
        self.islands = islands
        self.buffers = buffers or [context.buffer(end - start, zero=False) for start, end in islands.spans]
        self._places = [Place(buffer, -start) for buffer, start in zip(self.buffers, islands.starts, strict=True)]

    def place(self, region: Region) -> Place:
        """Where byte 0 of the region's resource would lie in the region's buffer: possibly before the buffer begins."""
        return self._places[bisect_right(self.islands.starts, region.offset) - 1]
