"""Loops that are too long for one invocation, as parts for several dispatches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence


def ranges(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ranges of nested loops over ``sizes``, the outermost first, of at most ``most`` iterations of all loops together.

    One after the other they go through what the whole loops do, in the same order.
    """
    found: list[list[tuple[int, int]]] = []
    inside = 1  # iterations that one of the next loop takes, itself included
    for size in reversed(sizes):
        extent = max(1, min(size, most // inside))
        found.insert(0, [(begin, min(begin + extent, size)) for begin in range(0, size, extent)])
        inside = 1 + extent * inside
    return itertools.product(*found)
