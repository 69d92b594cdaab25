"""Nested loops are split by the number of rounds that llvmpipe counts, which includes inactive ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pytest

from dml.compiler.loops import ranges, rounds


def counted(sizes: tuple[int, ...], *, active: bool = True) -> int:
    """Run nested loops as llvmpipe does: the last round of a loop, which only finds its end, also runs the inner loops,
    inactive."""
    if not sizes:
        return 0
    return sum(1 + counted(sizes[1:], active=k < sizes[0] and active) for k in range(sizes[0] + 1 if active else 1))


BOXES = [sizes for rank in (1, 2, 3, 4) for sizes in itertools.product((1, 2, 5), repeat=rank)]


@pytest.mark.parametrize("sizes", BOXES, ids=str)
def test_rounds(sizes: tuple[int, ...]) -> None:
    assert rounds(sizes) == counted(sizes)


def visited(parts: Iterator[tuple[tuple[int, int], ...]]) -> Iterator[tuple[int, ...]]:
    for part in parts:
        yield from itertools.product(*(range(begin, end) for begin, end in part))


@pytest.mark.parametrize("most", [20, 50, 1000])
@pytest.mark.parametrize("sizes", [(7,), (1, 1, 9), (9, 1, 1), (4, 5, 6), (2, 30), (30, 2), (2, 3, 2, 3)], ids=str)
def test_ranges(sizes: tuple[int, ...], most: int) -> None:
    parts = list(ranges(sizes, most))
    assert all(rounds([end - begin for begin, end in part]) <= most for part in parts)
    found = list(visited(iter(parts)))
    assert len(found) == math.prod(sizes)
    assert sorted(found) == list(itertools.product(*map(range, sizes)))
