"""Integers that remember how they were computed, so that what was made for one size can be made for another.

A ``Tracing`` gives a ``TracedInt`` for each number that will change. Arithmetic with them gives others; a comparison
gives the answer for the numbers at hand, and is noted as a condition. A ``Formula`` then gives what was made for other
numbers, where all conditions hold for those too. What cannot be traced, as a float made of it, holds for this number
alone, which is a condition as well.

A TracedInt is an int, so that code need not know of it. What Python's C code takes of an int is not the number that it
stands for, but a huge negative one, at random: whatever would lose the trace (a ``range``, ``struct``, a hash, a float
times it) fails at once, or makes something else than plain numbers do. Who uses a formula compares both for the numbers
at hand. One thing remains to be kept to: where sizes are compared with floats, these stand on the right, since a float
on the left does not ask the other side.
"""

from .number import Numbers, TracedInt, UntracedError, now_of, traced_apply, whole
from .structures import TracedValue, filled, numbers_in
from .tracing import Formula, Tracing

__all__ = [
    "Formula", "Numbers", "TracedInt", "TracedValue", "Tracing", "UntracedError", "filled", "now_of", "numbers_in",
    "traced_apply", "whole",
]  # fmt: skip
