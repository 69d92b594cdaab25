"""The engine of the normalizations: statistics over any set of axes, then an expression of each element.

Variances are means of squared differences from the mean (in "normalization/rows.comp" from the running mean), in
float32 partial sums, so a large mean costs no precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.kinds import MATH
from dml.compiler.operators.normalization.rows import Normalization, normalize_rows
from dml.compiler.operators.reduction.engine import reduce
from dml.compiler.operators.reduction.monoids import FLOAT_SUM
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.shapes import ones_along


def inverse_root(variance: Expression, epsilon: float, by: Expression | None = None) -> Expression:
    """Return ``by / sqrt(variance + epsilon)``; ``by`` None counts as 1."""
    if by is None:
        return node("reciprocal(sqrt_accurate($x0 + $Epsilon))", variance, includes=[MATH], Epsilon=epsilon)
    return node("divide($x1, sqrt_accurate($x0 + $Epsilon))", variance, by, includes=[MATH], Epsilon=epsilon)


def small(builder: ProgramBuilder, *operands: Operand) -> Operand:
    """Return a float temporary of the sizes that these operands broadcast to."""
    sizes = (max(sizes) for sizes in zip(*(operand.sizes for operand in operands), strict=True))
    return builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)


def mean_of(builder: ProgramBuilder, source: Operand, axes: Sequence[int], *more: Operand) -> Operand:
    """Compute the means over the axes, into a temporary and the operands ``more``."""
    mean = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, ones_along(source.sizes, axes))
    finish = _mean(source, axes)
    reduce(builder, FLOAT_SUM, [source], axes, [(result, finish) for result in (mean, *more)])
    return mean


def _mean(source: Operand, axes: Sequence[int]) -> Expression:
    count = math.prod(source.sizes[axis] for axis in axes)
    return node("divide($x0, $Count)", Leaf(0), includes=[MATH], Count=float(count))


def factor_of(
    builder: ProgramBuilder, source: Operand, mean: Operand | None, axes: Sequence[int], epsilon: float, *more: Operand
) -> Operand:
    """Compute 1 / sqrt(variance + epsilon) over the axes; write the variances themselves to ``more``.

    mean: if None, the mean of the squares replaces the variance.
    """
    factor = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, ones_along(source.sizes, axes))
    variance = _mean(source, axes)
    results = [(factor, inverse_root(variance, epsilon)), *((operand, variance) for operand in more)]
    if mean is None:
        reduce(builder, FLOAT_SUM, [source], axes, results, node("$x0 * $x0", Leaf(0)))
    else:
        square = node("($x0 - $x1) * ($x0 - $x1)", Leaf(0), Leaf(1))
        reduce(builder, FLOAT_SUM, [source, mean], axes, results, square)
    return factor


def affine(x: Expression, scale: Operand | None, *added: Operand | None) -> tuple[Expression, dict[str, Operand]]:
    """Return ``x * scale + added...`` without the operands that are None, and the operands by name, in the order of
    their leaves 1, 2, ..."""
    operands: dict[str, Operand] = {}
    if scale is not None:
        operands["scale"] = scale
        x = node("$x0 * $x1", x, Leaf(1))
    for i, operand in enumerate(added):
        if operand is not None:
            operands[f"added{i}"] = operand
            x = node("$x0 + $x1", x, Leaf(len(operands)))
    return x, operands


def normalize(
    builder: ProgramBuilder, what: Normalization, mean: Operand | None = None, variance: Operand | None = None
) -> None:
    """Normalize in one dispatch if the rows suit it, else by reductions for the statistics and then the results.

    mean, variance: operands that also receive the statistics.
    """
    statistics = {name: operand for name, operand in (("mean", mean), ("variance", variance)) if operand is not None}
    if normalize_rows(builder, replace(what, statistics=statistics)):
        return
    source, axes = what.source, what.axes
    inputs, value = [source], cast("Expression", Leaf(0))
    means = None
    if what.use_mean:
        means = mean_of(builder, source, axes, *([mean] if mean is not None else []))
        inputs.append(means)
        value = node("$x0 - $x1", value, Leaf(1))
    if what.use_variance:
        more = [variance] if variance is not None else []
        inputs.append(factor_of(builder, source, means, axes, what.epsilon, *more))
        value = node("$x0 * $x1", value, Leaf(len(inputs) - 1))
    leaves = [Leaf(len(inputs) + i) for i in range(len(what.parameters))]
    apply(builder, substitute(what.finish, [value, *leaves]), what.result, [*inputs, *what.parameters.values()])
