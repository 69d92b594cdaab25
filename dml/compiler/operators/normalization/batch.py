"""Batch normalization with given statistics or those of the batch itself, and the gradients of both."""

from __future__ import annotations

import math
from typing import Any

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.normalization.normalize import affine, inverse_root, normalize, small
from dml.compiler.operators.normalization.rows import Normalization
from dml.compiler.operators.reduction.engine import reduce
from dml.compiler.operators.reduction.monoids import Monoid
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import normalization as d

#: Two sums at once: of the gradient, and of the gradient times the centered input.
TWO_SUMS = Monoid(
    "vec2",
    "vec2(0.0)",
    "a + b",
    ("floatBitsToUint($x0.x)", "floatBitsToUint($x0.y)"),
    "vec2(uintBitsToFloat($x0), uintBitsToFloat($x1))",
)


@lowering(d.DML_BATCH_NORMALIZATION_OPERATOR_DESC)
def batch(desc: d.DML_BATCH_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    variance, scale = builder["VarianceTensor"], builder["ScaleTensor"]
    early = builder.prepare(variance, scale)
    factor = small(early, variance, scale)
    of_parameters, of_elements = batch_expressions(desc)
    apply(early, of_parameters, factor, [variance, scale])
    inputs = [builder["InputTensor"], builder["MeanTensor"], factor, builder["BiasTensor"]]
    apply(builder, of_elements, builder["OutputTensor"], inputs)


def batch_expressions(desc: d.DML_BATCH_NORMALIZATION_OPERATOR_DESC) -> tuple[Expression, Expression]:
    """Return expressions of the factor (from variance and scale) and of the result (from input, mean, factor and bias),
    all broadcasting."""
    factor = inverse_root(Leaf(0), desc.Epsilon, Leaf(1))
    value = node("($x0 - $x1) * $x2 + $x3", Leaf(0), Leaf(1), Leaf(2), Leaf(3))
    return factor, activate(desc.FusedActivation, value)


@lowering(d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC)
def batch_training(desc: d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Normalize by the batch's mean and population variance."""
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
    """Return the dimensions that statistics reduce: those in which the parameters have size 1."""
    return tuple(axis for axis, size in enumerate(parameter.sizes) if size == 1)


@lowering(d.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC, d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
def batch_grad(desc: Any, builder: ProgramBuilder) -> None:
    """Compute the gradients. The gradients of scale and bias are sums over the batch; in training the input's gradient
    depends on both sums.

    Training: factor * (dy - mean(dy) - (x - mean) * mean(dy * (x - mean)) / (variance + epsilon)). In place of
    mean(Input) in the reference's formula it uses MeanTensor, which the forward pass computed.
    """
    source, gradient = builder["InputTensor"], builder["InputGradientTensor"]
    mean, variance, scale = builder["MeanTensor"], builder["VarianceTensor"], builder["ScaleTensor"]
    axes = summed(mean)
    training = isinstance(desc, d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
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
