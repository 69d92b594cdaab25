"""The order of a graph's dispatches: those that do not wait for each other stand together, with no barrier between.

The runtime puts a barrier where a dispatch touches what was written since the last one, and all that came before ends
there. Operators of several dispatches and branches of several operators, one after another, would wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dml.compiler.program import Access, Dispatch, Space

#: Bytes of a resource from one to another, and what was told of the dispatch that touched them.
_Span = tuple[int, int, int]


#: What was written and what was read of one resource. (A plan asks for each binding, some times: so what follows calls
#: little.)
_Resource = tuple[list[_Span], list[_Span]]


def in_levels(dispatches: Sequence[Dispatch]) -> tuple[list[Dispatch], int]:
    """Those first that the fewest others must follow each other before; as they stood, where that is equal.

    Returns with them ``count_barriers`` of that order: one before each level but the first, since whatever stands in a
    level waits for something in the one before, and for nothing in its own.
    """
    levels = _levels(dispatches)
    most = max(levels, default=0)
    if all(before <= after for before, after in pairwise(levels)):
        return list(dispatches), most
    order = sorted(range(len(dispatches)), key=levels.__getitem__)
    return [dispatches[at] for at in order], most


def _levels(dispatches: Sequence[Dispatch]) -> list[int]:
    """One above the highest of the dispatches that each depends on, 0 where there is none."""
    resources: dict[tuple[Space, int], _Resource] = {}
    reading, levels = Access.READ, list[int]()
    most = -1
    for dispatch in dispatches:
        highest = -1
        for (space, index, start, size), access, _ in dispatch.bindings:
            resource = resources.get((space, index))
            if resource is not None and highest < most:
                written, read = resource
                end = start + size
                for first, last, level in written if access is reading else written + read:
                    if level > highest and start < last and first < end:
                        highest = level
        level = highest + 1
        levels.append(level)
        most = max(most, level)
        for (space, index, start, size), access, _ in dispatch.bindings:
            resource = resources.setdefault((space, index), ([], []))
            resource[access is reading].append((start, start + size, level))
    return levels


def count_barriers(dispatches: Sequence[Dispatch]) -> int:
    """Between how many of the dispatches, in this order, the runtime puts a barrier."""
    resources: dict[tuple[Space, int], _Resource] = {}
    reading, count = Access.READ, 0
    for dispatch in dispatches:
        if _meets(dispatch, resources):
            count, resources = count + 1, {}
        for (space, index, start, size), access, _ in dispatch.bindings:
            resource = resources.setdefault((space, index), ([], []))
            resource[access is reading].append((start, start + size, 0))
    return count


def _meets(dispatch: Dispatch, resources: Mapping[tuple[Space, int], _Resource]) -> bool:
    """Whether it depends on what touched these."""
    reading = Access.READ
    for (space, index, start, size), access, _ in dispatch.bindings:
        resource = resources.get((space, index))
        if resource is not None:
            written, read = resource
            end = start + size
            for first, last, _ in written if access is reading else written + read:
                if start < last and first < end:
                    return True
    return False
