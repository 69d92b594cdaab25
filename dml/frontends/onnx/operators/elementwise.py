"""Element-wise operators."""

from __future__ import annotations

import numpy as np

from dml import enums
from dml.descriptors import elementwise as ew
from dml.descriptors.base import OperatorDesc
from dml.descriptors.movement import DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC
from dml.errors import DMLError
from dml.shapes import broadcast_sizes
from dml.tensors import nearest_float, numpy_dtype

from ..dtypes import BOOL, FLOATS, storage
from ..functions import fill, scalar
from ..node import OnnxNode
from ..registry import onnx_op
from ..value import OnnxValue, binary, cast, emit, expanded, maximum, minimum, one, reshape, unary, where
from .casts import bit_cast

UNARY: dict[str, type[OperatorDesc]] = {
    "Abs": ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC,
    "Acos": ew.DML_ELEMENT_WISE_ACOS_OPERATOR_DESC,
    "Acosh": ew.DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC,
    "Asin": ew.DML_ELEMENT_WISE_ASIN_OPERATOR_DESC,
    "Asinh": ew.DML_ELEMENT_WISE_ASINH_OPERATOR_DESC,
    "Atan": ew.DML_ELEMENT_WISE_ATAN_OPERATOR_DESC,
    "Atanh": ew.DML_ELEMENT_WISE_ATANH_OPERATOR_DESC,
    "BitwiseNot": ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC,
    "Ceil": ew.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC,
    "Cos": ew.DML_ELEMENT_WISE_COS_OPERATOR_DESC,
    "Cosh": ew.DML_ELEMENT_WISE_COSH_OPERATOR_DESC,
    "Erf": ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC,
    "Exp": ew.DML_ELEMENT_WISE_EXP_OPERATOR_DESC,
    "Floor": ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC,
    "Log": ew.DML_ELEMENT_WISE_LOG_OPERATOR_DESC,
    "Neg": ew.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC,
    "Not": ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC,
    "Reciprocal": ew.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC,
    "Sign": ew.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC,
    "Sin": ew.DML_ELEMENT_WISE_SIN_OPERATOR_DESC,
    "Sinh": ew.DML_ELEMENT_WISE_SINH_OPERATOR_DESC,
    "Sqrt": ew.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC,
    "Tan": ew.DML_ELEMENT_WISE_TAN_OPERATOR_DESC,
}
BINARY: dict[str, type[OperatorDesc]] = {
    "Add": ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC,
    "And": ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC,
    "BitwiseAnd": ew.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC,
    "BitwiseOr": ew.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC,
    "BitwiseXor": ew.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC,
    "Div": ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC,
    "Mul": ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC,
    "Or": ew.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC,
    "Sub": ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC,
    "Xor": ew.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC,
}
COMPARISONS: dict[str, type[OperatorDesc]] = {
    "Equal": ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC,
    "Greater": ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC,
    "GreaterOrEqual": ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC,
    "Less": ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC,
    "LessOrEqual": ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC,
}


@onnx_op(*UNARY)
def unary_operator(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    if node.op == "Abs" and x.dtype.kind == "u":
        return x
    made = unary(UNARY[node.op], x)
    if node.op == "Sign" and x.dtype.kind == "f":
        # NaN stays NaN, as in NumPy and onnxruntime; DirectML's page has 0 for what is neither above nor below 0.
        return where(unary(ew.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, x, BOOL), x, made)
    return made


@onnx_op("Round", since=11)
def round_half_to_even(node: OnnxNode) -> OnnxValue:
    mode = enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN
    return unary(ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, node.input(0), RoundingMode=mode)


@onnx_op("IsNaN", since=9)
def is_nan(node: OnnxNode) -> OnnxValue:
    return unary(ew.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, node.input(0), BOOL)


@onnx_op("IsInf", since=10)
def is_infinity(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    negative, positive = node.integer("detect_negative", 1), node.integer("detect_positive", 1)
    if not negative and not positive:
        return fill(node.builder, False, x.shape, BOOL)
    mode = enums.DML_IS_INFINITY_MODE_EITHER
    if not negative:
        mode = enums.DML_IS_INFINITY_MODE_POSITIVE
    elif not positive:
        mode = enums.DML_IS_INFINITY_MODE_NEGATIVE
    return unary(ew.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, x, BOOL, InfinityMode=mode)


def operands(node: OnnxNode) -> tuple[OnnxValue, OnnxValue]:
    """Both operands; before opset 7, the second placed by ``axis`` where ``broadcast`` is set."""
    a, b = node.input(0), node.input(1)
    if node.version < 7 and node.integer("broadcast", 0) and "axis" in node.attributes:
        axis = node.axis("axis", 0, a.rank)
        b = reshape(b, b.shape + (1,) * (a.rank - axis - b.rank))
    return a, b


@onnx_op(*BINARY)
def binary_operator(node: OnnxNode) -> OnnxValue:
    return binary(BINARY[node.op], *operands(node))


@onnx_op(*COMPARISONS)
def comparison(node: OnnxNode) -> OnnxValue:
    return binary(COMPARISONS[node.op], *operands(node), BOOL)


@onnx_op("BitShift", since=11)
def bit_shift(node: OnnxNode) -> OnnxValue:
    """Signed integers (version 28) are shifted as unsigned ones: their sign is put aside and comes back."""
    right = node.one_of("direction", "", ("LEFT", "RIGHT")) == "RIGHT"
    cls = (
        ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC if right else ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC
    )
    x, amount = operands(node)
    node.check(x.dtype == amount.dtype, f"both inputs must have one type, found {x.dtype} and {amount.dtype}")
    if x.dtype.kind == "u":
        return binary(cls, x, amount)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    inside = logical_and(amount >= 0, amount < x.dtype.itemsize * 8)
    magnitude = where(x < 0, bit_not(x), x) if right else x
    shifted = bit_cast(binary(cls, bit_cast(magnitude, unsigned), bit_cast(amount, unsigned)), x.dtype)
    shifted = where(inside, shifted, shifted.filled(0))
    return where(x < 0, bit_not(shifted), shifted) if right else shifted


def logical_and(a: OnnxValue, b: OnnxValue) -> OnnxValue:
    return binary(ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC, a, b)


def bit_not(x: OnnxValue) -> OnnxValue:
    return unary(ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC, x)


@onnx_op("Mod", since=10)
def modulus(node: OnnxNode) -> OnnxValue:
    truncate = node.integer("fmod", 0)
    cls = (
        ew.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC
        if truncate
        else ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC
    )
    return binary(cls, *operands(node))


@onnx_op("Pow")
def power(node: OnnxNode) -> OnnxValue:
    x, exponent = operands(node)
    number = exponent.array if exponent.array is not None and exponent.size == 1 else None
    if number is not None and x.dtype in FLOATS and exponent.rank <= x.rank:
        return unary(ew.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC, x, Exponent=float(number.reshape(-1)[0]))
    shape = broadcast_sizes(x.shape, exponent.shape)
    return one(
        ew.DML_ELEMENT_WISE_POW_OPERATOR_DESC,
        x,
        shape,
        InputTensor=expanded(x, shape),
        ExponentTensor=expanded(exponent, shape),
    )


@onnx_op("Max", "Min", "Sum", "Mean")
def variadic(node: OnnxNode) -> OnnxValue:
    values = node.variadic()
    made = values[0]
    for value in values[1:]:
        made = {"Max": maximum, "Min": minimum}[node.op](made, value) if node.op in ("Max", "Min") else made + value
    return made / len(values) if node.op == "Mean" else made


@onnx_op("BiasAdd", domain="com.microsoft")
def bias_add(node: OnnxNode) -> OnnxValue:
    return node.input(0) + node.input(1) + node.input(2)


@onnx_op("Where", since=9)
def where_(node: OnnxNode) -> OnnxValue:
    return where(node.input(0), node.input(1), node.input(2))


@onnx_op("Clip")
def clip_6(node: OnnxNode) -> OnnxValue:
    return clipped(node.input(0), node.number("min", -3.4028234663852886e38), node.number("max", 3.4028234663852886e38))


@onnx_op("Clip", since=11)
def clip(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    node.check(x.dtype != BOOL, "takes numbers, found bool")
    bounds = [node.optional(1), node.optional(2)]
    node.check(all(bound is None or bound.size == 1 for bound in bounds), "min and max must hold one number each")
    if all(bound is None or bound.array is not None for bound in bounds):
        return clipped(x, *(None if bound is None or bound.array is None else bound.array.item() for bound in bounds))
    if bounds[0] is not None:
        x = maximum(x, bounds[0])
    return x if bounds[1] is None else minimum(x, bounds[1])


def clipped(x: OnnxValue, low: float | None, high: float | None) -> OnnxValue:
    """x limited to numbers. None is no limit, nor is NaN, which nothing is below or above in the function that ONNX
    defines Clip by. Where low is above high, all becomes high, of which DirectML's formula would make low."""
    low, high = (None if limit is None or limit != limit else limit for limit in (low, high))
    if low is None and high is None:
        return x
    if low is not None and high is not None:
        low = min(low, high)
    if x.dtype in FLOATS:
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        return unary(ew.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC, x, Min=nearest_float(low), Max=nearest_float(high))
    limits = np.iinfo(x.dtype)
    low, high = limits.min if low is None else low, limits.max if high is None else high
    kind = storage(x.dtype)
    dtype = numpy_dtype(kind)
    return unary(
        ew.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, x, MinMaxDataType=kind, Min=scalar(low, dtype), Max=scalar(high, dtype)
    )


@onnx_op("Range", since=11)
@onnx_op("Range", domain="com.microsoft")
def range_(node: OnnxNode) -> OnnxValue:
    first, last = node.single(0), node.single(1)
    delta = node.single(2) if node.has(2) or not node.domain else 1  # (com.microsoft's may be left out)
    if not delta:
        raise DMLError(f"{node}: delta must not be zero")
    count = max(0, int(np.ceil((last - first) / delta)))
    dtype = node.input(0).dtype
    if not count:
        return node.constant(np.zeros(0, dtype))
    kind = storage(dtype)
    held = numpy_dtype(kind)
    if held == np.float64:
        return cast(node.constant(np.arange(count, dtype=np.float64) * delta + first), dtype)
    made = emit(
        DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC,
        {"OutputTensor": ((count,), dtype)},
        node.builder,
        ValueDataType=kind,
        ValueStart=scalar(first, held),
        ValueDelta=scalar(delta, held),
    )
    return made["OutputTensor"]
