"""Loops that are too long for one invocation, as parts for several dispatches.

A driver that counts (llvmpipe) counts a round more for each loop that ends. Sizes are data, so it unrolls none.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence


def rounds(sizes: Sequence[int]) -> int:
    """Iterations of nested loops over ``sizes``, the outermost first, all together."""
    inside = 0
    for size in reversed(sizes):
        inside = size * (1 + inside) + 1
    return inside


def ranges(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ranges of nested loops over ``sizes``, the outermost first, of at most ``most`` iterations of all loops together.

    One after the other they go through what the whole loops do, in the same order.
    """
    found: list[list[tuple[int, int]]] = []
    inside = 1  # what a round of the next loop takes, itself included
    for size in reversed(sizes):
        extent = max(1, min(size, most // inside))
        found.insert(0, [(begin, min(begin + extent, size)) for begin in range(0, size, extent)])
        inside = 2 + extent * inside
    return itertools.product(*found)
