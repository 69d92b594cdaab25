"""Normalizations: statistics over any set of axes, then an expression of each element.

Variances come from differences to the mean (rows: to the mean so far, merged block by block), in float32 sums of sums:
large means cost no digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.expression import apply
from dml.compiler.kernels.prelude import Constant, read, write
from dml.compiler.kernels.scalar import Expression, Leaf, node, substitute
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.normalization.rows import Normalization, normalize_rows
from dml.compiler.operators.pooling.pooling import each_result
from dml.compiler.operators.reduction.reduce import norm as reduce_norm
from dml.compiler.operators.reduction.reduction import FLOAT_SUM, MATH, Monoid, reduce
from dml.compiler.program import Operand
from dml.descriptors.normalization import (
    DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC,
    DML_BATCH_NORMALIZATION_OPERATOR_DESC,
    DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC,
    DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC,
    DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC,
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
    DML_LP_NORMALIZATION_OPERATOR_DESC,
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
    DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC,
    DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.shapes import ones_along

#: Two sums at once: of the gradient, and of the gradient times the centred input.
TWO_SUMS = Monoid(
    "vec2",
    "vec2(0.0)",
    "a + b",
    ("floatBitsToUint($x0.x)", "floatBitsToUint($x0.y)"),
    "vec2(uintBitsToFloat($x0), uintBitsToFloat($x1))",
)


def inverse_root(variance: Expression, epsilon: float, by: Expression | None = None) -> Expression:
    """``by / sqrt(variance + epsilon)``, 1 over it where ``by`` is None."""
    if by is None:
        return node("reciprocal(sqrt_accurate($x0 + $Epsilon))", variance, includes=[MATH], Epsilon=epsilon)
    return node("divide($x1, sqrt_accurate($x0 + $Epsilon))", variance, by, includes=[MATH], Epsilon=epsilon)


def small(builder: ProgramBuilder, *operands: Operand) -> Operand:
    """A float temporary of the sizes that these operands broadcast to."""
    sizes = (max(sizes) for sizes in zip(*(operand.sizes for operand in operands), strict=True))
    return builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)


def mean_of(builder: ProgramBuilder, source: Operand, axes: Sequence[int], *more: Operand) -> Operand:
    """The means over the axes, as a temporary and in the operands ``more``."""
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
    """1 / sqrt(variance + epsilon) over the axes; the variances themselves go to ``more``.

    mean: None takes the mean of the squares in the variance's place.
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
    """``x * scale + added...``, the operands as leaves 1, 2, ... and by name; what is None is left out."""
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
    """The whole of it: in one dispatch where that fits, else statistics first. mean, variance: where they also go."""
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


@lowering(DML_BATCH_NORMALIZATION_OPERATOR_DESC)
def batch(desc: DML_BATCH_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    variance, scale = builder["VarianceTensor"], builder["ScaleTensor"]
    early = builder.prepare(variance, scale)
    factor = small(early, variance, scale)
    of_parameters, of_elements = batch_expressions(desc)
    apply(early, of_parameters, factor, [variance, scale])
    inputs = [builder["InputTensor"], builder["MeanTensor"], factor, builder["BiasTensor"]]
    apply(builder, of_elements, builder["OutputTensor"], inputs)


def batch_expressions(desc: DML_BATCH_NORMALIZATION_OPERATOR_DESC) -> tuple[Expression, Expression]:
    """The factor, of variance and scale; and the result, of input, mean, factor and bias. All of them broadcast."""
    factor = inverse_root(Leaf(0), desc.Epsilon, Leaf(1))
    value = node("($x0 - $x1) * $x2 + $x3", Leaf(0), Leaf(1), Leaf(2), Leaf(3))
    return factor, activate(desc.FusedActivation, value)


@lowering(DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC)
def batch_training(desc: DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """The variance is the population's."""
    scale = builder["ScaleTensor"]
    value, parameters = affine(Leaf(0), scale, builder["BiasTensor"], builder.get("FusedAddTensor"))
    what = Normalization(
        builder["InputTensor"],
        builder["OutputTensor"],
        summed(scale),
        desc.Epsilon,
        use_mean=True,
        use_variance=True,
        finish=activate(desc.FusedActivation, value),
        parameters=parameters,
    )
    normalize(builder, what, builder["OutputMeanTensor"], builder["OutputVarianceTensor"])


def summed(parameter: Operand) -> tuple[int, ...]:
    """The dimensions that statistics run over: those in which the parameters have size 1."""
    return tuple(axis for axis, size in enumerate(parameter.sizes) if size == 1)


@lowering(DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC, DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
def batch_grad(desc: Any, builder: ProgramBuilder) -> None:
    """Scale and bias gradients are sums; the input's takes them in where the statistics are the batch's own.

    Training: factor * (dy - mean(dy) - (x - mean) * mean(dy * (x - mean)) / (variance + epsilon)), where the page's
    mean(Input) is MeanTensor, which the forward pass computed.
    """
    source, gradient = builder["InputTensor"], builder["InputGradientTensor"]
    mean, variance, scale = builder["MeanTensor"], builder["VarianceTensor"], builder["ScaleTensor"]
    axes = summed(mean)
    training = isinstance(desc, DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
    count = math.prod(source.sizes[axis] for axis in axes)

    total = node("$x0.x", Leaf(0))
    product = node("$x0.y", Leaf(0))
    results = [
        (builder["OutputBiasGradientTensor"], total),
        (builder["OutputScaleGradientTensor"], inverse_root(Leaf(3), desc.Epsilon, product)),
    ]
    shift, slope = small(builder, mean), small(builder, mean)
    if training:
        mean_product = node("divide($x0, $Count)", product, includes=[MATH], Count=float(count))
        results += [
            (shift, node("divide($x0, $Count)", total, includes=[MATH], Count=float(count))),
            (slope, node("divide($x0, $x1 + $Epsilon)", mean_product, Leaf(3), includes=[MATH], Epsilon=desc.Epsilon)),
        ]
    pair = node("vec2($x0, $x0 * ($x1 - $x2))", Leaf(0), Leaf(1), Leaf(2), glsl="vec2")
    reduce(builder, TWO_SUMS, [gradient, source, mean, variance], axes, results, pair)

    early = builder.prepare(variance, scale)
    factor = small(early, variance, scale)
    apply(early, inverse_root(Leaf(0), desc.Epsilon, Leaf(1)), factor, [variance, scale])
    value: Expression = node("$x0 * $x1", Leaf(0), Leaf(1))
    inputs = [gradient, factor]
    if training:
        centred = node("$x0 - $x1", Leaf(2), Leaf(3))
        value = node("($x0 - $x1 - $x2 * $x3) * $x4", Leaf(0), Leaf(4), centred, Leaf(5), Leaf(1))
        inputs += [source, mean, shift, slope]
    apply(builder, value, builder["OutputGradientTensor"], inputs)


@lowering(DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC)
def mean_variance(desc: DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    axes = (1, 2, 3) if desc.CrossChannel else (2, 3)
    _mean_variance(desc, builder, axes, use_mean=True, use_variance=desc.NormalizeVariance)


@lowering(DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC)
def mean_variance_axes(desc: DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _mean_variance(desc, builder, desc.Axes, use_mean=True, use_variance=desc.NormalizeVariance)


@lowering(DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC)
def mean_variance_either(desc: DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Without UseMean the elements are divided by their root mean square."""
    _mean_variance(desc, builder, desc.Axes, use_mean=desc.UseMean, use_variance=desc.UseVariance)


def _mean_variance(
    desc: Any, builder: ProgramBuilder, axes: Sequence[int], *, use_mean: bool, use_variance: bool
) -> None:
    value, parameters = affine(Leaf(0), builder.get("ScaleTensor"), builder.get("BiasTensor"))
    what = Normalization(
        builder["InputTensor"],
        builder["OutputTensor"],
        axes,
        desc.Epsilon,
        use_mean=use_mean,
        use_variance=use_variance,
        finish=activate(desc.FusedActivation, value),
        parameters=parameters,
    )
    normalize(builder, what)


@lowering(DML_LP_NORMALIZATION_OPERATOR_DESC)
def lp(desc: DML_LP_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Divides by (sum of |x|^P, plus epsilon)^(1/P), where the page leaves the place of epsilon open."""
    source, axes = builder["InputTensor"], (desc.Axis,)
    norm = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, ones_along(source.sizes, axes))
    if desc.P == 1:
        finish = node("$x0 + $Epsilon", Leaf(0), Epsilon=desc.Epsilon)
        reduce(builder, FLOAT_SUM, [source], axes, [(norm, finish)], node("abs($x0)", Leaf(0)))
    else:
        reduce_norm(builder, source, norm, axes, desc.Epsilon)
    quotient = node("divide($x0, $x1)", Leaf(0), Leaf(1), includes=[MATH])
    apply(builder, quotient, builder["OutputTensor"], [source, norm])


class _Region:
    """The local region of a response normalization, as a window of the pooling kernels.

    LocalSize elements per dimension around each element, one more after it than before where that is even; cut to what
    can lie inside. Its dimension is the channel, seen as depth, or height and width.
    """

    def __init__(self, desc: Any, sizes: Sequence[int]) -> None:
        self._across = desc.CrossChannel
        dimensions = (1,) if desc.CrossChannel else (2, 3)
        self.before = [min((desc.LocalSize - 1) // 2, sizes[d] - 1) for d in dimensions]
        self.after = [min(desc.LocalSize // 2, sizes[d] - 1) for d in dimensions]
        windows = [b + a + 1 for b, a in zip(self.before, self.after, strict=True)]
        self.count = math.prod(windows)
        self._windows = [*windows, 1, 1] if self._across else [1, *windows]
        #: The dimensions of a ``view`` that regions do not reach along.
        self.alike = (0, 1, 3, 4) if self._across else (0, 1)

    def view(self, operand: Operand) -> Operand:
        """{N, C, depth, height, width} with the region's dimensions among the last three."""
        at = 1 if self._across else 2
        return operand.view(
            (*operand.sizes[:at], 1, *operand.sizes[at:]), (*operand.strides[:at], 0, *operand.strides[at:])
        )

    def constants(self, *, mirrored: bool = False) -> dict[str, Constant]:
        """Of "pooling/window.glsl". mirrored: the elements in whose regions an element lies."""
        starts = self.after if mirrored else self.before
        starts = [*starts, 0, 0] if self._across else [0, *starts]
        constants: dict[str, Constant] = {}
        for axis, (window, start) in enumerate(zip(self._windows, starts, strict=True)):
            constants.update({f"WINDOW_{axis}": window, f"START_{axis}": start})
            constants.update({f"STEP_{axis}": 1, f"DILATION_{axis}": 1})
        return constants


@lowering(DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC)
def local_response(desc: DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    region = _Region(desc, builder["InputTensor"].sizes)
    tensors = {
        "result": write(region.view(builder["OutputTensor"])),
        "source": read(region.view(builder["InputTensor"])),
    }
    each_result(
        builder,
        "normalization/local_response.comp",
        tensors,
        region.count,
        {**region.constants(), "ALPHA": desc.Alpha / desc.LocalSize, "BETA": desc.Beta, "BIAS": desc.Bias},
        alike=region.alike,
    )


@lowering(DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC)
def local_response_grad(desc: DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """With s the base of the power at each place and a = Alpha / LocalSize, dx is

    dy * s^-Beta - 2 a Beta x * sum(dy * x * s^(-Beta - 1) over the regions that hold the element).
    """
    source = builder["InputTensor"]
    region = _Region(desc, source.sizes)
    base, share = (region.view(builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, source.sizes)) for _ in range(2))
    x, gradient = region.view(source), region.view(builder["InputGradientTensor"])
    alpha = desc.Alpha / desc.LocalSize
    constants = {"ALPHA": alpha, "BETA": desc.Beta, "BIAS": desc.Bias}
    tensors = {"result": write(share), "source": read(x), "gradient": read(gradient), "power": write(base)}
    each_result(
        builder,
        "normalization/local_response.comp",
        tensors,
        region.count,
        {**region.constants(), **constants},
        alike=region.alike,
    )
    tensors = {
        "result": write(region.view(builder["OutputGradientTensor"])),
        "source": read(share),
        "gradient": read(gradient),
        "x": read(x),
        "power": read(base),
    }
    each_result(
        builder,
        "normalization/local_response_grad.comp",
        tensors,
        region.count,
        {**region.constants(mirrored=True), **constants},
        alike=region.alike,
    )
