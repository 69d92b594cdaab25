"""CONVOLUTION, CONVOLUTION_INTEGER and QUANTIZED_LINEAR_CONVOLUTION."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.convolution.convolve import convolve
from dml.compiler.operators.convolution.geometry import Convolution, Geometry
from dml.compiler.operators.gemm.integers import along_dimension, requantization, without_zero_point
from dml.compiler.operators.movement.views import volume
from dml.compiler.program import Operand
from dml.compiler.scalar import Leaf
from dml.descriptors.convolution import (
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
    DML_CONVOLUTION_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE_INT32


@lowering(DML_CONVOLUTION_OPERATOR_DESC)
def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    bias = builder.get("BiasTensor")
    described = Convolution(
        volume(builder["InputTensor"]),
        volume(builder["FilterTensor"]),
        bias and volume(bias),
        volume(builder["OutputTensor"]),
        Geometry.of(desc),
    )
    convolve(builder, described, activate(desc.FusedActivation))


@lowering(DML_CONVOLUTION_INTEGER_OPERATOR_DESC)
def convolution_integer(desc: DML_CONVOLUTION_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _integer_sums(desc, builder, builder["OutputTensor"])


def _integer_sums(
    desc: DML_CONVOLUTION_INTEGER_OPERATOR_DESC | DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
    builder: ProgramBuilder,
    result: Operand,
) -> None:
    """The convolution of the input and the filter less their zero points. Padding is a real zero."""
    x = without_zero_point(builder, builder["InputTensor"], builder.get("InputZeroPointTensor"), 1)
    weights = without_zero_point(builder, builder["FilterTensor"], builder.get("FilterZeroPointTensor"), 0)
    x, weights, result = (volume(tensor) for tensor in (x, weights, result))
    convolve(builder, Convolution(x, weights, None, result, Geometry.of(desc)), Leaf(0))


@lowering(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC)
def quantized_linear_convolution(desc: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """The bias is in units of InputScale x FilterScale."""
    result = builder["OutputTensor"]
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    _integer_sums(desc, builder, sums)
    input_scale, filter_scale, output_scale = (
        along_dimension(builder[name], result.rank, 1)
        for name in ("InputScaleTensor", "FilterScaleTensor", "OutputScaleTensor")
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, 1)
    scales = (input_scale, filter_scale, output_scale)
    finish = requantization(scales, zero_point, builder.get("BiasTensor"), desc.OutputTensor)
    finish.of(builder, sums, result)
