"""The order of a graph's dispatches: those that do not wait for each other stand together, with no barrier between.

The runtime puts a barrier where a dispatch touches what was written since the last one, and all that came before ends
there. Operators of several dispatches and branches of several operators, one after another, would wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dml.compiler.program import Access, Dispatch, Space

#: Bytes of a resource from one to another, and what was told of the dispatch that touched them.
_Span = tuple[int, int, int]


#: What was written and what was read of one resource.
_Resource = tuple[list[_Span], list[_Span]]


class _Resources:
    """What was touched. (A plan asks it for each binding, some times: so its loops call nothing.)"""

    def __init__(self) -> None:
        self._resources: dict[tuple[Space, int], _Resource] = {}
        self._most = -1

    def after(self, dispatch: Dispatch) -> int:
        """The highest level of the dispatches that this one depends on; -1 where there is none."""
        resources, reading, most = self._resources, Access.READ, self._most
        highest = -1
        for (space, index, start, size), access, _ in dispatch.bindings:
            resource = resources.get((space, index))
            if resource is None:
                continue
            written, read = resource
            end = start + size
            for first, last, level in written if access is reading else written + read:
                if level > highest and start < last and first < end:
                    if level == most:
                        return most
                    highest = level
        return highest

    def add(self, dispatch: Dispatch, level: int) -> None:
        resources, reading = self._resources, Access.READ
        for (space, index, start, size), access, _ in dispatch.bindings:
            resource = resources.get((space, index))
            if resource is None:
                resource = resources[space, index] = [], []
            resource[access is reading].append((start, start + size, level))
        self._most = max(self._most, level)


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
