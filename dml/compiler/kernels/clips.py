"""Expressions that clamp a float: none, RELU and the clips, alone or nested.

All of them share one kernel, which reads the bounds as data.
"""

from __future__ import annotations

import math

from dml.compiler.kernels.kinds import MATH
from dml.compiler.scalar import Expression, Leaf, ScalarNode, node

#: GLSL of RELU, and of a clip from below and from above. NaN is detected by its bits: max() and min() may drop it.
RELU = "is_nan($x0) ? $x0 : max($x0, 0.0)"
AT_LEAST, AT_MOST = "is_nan($x0) ? $x0 : max($x0, $Min)", "is_nan($x0) ? $x0 : min($x0, $Max)"


def bounds_of(expression: Expression) -> tuple[float, float] | None:
    """Return (low, high) if the expression is max(min(Leaf(0), high), low) and passes NaN through; else None."""
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
    """Return max(min(x, high), low), which passes NaN through."""
    return node("is_nan($x0) ? $x0 : max(min($x0, $High), $Low)", x, includes=[MATH], Low=low, High=high)
