"""Integers that record how they were computed, so that results for one size can be evaluated for another.

A ``Tracing`` makes a ``TracedInt`` for each number that will change. Arithmetic on TracedInts returns TracedInts; a
comparison returns its result for the current numbers, and is recorded as a condition. A ``Formula`` evaluates a result
for other numbers for which all conditions hold as well. Untraceable operations, such as conversion to a float, hold
only for the current number, which is also recorded as a condition.

A TracedInt is an int, so code need not know of it. Python's C code does not see the number that it represents, but a
huge negative random one: operations that would lose the trace (a ``range``, ``struct``, a hash, multiplication by a
float) fail at once, or give results that differ from those of plain numbers. Users of a formula therefore compare both
results for the current numbers. There is one rule: in comparisons of a size with a float, write the float on the right,
since a float on the left does not consult the other operand.
"""

from .number import TRACING_ERRORS, Numbers, TracedInt, UntracedError, now_of, traced_apply, whole
from .structures import TracedValue, filled, numbers_in
from .tracing import Formula, Tracing

__all__ = [
    "TRACING_ERRORS", "Formula", "Numbers", "TracedInt", "TracedValue", "Tracing", "UntracedError", "filled", "now_of",
    "numbers_in", "traced_apply", "whole",
]  # fmt: skip
