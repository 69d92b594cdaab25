"""Expressions that only keep a float within bounds: none, RELU and the clips, alone or one in another.

As one expression with the bounds for numbers they are one kernel.
"""

from __future__ import annotations

import math

from dml.compiler.kernels.kinds import MATH
from dml.compiler.scalar import Expression, Leaf, ScalarNode, node

#: The GLSL of RELU, and of a clip from below and from above. Whether x is NaN is asked of its bits: max() and min()
#: need not pass NaN on.
RELU = "is_nan($x0) ? $x0 : max($x0, 0.0)"
AT_LEAST, AT_MOST = "is_nan($x0) ? $x0 : max($x0, $Min)", "is_nan($x0) ? $x0 : min($x0, $Max)"


def bounds_of(expression: Expression) -> tuple[float, float] | None:
    """(low, high) where the expression is max(min(Leaf(0), high), low), NaN passing through; else None."""
    if isinstance(expression, Leaf):
        return (-math.inf, math.inf) if expression.index == 0 else None
    if expression.code not in (RELU, AT_LEAST, AT_MOST):
        return None
    inner = bounds_of(expression.operands[0])
    if inner is None:
        return None
    low, high = inner
    if expression.code == AT_MOST:
        most = float(expression.constants["Max"])
        return min(low, most), min(high, most)
    return max(low, 0.0 if expression.code == RELU else float(expression.constants["Min"])), high


def within(low: float, high: float, x: Expression) -> ScalarNode:
    """max(min(x, high), low), NaN passing through."""
    return node("is_nan($x0) ? $x0 : max(min($x0, $High), $Low)", x, includes=[MATH], Low=low, High=high)
