"""The memory plan: temporaries whose lives do not overlap share bytes of the temporary resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dml.compiler.program import REGION_ALIGNMENT, Dispatch, Region, Space, StorageBinding

#: How many orders of placing the temporaries are tried at most, until a plan is as small as what lives at once.
MOST_TRIALS = 8


class _Life(NamedTuple):
    """The first and the last dispatch that bind a temporary, and its size, aligned."""

    first: int
    last: int
    size: int

    def up_to(self, last: int, size: int) -> _Life:
        return _Life(self.first, last, max(self.size, size))


def place_temporaries(dispatches: Sequence[Dispatch]) -> tuple[list[Dispatch], int]:
    """Give each temporary (a region index of Space.TEMPORARY) its offset in one resource.

    A temporary lives from the first to the last dispatch that binds it. Larger ones are placed first, each at the
    lowest offset free over its life; where that leaves gaps, whichever ends last is placed before the others. Returns
    the dispatches with their final regions and the size of the resource.
    """
    lives: dict[int, _Life] = {}
    for at, dispatch in enumerate(dispatches):
        for binding in dispatch.bindings:
            region = binding.region
            if region.space is Space.TEMPORARY:
                size, known = _aligned(region.offset + region.size), lives.get(region.index)
                lives[region.index] = _Life(at, at, size) if known is None else known.up_to(at, size)
    placed = _placed(lives, len(dispatches))

    def move(binding: StorageBinding) -> StorageBinding:
        space, index, offset, size = binding.region
        if space is not Space.TEMPORARY:
            return binding
        return StorageBinding(Region(space, 0, placed[index] + offset, size), binding.access, binding.texel)

    final = [dispatch.over(tuple(map(move, dispatch.bindings))) for dispatch in dispatches]
    return final, max((placed[i] + life.size for i, life in lives.items()), default=0)


def _placed(lives: Mapping[int, _Life], steps: int) -> dict[int, int]:
    """The best of some plans: the offset of each temporary."""
    begun = [0] * (steps + 1)
    for life in lives.values():
        begun[life.first] += life.size
        begun[life.last + 1] -= life.size
    least = most = 0
    for change in begun:
        most += change
        least = max(least, most)

    beside: dict[int, list[int]] = {index: [] for index in lives}
    alive: list[int] = []  # those that live on where others begin
    for index, life in sorted(lives.items(), key=lambda entry: entry[1].first):
        alive = [other for other in alive if lives[other].last >= life.first]
        for other in alive:
            beside[other].append(index)
        beside[index] += alive
        alive.append(index)
    order = sorted(lives, key=lambda index: -lives[index].size)
    best: tuple[int, dict[int, int]] | None = None
    for _ in range(MOST_TRIALS):
        placed: dict[int, int] = {}
        total, last = 0, 0
        for index in order:
            taken = [(placed[other], lives[other].size) for other in beside[index] if other in placed]
            size = lives[index].size
            placed[index] = lowest = _lowest(size, taken)
            if (lowest + size, index) > (total, last):
                total, last = lowest + size, index
        if best is None or total < best[0]:
            best = total, placed
        if total <= least or order[0] == last:
            break
        order.remove(last)
        order.insert(0, last)
    assert best is not None
    return best[1]


def _lowest(size: int, taken: list[tuple[int, int]]) -> int:
    """The lowest offset with room for ``size`` bytes beside others: where each begins, and its size."""
    offset = 0
    for start, other in sorted(taken):
        if offset + size <= start:
            break
        offset = max(offset, start + other)
    return offset


def _aligned(size: int) -> int:
    return -(-size // REGION_ALIGNMENT) * REGION_ALIGNMENT
