"""Memory for regions of one resource, in as few buffers as keep what does not overlap apart.

A storage buffer is bound whole, so two regions in one buffer count as dependent on each other. Regions that never share
a byte get buffers of their own: independent dispatches then need no barrier, and the device's limit on a buffer holds
for each by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from dml.compiler.program import Dispatch, Region, Space
from dml.runtime.context import Buffer, Context
from dml.runtime.recording import Place


class Arena:
    """Device-only buffers for all regions of ``space`` that the dispatches bind."""

    def __init__(self, context: Context, space: Space, dispatches: Iterable[Dispatch]) -> None:
        spans = sorted(
            (binding.region.offset, binding.region.offset + binding.region.size)
            for dispatch in dispatches
            for binding in dispatch.bindings
            if binding.region.space is space
        )
        islands: list[list[int]] = []
        for start, end in spans:
            if islands and start < islands[-1][1]:
                islands[-1][1] = max(islands[-1][1], end)
            else:
                islands.append([start, end])
        self._starts = [start for start, _ in islands]
        self._buffers: list[Buffer] = [context.buffer(end - start, host=False) for start, end in islands]

    def place(self, region: Region) -> Place:
        """Where the region's resource would begin in the region's buffer; possibly before it."""
        island = bisect_right(self._starts, region.offset) - 1
        return Place(self._buffers[island], -self._starts[island])
