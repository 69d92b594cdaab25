"""Reordering of a graph's dispatches so that independent ones are adjacent, without a barrier in between.

The runtime inserts a barrier before a dispatch that depends on any since the last barrier. In the original order,
operators of several dispatches and parallel branches would wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from dml.compiler.memory import least_size, place_temporaries
from dml.compiler.program import Access, Dispatch, Program, Space

#: Bytes of temporaries above which an order that takes at most three quarters of them is preferred to fewer barriers.
MANY_BYTES = 64 << 20

#: A byte range of a resource, and the level (or the number) of the dispatch that touched it.
_Span = tuple[int, int, int]
#: Ranges written and ranges read, by resource. (A hot path of planning: the code below makes few calls.)
_Resources = dict[tuple[Space, int], tuple[list[_Span], list[_Span]]]


def in_levels(dispatches: Sequence[Dispatch]) -> tuple[list[Dispatch], int]:
    """Sort dispatches stably by dependency level.

    Also returns ``count_barriers`` of that order: one before each level but the first.
    """
    levels = _levels(dispatches)
    most = max(levels, default=0)
    if all(before <= after for before, after in pairwise(levels)):
        return list(dispatches), most
    order = sorted(range(len(dispatches)), key=levels.__getitem__)
    return [dispatches[index] for index in order], most


def order_and_place(program: Program) -> None:
    """Choose the order of the dispatches, and place their temporaries. The order with the fewest barriers is chosen if
    it takes no more memory, and another one if it takes much less."""
    dispatches = program.dispatches
    program.is_placed = True
    program.dispatches, program.temporary_size = place_temporaries(dispatches)
    levelled, barriers = in_levels(dispatches)
    moved = any(after is not before for after, before in zip(levelled, dispatches, strict=True))
    if moved and least_size(levelled) <= program.temporary_size and barriers < count_barriers(dispatches):
        others, size = place_temporaries(levelled)
        if size <= program.temporary_size and count_barriers(others) < count_barriers(program.dispatches):
            program.dispatches, program.temporary_size = others, size
    if program.temporary_size > MANY_BYTES:
        others, size = place_temporaries(one_by_one(dispatches))
        if 4 * size <= 3 * program.temporary_size:
            program.dispatches, program.temporary_size = others, size


def one_by_one(dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Order dispatches so that one result is finished before the next one is begun.

    The order by levels, as of a graph's nodes, would hold all parts in memory at once, although work is divided to save
    memory.
    """
    needed = _needed(dispatches)
    inner, done = set[int]().union(*needed), set[int]()
    order: list[Dispatch] = []
    for last in range(len(dispatches)):
        left = [] if last in inner else [last]
        while left:
            missing = next((index for index in needed[left[-1]] if index not in done), None)
            if missing is not None:
                left.append(missing)
                continue
            index = left.pop()
            done.add(index)
            order.append(dispatches[index])
    return order


def _needed(dispatches: Sequence[Dispatch]) -> list[list[int]]:
    """Return the earlier dispatches that each one must follow."""
    resources, needed = _Resources(), list[list[int]]()
    for number, dispatch in enumerate(dispatches):
        needed.append(sorted(set(_dependencies(dispatch, resources))))
        _touch(dispatch, resources, number)
    return needed


def _levels(dispatches: Sequence[Dispatch]) -> list[int]:
    """Return each dispatch's level: one above the highest level it depends on, 0 without dependencies."""
    resources, reading, levels = _Resources(), Access.READ, list[int]()
    most = -1
    for dispatch in dispatches:
        highest = -1
        # equals max(_dependencies(...)), but skips touches of lower levels
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
        _touch(dispatch, resources, level, covers=True)
    return levels


def count_barriers(dispatches: Sequence[Dispatch]) -> int:
    """Count the barriers that the runtime inserts in this order."""
    resources, count = _Resources(), 0
    for dispatch in dispatches:
        if next(_dependencies(dispatch, resources), None) is not None:
            count, resources = count + 1, _Resources()
        _touch(dispatch, resources, 0)
    return count


def _dependencies(dispatch: Dispatch, resources: _Resources) -> Iterator[int]:
    """Yield the number of each earlier access to a range that the dispatch depends on."""
    reading = Access.READ
    for (space, index, start, size), access, _ in dispatch.bindings:
        resource = resources.get((space, index))
        if resource is not None:
            written, read = resource
            end = start + size
            for first, last, number in written if access is reading else written + read:
                if start < last and first < end:
                    yield number


def _touch(dispatch: Dispatch, resources: _Resources, number: int, *, covers: bool = False) -> None:
    """Record the ranges that a dispatch reads and writes. covers: whether to drop earlier accesses within a written
    range: a dispatch that depends on them also depends on this write."""
    reading = Access.READ
    for (space, index, start, size), access, _ in dispatch.bindings:
        resource = resources.setdefault((space, index), ([], []))
        end = start + size
        if covers and access is not reading:
            for spans in resource:
                if spans and any(start <= first and last <= end for first, last, _ in spans):
                    spans[:] = [span for span in spans if span[0] < start or span[1] > end]
        resource[access is reading].append((start, end, number))
