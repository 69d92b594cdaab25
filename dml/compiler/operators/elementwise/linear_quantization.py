"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD.

The pages say clamp(round(Input / Scale) + ZeroPoint), but specify neither the quotient's precision nor how halves
round. Here every step of their equations is a correctly rounded float32 operation (for FLOAT16 and INT32 too), and
halves round to even, as in ONNX Runtime and NumPy. A float32 quotient may be exactly a half where the exact quotient is
not, often for values that were quantized before; rounding the exact quotient would give another result.
"""

from __future__ import annotations

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import INTEGER, MATH, kind
from dml.compiler.lowering import lowering
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.tensors import DML_BUFFER_TENSOR_DESC


def moved(rounded: Expression, zero_point: Expression | None) -> Expression:
    """Return rounded + zero point as an int. rounded is a whole float, zero point has at most 8 bits.

    The float is first clamped to +-1024 so that it fits an int; no zero point brings values beyond that back into the
    range of 8 bits.
    """
    whole = node("int(clamp($x0, -1024.0, 1024.0))", rounded, glsl="int")
    return whole if zero_point is None else node("$x0 + int($x1)", whole, zero_point, glsl="int")


def quantized(tensor: DML_BUFFER_TENSOR_DESC, rounded: Expression, zero_point: Expression | None) -> Expression:
    """Return clamp(rounded + zero point) to the range of the tensor's 8-bit type; rounded is a whole float."""
    row = DATA_TYPES[tensor.DataType]
    code = f"{row.glsl}(clamp($x0, {row.lowest}, {row.highest}))"
    return node(code, moved(rounded, zero_point), glsl=row.glsl)


def difference(tensor: DML_BUFFER_TENSOR_DESC, x: Expression, zero_point: Expression | None) -> Expression:
    """Return x - zero point as a float, exact up to 24 bits."""
    if zero_point is None:
        return node("float($x0)", x)
    return node(f"difference_{kind(tensor)}($x0, $x1)", x, zero_point, includes=[INTEGER])


class _Leaves:
    """Collects the operands of an expression, in the order in which their leaves are requested."""

    def __init__(self, builder: ProgramBuilder) -> None:
        self._builder = builder
        self.operands: list[Operand] = []

    def of(self, name: str) -> Expression:
        self.operands.append(self._builder[name])
        return Leaf(len(self.operands) - 1)

    def of_optional(self, name: str) -> Expression | None:
        return None if self._builder.get(name) is None else self.of(name)


@lowering(d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC)
def quantize_linear(desc: d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    leaves = _Leaves(builder)
    x, scale = leaves.of("InputTensor"), leaves.of("ScaleTensor")
    rounded = node("round_quotient(float($x0), $x1)", x, scale, includes=[MATH])
    result = quantized(desc.OutputTensor, rounded, leaves.of_optional("ZeroPointTensor"))
    apply(builder, result, builder["OutputTensor"], leaves.operands)


@lowering(d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC)
def dequantize_linear(desc: d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    leaves = _Leaves(builder)
    x, scale = leaves.of("InputTensor"), leaves.of("ScaleTensor")
    value = difference(desc.InputTensor, x, leaves.of_optional("ZeroPointTensor"))
    apply(builder, node("$x0 * $x1", value, scale), builder["OutputTensor"], leaves.operands)


@lowering(d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC)
def quantized_linear_add(desc: d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Apply DEQUANTIZE_LINEAR to both inputs, ADD, and QUANTIZE_LINEAR, with the roundings of each step."""
    leaves = _Leaves(builder)

    def factors(which: str, tensor: DML_BUFFER_TENSOR_DESC) -> list[Expression]:
        """Return an input minus its zero point, and its scale."""
        x, scale = leaves.of(f"{which}Tensor"), leaves.of(f"{which}ScaleTensor")
        return [difference(tensor, x, leaves.of_optional(f"{which}ZeroPointTensor")), scale]

    terms = [*factors("A", desc.ATensor), *factors("B", desc.BTensor)]
    total = node("multiply_add($x0, $x1, $x2 * $x3)", *terms, includes=[MATH])
    rounded = node("round_quotient($x0, $x1)", total, leaves.of("OutputScaleTensor"), includes=[MATH])
    result = quantized(desc.OutputTensor, rounded, leaves.of_optional("OutputZeroPointTensor"))
    apply(builder, result, builder["OutputTensor"], leaves.operands)
