"""Placement of temporaries: live ones do not overlap, and the total stays small."""

from __future__ import annotations

import random

import pytest

from dml.compiler.memory import least_size, place_temporaries
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source


def dispatches(*bound: dict[int, int]) -> list[Dispatch]:
    """Return dispatches that bind the given temporaries: index -> size in units of the alignment."""
    return [
        Dispatch(
            "kernel",
            Source("", "", ()),
            tuple(
                StorageBinding(Region(Space.TEMPORARY, i, 0, 256 * size), Access.WRITE)
                for i, size in temporaries.items()
            ),
            (1, 1, 1),
        )
        for temporaries in bound
    ]


def test_gaps_do_not_stay():
    """Placing the largest first would leave a gap below the last value."""
    _, size = place_temporaries(dispatches({0: 29, 1: 12}, {1: 12, 2: 12}, {2: 12, 3: 21}))
    assert size == 256 * (29 + 12)


@pytest.mark.parametrize("seed", range(5))
def test_live_temporaries_do_not_overlap(seed):
    rng = random.Random(seed)
    sizes = [rng.randrange(1, 40) for _ in range(40)]
    ends = [min(39, i + rng.choice((1, 1, 2, 5))) for i in range(40)]
    bound = [{i: sizes[i] for i in range(40) if i <= index <= ends[i]} for index in range(40)]
    final, total = place_temporaries(dispatches(*bound))
    least = max(sum(temporaries.values()) for temporaries in bound) * 256
    assert least == least_size(dispatches(*bound))
    assert least <= total <= 1.2 * least
    for dispatch in final:
        regions = [binding.region for binding in dispatch.bindings]
        assert all(region.offset + region.size <= total for region in regions)
        assert not any(a.overlaps(b) for n, a in enumerate(regions) for b in regions[:n])
