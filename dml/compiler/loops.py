"""Loops too long for one invocation, split for several dispatches.

A driver that counts iterations (llvmpipe) counts one more for each loop that ends. Sizes are data, so it unrolls
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence


def rounds(sizes: Sequence[int]) -> int:
    """Return the total iterations of nested loops over ``sizes``, outermost first; 1 without loops."""
    inside = 0
    for size in reversed(sizes):
        inside = size * (1 + inside) + 1
    return inside or 1


def ranges(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Split nested loops over ``sizes``, outermost first, into ranges of at most ``most`` total iterations.

    In sequence they do the same iterations in the same order.
    """
    found: list[list[tuple[int, int]]] = []
    inside = 0
    for outer, size in reversed(list(enumerate(sizes))):
        # Each outer loop takes at least one round, and one more to end.
        extent = max(1, min(size, (most - 1 - 2 * outer) // (1 + inside)))
        found.insert(0, [(begin, min(begin + extent, size)) for begin in range(0, size, extent)])
        inside = extent * (1 + inside) + 1
    return itertools.product(*found)
