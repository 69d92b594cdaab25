"""Memory planning: temporaries whose lifetimes do not overlap share bytes of the temporary resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from dml.compiler.program import REGION_ALIGNMENT, Dispatch, Region, Space, StorageBinding
from dml.traced import TracedInt

#: Maximum number of placement orders to try before accepting a plan that takes more memory than the temporaries alive
#: at one time.
MOST_TRIALS = 8


class _Life:
    """The lifetime of a temporary, from its first to its last dispatch, and its size."""

    __slots__ = "first", "last", "size"

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.size = 0


def place_temporaries(dispatches: Sequence[Dispatch]) -> tuple[list[Dispatch], int]:
    """Assign each temporary (a region index of Space.TEMPORARY) its offset in one resource.

    A temporary lives from its first to its last dispatch. Larger ones are placed first, each at the lowest offset that
    is free during its life; if gaps remain, the temporary that ends highest is tried earlier. Returns the dispatches
    with their final regions and the resource's size.
    """
    lives = _lives(dispatches)
    total, placed = _placed(lives, len(dispatches))

    def move(binding: StorageBinding) -> StorageBinding:
        (space, index, offset, size), access, texel = binding
        if space is not Space.TEMPORARY:
            return binding
        return StorageBinding(Region(space, 0, placed[index] + offset, size), access, texel)

    final = [dispatch.over(tuple(map(move, dispatch.bindings))) for dispatch in dispatches]
    return final, total


def least_size(dispatches: Sequence[Dispatch]) -> int:
    """Return the largest total size of temporaries that are alive at one time: no placement takes less."""
    return _least(_lives(dispatches), len(dispatches))


def _lives(dispatches: Sequence[Dispatch]) -> dict[int, _Life]:
    lives: dict[int, _Life] = {}
    for position, dispatch in enumerate(dispatches):
        for (space, index, offset, size), _, _ in dispatch.bindings:
            if space is Space.TEMPORARY:
                life = lives.get(index)
                if life is None:
                    life = lives[index] = _Life(position)
                life.last = position
                if offset + size > life.size:
                    life.size = offset + size
    for life in lives.values():
        life.size = -(-life.size // REGION_ALIGNMENT) * REGION_ALIGNMENT
    return lives


def _least(lives: Mapping[int, _Life], steps: int) -> int:
    begun = [0] * (steps + 1)
    for life in lives.values():
        begun[life.first] += life.size
        begun[life.last + 1] -= life.size
    return max(accumulate(begun))


def are_mostly_traced(dispatches: Sequence[Dispatch]) -> bool:
    """Whether most temporaries have traced sizes, as those of a prompt do.

    Tracing their placement would compare the sizes of nearly every pair of them, which takes longer than planning does,
    and the result would be valid for few other sizes.
    """
    traced = [
        type(size) is TracedInt
        for dispatch in dispatches
        for (space, _, _, size), _, _ in dispatch.bindings
        if space is Space.TEMPORARY
    ]
    return 2 * sum(traced) > len(traced)


def _placed(lives: Mapping[int, _Life], steps: int) -> tuple[int, dict[int, int]]:
    """Return the best of some plans: its size, and each temporary's offset."""
    least = _least(lives, steps)
    sizes = {index: life.size for index, life in lives.items()}
    order = sorted(lives, key=lambda index: -sizes[index])
    ranks = {index: rank for rank, index in enumerate(order)}
    #: Temporaries that are placed earlier and overlap in time.
    before: dict[int, list[int]] = {index: [] for index in lives}
    alive: list[int] = []  # temporaries alive at the current point
    for index, life in sorted(lives.items(), key=lambda entry: entry[1].first):
        alive = [other for other in alive if lives[other].last >= life.first]
        for other in alive:
            if ranks[other] < ranks[index]:
                before[index].append(other)
            else:
                before[other].append(index)
        alive.append(index)
    best: tuple[int, dict[int, int]] | None = None
    for _ in range(MOST_TRIALS):
        starts: dict[int, int] = {}
        ends: dict[int, int] = {}
        total = last = 0
        for index in order:
            # The lowest free offset; the others are nearly sorted since the previous trial
            size, others = sizes[index], before[index]
            start, end = 0, size
            others.sort(key=starts.__getitem__)
            for other in others:
                if end <= starts[other]:
                    break
                if ends[other] > start:
                    start, end = ends[other], ends[other] + size
            starts[index], ends[index] = start, end
            if end >= total and (end > total or index > last):
                total, last = end, index
        if best is None or total < best[0]:
            best = total, starts
        if total <= least or order[0] == last:
            break
        order.remove(last)
        order.insert(0, last)
        for other in before[last]:
            before[other].append(last)
        before[last] = []
    assert best is not None
    return best
