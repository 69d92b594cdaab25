"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD.

The pages say clamp(round(Input / Scale) + ZeroPoint), but specify neither the quotient's precision nor how halves
round. Here every step of their equations is a correctly rounded float32 operation (for FLOAT16 and INT32 too), and
halves round to even, as in ONNX Runtime and NumPy. A float32 quotient may be exactly a half where the exact quotient is
not, often for values that were quantized before; rounding the exact quotient would give another result.
"""

from __future__ import annotations

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import INTEGER, MATH, kind
from dml.compiler.lowering import elementwise
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.descriptors.base import OperatorDesc
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


def _leaves(desc: OperatorDesc) -> dict[str, Expression]:
    """Return a leaf for each input that is present, in the order of the fields."""
    present = [name for name, tensor in desc.inputs() if tensor is not None]
    return {name: Leaf(index) for index, name in enumerate(present)}


@elementwise(
    d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, "InputTensor", "ScaleTensor", "ZeroPointTensor", fits=True
)
def quantize_linear(desc: d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC) -> Expression:
    given = _leaves(desc)
    rounded = node("round_quotient(float($x0), $x1)", given["InputTensor"], given["ScaleTensor"], includes=[MATH])
    return quantized(desc.OutputTensor, rounded, given.get("ZeroPointTensor"))


@elementwise(d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, "InputTensor", "ScaleTensor", "ZeroPointTensor")
def dequantize_linear(desc: d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC) -> Expression:
    given = _leaves(desc)
    value = difference(desc.InputTensor, given["InputTensor"], given.get("ZeroPointTensor"))
    return node("$x0 * $x1", value, given["ScaleTensor"])


@elementwise(
    d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC,
    "ATensor", "AScaleTensor", "AZeroPointTensor", "BTensor", "BScaleTensor", "BZeroPointTensor",
    "OutputScaleTensor", "OutputZeroPointTensor",
    fits=True,
)  # fmt: skip
def quantized_linear_add(desc: d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC) -> Expression:
    """Apply DEQUANTIZE_LINEAR to both inputs, ADD, and QUANTIZE_LINEAR, with the roundings of each step."""
    given = _leaves(desc)

    def factors(which: str, tensor: DML_BUFFER_TENSOR_DESC) -> list[Expression]:
        """Return an input minus its zero point, and its scale."""
        x, zero_point = given[f"{which}Tensor"], given.get(f"{which}ZeroPointTensor")
        return [difference(tensor, x, zero_point), given[f"{which}ScaleTensor"]]

    terms = [*factors("A", desc.ATensor), *factors("B", desc.BTensor)]
    total = node("multiply_add($x0, $x1, $x2 * $x3)", *terms, includes=[MATH])
    rounded = node("round_quotient($x0, $x1)", total, given["OutputScaleTensor"], includes=[MATH])
    return quantized(desc.OutputTensor, rounded, given.get("OutputZeroPointTensor"))
