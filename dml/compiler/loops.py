"""Loops too long for one invocation, split for several dispatches.

llvmpipe counts iterations, and counts one more whenever a loop ends: in that iteration no invocation is active, but
each loop inside runs one iteration, too. It unrolls no loop, since sizes are data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence


def rounds(sizes: Sequence[int]) -> int:
    """Return the total iterations of nested loops over ``sizes``, outermost first; 1 without loops."""
    inside = 0
    for depth, size in enumerate(reversed(sizes)):
        inside = size * (1 + inside) + 1 + depth
    return inside or 1


def ranges(sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Split nested loops over ``sizes``, outermost first, into ranges of at most ``most`` total iterations.

    In sequence they do the same iterations in the same order.
    """
    found: list[list[tuple[int, int]]] = []
    extents: list[int] = []
    for outer, size in reversed(list(enumerate(sizes))):
        # Each outer loop takes at least one round.
        least = rounds((*(1,) * (outer + 1), *extents))
        inside = rounds(extents) if extents else 0
        extent = max(1, min(size, 1 + (most - least) // (1 + inside)))
        found.insert(0, [(begin, min(begin + extent, size)) for begin in range(0, size, extent)])
        extents.insert(0, extent)
    return itertools.product(*found)
