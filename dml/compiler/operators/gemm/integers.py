"""Products of integer matrices, and their common part with integer convolutions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dml import descriptors as d
from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.elementwise.linear_quantization import difference, quantized
from dml.compiler.operators.gemm.bytes import Bytes, product_of_bytes
from dml.compiler.operators.gemm.layout import transposed, with_aligned_rows
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.operators.movement.views import part
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.compiler.selection import lanes
from dml.compiler.selection.bytes import byte_kernel, multiplies_few_rows
from dml.compiler.selection.stored_weights import columns_in_part, keeps_wider
from dml.enums import (
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT8,
    DML_TENSOR_DATA_TYPE_INT32,
    DML_TENSOR_DATA_TYPE_UINT32,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC


def along_dimension(parameter: Operand, rank: int, axis: int) -> Operand:
    """View a scale or zero point as a tensor that broadcasts to ``rank`` dimensions.

    The operand has one element, or one per position along ``axis``, in any of its own dimensions.
    """
    (size, stride), *others = sorted(zip(parameter.sizes, parameter.strides, strict=True), reverse=True)
    assert all(other == 1 for other, _ in others), parameter.sizes
    sizes, strides = [1] * rank, [0] * rank
    sizes[axis], strides[axis] = size, stride
    return parameter.view(tuple(sizes), tuple(strides))


def without_zero_point(builder: ProgramBuilder, operand: Operand, zero_point: Operand | None, axis: int) -> Operand:
    """Return the 8-bit operand as INT32 minus its zero point, one for all or one per position along ``axis``.

    A copy of a constant is kept only if it is small; else it is made in each run.
    """
    if zero_point is None:
        expression, sources = node("int($x0)", Leaf(0), glsl="int"), [operand]
    else:
        expression = node("int($x0) - int($x1)", Leaf(0), Leaf(1), glsl="int")
        sources = [operand, along_dimension(zero_point, operand.rank, axis)]
    stage = builder.prepare(*sources) if _may_keep(operand) else builder
    copy = with_aligned_rows(stage, DML_TENSOR_DATA_TYPE_INT32, operand.sizes)
    apply(stage, expression, copy, sources)
    return copy


def _may_keep(operand: Operand) -> bool:
    """Whether a copy of the operand in 32 bits may be kept, if it is constant."""
    return DATA_TYPES[operand.data_type].bits == 32 or keeps_wider("product", operand.region.size)


def _columns(builder: ProgramBuilder, b: Operand) -> Iterator[tuple[int, int]]:
    """Yield the first column and the number of columns of the parts of b {..., k, n} that are widened at a time."""
    *rows, columns = b.sizes
    step = columns if _may_keep(b) else columns_in_part(builder.target, 4 * math.prod(rows))
    for start in range(0, columns, step):
        yield start, min(step, columns - start)


def _column_part(operand: Operand, sizes: Sequence[int], start: int, count: int) -> Operand:
    """Return some columns of an operand that broadcasts to ``sizes``."""
    return part(operand.broadcast(tuple(sizes)), len(sizes) - 1, start, count)


@dataclass(frozen=True)
class Finish:
    """The result of a sum of products: an expression of the sum, an int (leaf 0), and of other elements (leaves 1, 2,
    ...)."""

    expression: Expression
    extra_operands: Sequence[Operand] = ()

    def columns(self, result: Operand, start: int, count: int) -> Finish:
        """Return the Finish for ``count`` columns of the result from ``start`` on."""
        return replace(
            self, extra_operands=[_column_part(each, result.sizes, start, count) for each in self.extra_operands]
        )

    def of(self, builder: ProgramBuilder, sums: Operand, result: Operand) -> None:
        """Compute the result in a separate kernel."""
        apply(builder, self.expression, result, [sums, *self.extra_operands])


def requantization(
    scales: tuple[Operand, Operand, Operand],
    zero_point: Operand | None,
    bias: Operand | None,
    tensor: DML_BUFFER_TENSOR_DESC,
) -> Finish:
    """Return clamp(round((sum + bias) * (scales[0] * scales[1] / scales[2])) + zero_point), with broadcasting.

    tensor: the result's description, of an 8-bit type. Rounds to nearest even. The reference asks for results
    mathematically equal to quantizing a dequantized product; as in ONNX Runtime, the three scales are first combined to
    one float32 factor.
    """
    extra_operands = list(scales)
    total: Expression = Leaf(0)
    if bias is not None:
        extra_operands.append(bias)
        total = node("$x0 + $x1", total, Leaf(len(extra_operands)), glsl="int")
    offset: Expression | None = None
    if zero_point is not None:
        extra_operands.append(zero_point)
        offset = Leaf(len(extra_operands))
    factor = node("divide_nearest($x0 * $x1, $x2)", Leaf(1), Leaf(2), Leaf(3), includes=[MATH])
    rounded = node("roundEven(float($x0) * $x1)", total, factor)
    return Finish(quantized(tensor, rounded, offset), extra_operands)


def _product(builder: ProgramBuilder, result: Operand, finish: Finish) -> None:
    """Compute ``finish`` of the product of the 8-bit ATensor and BTensor, minus their zero points."""
    a, b = builder["ATensor"], builder["BTensor"]
    points = builder.get("AZeroPointTensor"), builder.get("BZeroPointTensor")
    rows, columns = (
        point and along_dimension(point, result.rank, axis) for point, axis in zip(points, (-2, -1), strict=True)
    )
    factors = Bytes(a, rows), Bytes(transposed(b), columns and transposed(columns))
    if _product_of_few_rows(builder, result, finish):
        return
    if product_of_bytes(builder, *factors, result, finish.expression, finish.extra_operands):
        return
    a = without_zero_point(builder, a, points[0], -2)
    columns = points[1] and along_dimension(points[1], b.rank, -1)
    for of_part in _columns(builder, b):
        point = columns and _column_part(columns, (*columns.sizes[:-1], b.sizes[-1]), *of_part)
        own_b = without_zero_point(builder, part(b, b.rank - 1, *of_part), point, -1)
        own_result = part(result, result.rank - 1, *of_part)
        if isinstance(finish.expression, Leaf):
            matmul(builder, a, own_b, None, own_result)
            continue
        sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, own_result.sizes)
        matmul(builder, a, own_b, None, sums)
        finish.columns(result, *of_part).of(builder, sums, own_result)


def _product_of_few_rows(builder: ProgramBuilder, result: Operand, finish: Finish) -> bool:
    """Do what ``_product`` does for few rows and one matrix of bytes, which the kernel reads without a copy; return
    False if another kernel is chosen, as for constants, which it may copy once."""
    a, b, point = builder["ATensor"], builder["BTensor"], builder.get("BZeroPointTensor")
    rows, columns = result.sizes[-2:]
    k, step, target = a.sizes[-1], b.strides[-2], builder.target
    in_words = b.strides[-1] == 1 and not any(number % 4 for number in (b.base, step, columns, k))
    keeps = b.is_static and byte_kernel(target, rows, columns, k, 1) is not None
    if keeps or not in_words or not multiplies_few_rows(target, result.count // columns, rows, k, b.region.size):
        return False
    a = without_zero_point(builder, a, builder.get("AZeroPointTensor"), -2)
    words = b.as_type(DML_TENSOR_DATA_TYPE_UINT32).view((k, columns // 4), (step // 4, 1), b.base // 4 - b.base)
    sums = result
    if not isinstance(finish.expression, Leaf):
        sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    tensors = {
        "a": read(a.view((rows, k), a.strides[-2:]), vector=True),
        "b": read(words),
        "result": write(sums.view((rows, columns), sums.strides[-2:])),
    }
    if point is not None:
        point = along_dimension(point, 1, 0).broadcast((columns,))
        tensors["zero"] = read(point)
    builder.dispatch(
        "gemm/bytes_few.comp",
        tensors,
        space=(columns // 4,),
        workgroup=lanes(target),
        constants={"K": k, "M": rows},
        defines={
            "ROWS": f"{1 << (rows - 1).bit_length()}u",
            "SIGNED": int(b.data_type == DML_TENSOR_DATA_TYPE_INT8),
            "HAS_ZERO": int(point is not None),
        },
        steps=k // 4,
        each=16 * rows,
    )
    if sums is not result:
        finish.of(builder, sums, result)
    return True


@lowering(d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, epilogue=Epilogues.ANY)
def matrix_multiply_integer(desc: d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _product(builder, builder["OutputTensor"], Finish(Leaf(0)))


@lowering(d.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC, epilogue=Epilogues.ANY)
def quantized_linear_matrix_multiply(
    desc: d.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    result = builder["OutputTensor"]
    scales = (
        along_dimension(builder["AScaleTensor"], result.rank, -2),
        along_dimension(builder["BScaleTensor"], result.rank, -1),
        along_dimension(builder["OutputScaleTensor"], result.rank, -2),
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, -2)
    _product(builder, result, requantization(scales, zero_point, None, desc.OutputTensor))


#: Number of products of (8-bit integer - zero point), each at most 255 * 255, whose sum always fits 32 bits.
_MOST_PRODUCTS = (2**31 - 1) // 255**2


@lowering(d.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC, epilogue=Epilogues.ANY)
def matrix_multiply_integer_to_float(
    desc: d.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    result, bias = builder["OutputTensor"], builder.get("BiasTensor")
    if _product_to_float(builder, result, bias):
        return
    a, b = builder["ATensor"], builder["BTensor"]
    a = _dequantized(builder, a, _parameters(builder, "A", a.rank, -2), desc.ATensor)
    parameters = _parameters(builder, "B", b.rank, -1)
    for of_part in _columns(builder, b):
        own_parameters = [_column_part(each, (*each.sizes[:-1], b.sizes[-1]), *of_part) for each in parameters]
        own_b = _dequantized(builder, part(b, b.rank - 1, *of_part), own_parameters, desc.BTensor)
        own_bias = bias and _column_part(bias, result.sizes, *of_part)
        matmul(builder, a, own_b, own_bias, part(result, result.rank - 1, *of_part))


def _product_to_float(builder: ProgramBuilder, result: Operand, bias: Operand | None) -> bool:
    """Compute the integer sum, then multiply by the scales; return False if the device has no kernel for it."""
    a, b = builder["ATensor"], builder["BTensor"]
    if any(DATA_TYPES[x.data_type].bits != 8 for x in (a, b)) or a.sizes[-1] > _MOST_PRODUCTS:
        return False
    scales = [
        along_dimension(builder[f"{which}ScaleTensor"], result.rank, axis) for which, axis in (("A", -2), ("B", -1))
    ]
    finish = node("float($x0) * $x1 * $x2", Leaf(0), Leaf(1), Leaf(2))
    if bias is not None:
        finish = node("$x0 + $x1", finish, Leaf(3))
        scales.append(bias)
    rows, columns = builder.get("AZeroPointTensor"), builder.get("BZeroPointTensor")
    rows, columns = rows and along_dimension(rows, a.rank, -2), columns and along_dimension(columns, b.rank, -1)
    factors = Bytes(a, rows), Bytes(transposed(b), columns and transposed(columns))
    if _product_of_few_rows(builder, result, Finish(finish, scales)):
        return True
    return product_of_bytes(builder, *factors, result, finish, scales)


def _parameters(builder: ProgramBuilder, which: str, rank: int, axis: int) -> list[Operand]:
    """Return the scale of operand "A" or "B", and its zero point if it has one, one per position along ``axis``."""
    given = [builder.get(f"{which}{name}Tensor") for name in ("Scale", "ZeroPoint")]
    return [along_dimension(parameter, rank, axis) for parameter in given if parameter is not None]


def _dequantized(
    builder: ProgramBuilder, x: Operand, parameters: Sequence[Operand], tensor: DML_BUFFER_TENSOR_DESC
) -> Operand:
    """Return x minus its zero point, times its scale, in FLOAT32. parameters: the scale, and the zero point if any."""
    sources = [x, *parameters]
    value = difference(tensor, Leaf(0), None if len(parameters) == 1 else Leaf(2))
    stage = builder.prepare(*sources) if _may_keep(x) else builder
    copy = with_aligned_rows(stage, DML_TENSOR_DATA_TYPE_FLOAT32, x.sizes)
    apply(stage, node("$x0 * $x1", value, Leaf(1)), copy, sources)
    return copy
