"""The memory plan: temporaries whose lives do not overlap share bytes of the temporary resource."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dml.compiler.program import REGION_ALIGNMENT, Dispatch, Region, Space


def place_temporaries(dispatches: Sequence[Dispatch]) -> tuple[list[Dispatch], int]:
    """Give each temporary (a region index of Space.TEMPORARY) its offset in one resource.

    A temporary lives from the first to the last dispatch that binds it. Larger ones are placed first, each at the
    lowest offset free over its life. Returns the dispatches with their final regions and the size of the resource.
    """
    lives: dict[int, tuple[int, int]] = {}
    sizes: dict[int, int] = {}
    for at, dispatch in enumerate(dispatches):
        for binding in dispatch.bindings:
            region = binding.region
            if region.space is Space.TEMPORARY:
                first, _ = lives.get(region.index, (at, at))
                lives[region.index] = first, at
                sizes[region.index] = max(sizes.get(region.index, 0), region.offset + region.size)

    placed: dict[int, int] = {}
    for index in sorted(sizes, key=lambda i: -sizes[i]):
        first, last = lives[index]
        taken = sorted(
            (placed[other], placed[other] + _aligned(sizes[other]))
            for other in placed
            if lives[other][0] <= last and first <= lives[other][1]
        )
        offset = 0
        for start, end in taken:
            if offset + sizes[index] <= start:
                break
            offset = max(offset, end)
        placed[index] = offset

    def move(region: Region) -> Region:
        if region.space is not Space.TEMPORARY:
            return region
        return replace(region, index=0, offset=placed[region.index] + region.offset)

    final = [replace(d, bindings=tuple(replace(b, region=move(b.region)) for b in d.bindings)) for d in dispatches]
    return final, max((placed[i] + _aligned(sizes[i]) for i in placed), default=0)


def _aligned(size: int) -> int:
    return -(-size // REGION_ALIGNMENT) * REGION_ALIGNMENT
