"""CONVOLUTION, CONVOLUTION_INTEGER and QUANTIZED_LINEAR_CONVOLUTION."""

from __future__ import annotations

from dml import descriptors as d
from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.convolution.bytes import convolve_bytes
from dml.compiler.operators.convolution.convolve import convolve
from dml.compiler.operators.convolution.geometry import Convolution, Geometry
from dml.compiler.operators.convolution.stored import convolve_stored
from dml.compiler.operators.convolution.windows import windowed_sums
from dml.compiler.operators.gemm.integers import Finish, along_dimension, requantization, without_zero_point
from dml.compiler.operators.movement.views import volume
from dml.compiler.program import Operand
from dml.compiler.scalar import Leaf
from dml.enums import DML_TENSOR_DATA_TYPE_INT32


@lowering(d.DML_CONVOLUTION_OPERATOR_DESC, epilogue=Epilogues.ANY)
def convolution(desc: d.DML_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    bias = builder.get("BiasTensor")
    described = Convolution(
        volume(builder["InputTensor"]),
        volume(builder["FilterTensor"]),
        bias and volume(bias),
        volume(builder["OutputTensor"]),
        Geometry.of(desc),
    )
    scales, zeros = builder.get("FilterTensor.Scales"), builder.get("FilterTensor.ZeroPoints")
    if scales is None:
        convolve(builder, described, activate(desc.FusedActivation))
    else:  # a graph left the filter quantized (see dml/graph/blocks.py)
        per_block = [volume(each) for each in (scales, zeros) if each is not None]
        convolve_stored(builder, described, per_block, desc.FilterTensor.DataType, activate(desc.FusedActivation))


@lowering(d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC, epilogue=Epilogues.ANY)
def convolution_integer(desc: d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _integers(desc, builder, Finish(Leaf(0)))


def _integers(
    desc: d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC | d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
    builder: ProgramBuilder,
    finish: Finish,
) -> None:
    """Compute ``finish`` of the convolution of input and filter after subtracting their zero points. Padding is a real
    zero. ``finish`` may also read operands that vary only along the channels.
    """
    x, weights, result = builder["InputTensor"], builder["FilterTensor"], builder["OutputTensor"]
    x_point, weights_point = builder.get("InputZeroPointTensor"), builder.get("FilterZeroPointTensor")
    geometry = Geometry.of(desc)

    def by_group(operand: Operand) -> Operand:
        channels = operand.broadcast((1, result.sizes[1], *(1,) * (result.rank - 2)))
        outputs, step = result.sizes[1] // geometry.groups, channels.strides[1]
        return channels.view((geometry.groups, outputs, 1), (outputs * step, step, 0))

    windowed = windowed_sums(Convolution(volume(x), volume(weights), None, volume(result), geometry))
    if windowed is not None and len(windowed) == 1:
        point = weights_point and by_group(along_dimension(weights_point, result.rank, 1))
        extra_operands = [by_group(operand) for operand in finish.extra_operands]
        if convolve_bytes(
            builder, windowed[0], x_point and x_point.view((1,), (0,)), point, finish.expression, extra_operands
        ):
            return
    x = without_zero_point(builder, x, x_point, 1)
    weights = without_zero_point(builder, weights, weights_point, 0)
    sums = result
    if not isinstance(finish.expression, Leaf):
        sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    convolve(builder, Convolution(volume(x), volume(weights), None, volume(sums), geometry), Leaf(0))
    if sums is not result:
        finish.of(builder, sums, result)


@lowering(d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, epilogue=Epilogues.ANY)
def quantized_linear_convolution(
    desc: d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    """The bias is in units of InputScale x FilterScale."""
    rank = builder["OutputTensor"].rank
    input_scale, filter_scale, output_scale = (
        along_dimension(builder[name], rank, 1)
        for name in ("InputScaleTensor", "FilterScaleTensor", "OutputScaleTensor")
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, rank, 1)
    scales = (input_scale, filter_scale, output_scale)
    _integers(desc, builder, requantization(scales, zero_point, builder.get("BiasTensor"), desc.OutputTensor))
