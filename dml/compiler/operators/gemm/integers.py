"""Products of matrices of integers, and what convolutions of integers share with them."""

from __future__ import annotations

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import lowering
from dml.compiler.operators.elementwise.linear_quantization import difference, quantized
from dml.compiler.operators.gemm.layout import with_rows_of_fours
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors.gemm import (
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
    DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT32
from dml.tensors import DML_BUFFER_TENSOR_DESC


def along_dimension(parameter: Operand, rank: int, axis: int) -> Operand:
    """A scale or zero point as a tensor that broadcasts to ``rank`` dimensions.

    It has one element, or one for each place along ``axis``; those may lie along any one of its own dimensions.
    """
    (size, stride), *others = sorted(zip(parameter.sizes, parameter.strides, strict=True), reverse=True)
    assert all(other == 1 for other, _ in others), parameter.sizes
    sizes, strides = [1] * rank, [0] * rank
    sizes[axis], strides[axis] = size, stride
    return parameter.view(tuple(sizes), tuple(strides))


def without_zero_point(builder: ProgramBuilder, operand: Operand, zero_point: Operand | None, axis: int) -> Operand:
    """The 8-bit operand as INT32 with its zero point, one or one for each place along ``axis``, taken off."""
    if zero_point is None:
        expression, sources = node("int($x0)", Leaf(0), glsl="int"), [operand]
    else:
        expression = node("int($x0) - int($x1)", Leaf(0), Leaf(1), glsl="int")
        sources = [operand, along_dimension(zero_point, operand.rank, axis)]
    stage = builder.prepare(*sources)
    copy = with_rows_of_fours(stage, DML_TENSOR_DATA_TYPE_INT32, operand.sizes)
    apply(stage, expression, copy, sources)
    return copy


def requantize(
    builder: ProgramBuilder,
    sums: Operand,
    scales: tuple[Operand, Operand, Operand],
    zero_point: Operand | None,
    bias: Operand | None,
    result: Operand,
    tensor: DML_BUFFER_TENSOR_DESC,
) -> None:
    """``result = clamp(round((sums + bias) * (scales[0] * scales[1] / scales[2])) + zero_point)``, all broadcasting.

    tensor: the description of result, of an 8-bit type. Rounds to nearest even. The reference asks for results that
    mathematically equal those of quantizing a dequantized product; as in ONNX Runtime, the three scales are put
    together to one float32 factor first.
    """
    sources = [sums, *scales]
    total: Expression = Leaf(0)
    if bias is not None:
        sources.append(bias)
        total = node("$x0 + $x1", total, Leaf(len(sources) - 1), glsl="int")
    offset: Expression | None = None
    if zero_point is not None:
        sources.append(zero_point)
        offset = Leaf(len(sources) - 1)
    factor = node("divide_nearest($x0 * $x1, $x2)", Leaf(1), Leaf(2), Leaf(3), includes=[MATH])
    rounded = node("roundEven(float($x0) * $x1)", total, factor)
    apply(builder, quantized(tensor, rounded, offset), result, sources)


@lowering(DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC)
def matrix_multiply_integer(desc: DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    a = without_zero_point(builder, builder["ATensor"], builder.get("AZeroPointTensor"), -2)
    b = without_zero_point(builder, builder["BTensor"], builder.get("BZeroPointTensor"), -1)
    matmul(builder, a, b, None, builder["OutputTensor"])


@lowering(DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC)
def quantized_linear_matrix_multiply(
    desc: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    result = builder["OutputTensor"]
    a = without_zero_point(builder, builder["ATensor"], builder.get("AZeroPointTensor"), -2)
    b = without_zero_point(builder, builder["BTensor"], builder.get("BZeroPointTensor"), -1)
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    matmul(builder, a, b, None, sums)
    scales = (
        along_dimension(builder["AScaleTensor"], result.rank, -2),
        along_dimension(builder["BScaleTensor"], result.rank, -1),
        along_dimension(builder["OutputScaleTensor"], result.rank, -2),
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, -2)
    requantize(builder, sums, scales, zero_point, None, result, desc.OutputTensor)


@lowering(DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC)
def matrix_multiply_integer_to_float(
    desc: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    a = _dequantized(builder, "A", desc.ATensor, -2)
    b = _dequantized(builder, "B", desc.BTensor, -1)
    matmul(builder, a, b, builder.get("BiasTensor"), builder["OutputTensor"])


def _dequantized(builder: ProgramBuilder, which: str, tensor: DML_BUFFER_TENSOR_DESC, axis: int) -> Operand:
    """Operand "A" or "B" less its zero point, times its scale, in FLOAT32."""
    x, scale, zero_point = (builder.get(f"{which}{part}Tensor") for part in ("", "Scale", "ZeroPoint"))
    assert x is not None
    assert scale is not None
    sources = [x, along_dimension(scale, x.rank, axis)]
    if zero_point is not None:
        sources.append(along_dimension(zero_point, x.rank, axis))
    value = difference(tensor, Leaf(0), None if zero_point is None else Leaf(2))
    stage = builder.prepare(*sources)
    copy = with_rows_of_fours(stage, DML_TENSOR_DATA_TYPE_FLOAT32, x.sizes)
    apply(stage, node("$x0 * $x1", value, Leaf(1)), copy, sources)
    return copy
