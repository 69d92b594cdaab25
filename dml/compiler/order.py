"""The order of a graph's dispatches: those that do not wait for each other stand together, with no barrier between.

The runtime puts a barrier where a dispatch touches what was written since the last one, and all that came before ends
there. Operators of several dispatches and branches of several operators, one after another, would wait for each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dml.compiler.program import Dispatch, Region, Space


class _Touched(NamedTuple):
    """Bytes of a resource, and what was told of the dispatch that touched them."""

    start: int
    end: int
    level: int


class _Resource:
    """What was written and what was read of one resource."""

    def __init__(self) -> None:
        self.written: list[_Touched] = []
        self.read: list[_Touched] = []

    def after(self, region: Region, *, writes: bool) -> int:
        """The highest level of what such an access depends on; -1 where there is none."""
        start, end, highest = region.offset, region.offset + region.size, -1
        for touched in (self.written, self.read) if writes else (self.written,):
            for first, last, level in touched:
                if level > highest and start < last and first < end:
                    highest = level
        return highest

    def add(self, region: Region, level: int, *, writes: bool) -> None:
        touched = _Touched(region.offset, region.offset + region.size, level)
        (self.written if writes else self.read).append(touched)


class _Resources:
    def __init__(self) -> None:
        self._resources: defaultdict[tuple[Space, int], _Resource] = defaultdict(_Resource)

    def after(self, dispatch: Dispatch) -> int:
        """The highest level of the dispatches that this one depends on; -1 where there is none."""
        return max((self._of(b.region).after(b.region, writes=b.access.writes) for b in dispatch.bindings), default=-1)

    def add(self, dispatch: Dispatch, level: int) -> None:
        for binding in dispatch.bindings:
            self._of(binding.region).add(binding.region, level, writes=binding.access.writes)

    def _of(self, region: Region) -> _Resource:
        return self._resources[region.space, region.index]


def in_levels(dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Those first that the fewest others must follow each other before; as they stood, where that is equal."""
    touched = _Resources()
    levels = []
    for dispatch in dispatches:
        levels.append(1 + touched.after(dispatch))
        touched.add(dispatch, levels[-1])
    if all(before <= after for before, after in pairwise(levels)):
        return list(dispatches)
    order = sorted(range(len(dispatches)), key=levels.__getitem__)
    return [dispatches[at] for at in order]


def count_barriers(dispatches: Sequence[Dispatch]) -> int:
    """Between how many of the dispatches, in this order, the runtime puts a barrier."""
    count, touched = 0, _Resources()
    for dispatch in dispatches:
        if touched.after(dispatch) >= 0:
            count, touched = count + 1, _Resources()
        touched.add(dispatch, 0)
    return count
