"""Element-wise operators."""

from __future__ import annotations

import math
from functools import reduce
from operator import add

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.movement import DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC
from dml.frontends.meaning import integers
from dml.tensors import nearest_float, numpy_dtype

from ...dtypes import BOOL, FLOATS, storage
from ...registry import onnx_op
from .. import folds
from ..functions import fill, scalar
from ..node import OnnxNode
from ..value import OnnxValue, Operation, binary, cast, logical_and, maximum, minimum, one, reshape, unary, where
from .casts import bit_cast

#: Operators whose name in lower case is the name of an operation in ``dml.graph.operations``.
_SAME_NAMES = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Sign",
    "Sin", "Sinh", "Sqrt", "Tan",
)  # fmt: skip
UNARY: dict[str, Operation] = {name: getattr(op, name.lower()) for name in _SAME_NAMES} | {
    "Abs": op.absolute,
    "BitwiseNot": op.bit_not,
    "Neg": op.negate,
    "Not": op.logical_not,
    "Reciprocal": op.recip,
}
BINARY: dict[str, Operation] = {
    "Add": op.add,
    "And": op.logical_and,
    "BitwiseAnd": op.bit_and,
    "BitwiseOr": op.bit_or,
    "BitwiseXor": op.bit_xor,
    "Div": op.divide,
    "Mul": op.multiply,
    "Or": op.logical_or,
    "Sub": op.subtract,
    "Xor": op.logical_xor,
}
COMPARISONS: dict[str, Operation] = {
    "Equal": op.equals,
    "Greater": op.greater_than,
    "GreaterOrEqual": op.greater_than_or_equal,
    "Less": op.less_than,
    "LessOrEqual": op.less_than_or_equal,
}


@onnx_op(*UNARY.keys() - {"Not", "Sqrt"}, fold=folds.ELEMENT_WISE)
@onnx_op("Not", fold=folds.NOT)
@onnx_op("Sqrt", fold=folds.SQRT)
def unary_operator(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    if integers.keeps(UNARY[node.op], x.dtype):  # PyTorch's exporter writes such nodes
        return x
    result = unary(UNARY[node.op], x)
    if node.op == "Sign" and x.dtype.kind == "f":
        # NaN stays NaN, as in NumPy and onnxruntime; DirectML's reference returns 0.
        return where(unary(op.is_nan, x, BOOL), x, result)
    return result


@onnx_op("Round", since=11, fold=folds.ELEMENT_WISE)
def round_half_to_even(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return x if integers.keeps(op.round_, x.dtype) else unary(op.round_, x)


@onnx_op("IsNaN", since=9)
def is_nan(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return fill(node.builder, False, x.shape, BOOL) if x.dtype.kind in "iu" else unary(op.is_nan, x, BOOL)


@onnx_op("IsInf", since=10)
def is_infinity(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    negative, positive = node.integer("detect_negative", 1), node.integer("detect_positive", 1)
    if x.dtype.kind in "iu" or not (negative or positive):
        return fill(node.builder, False, x.shape, BOOL)
    mode = enums.DML_IS_INFINITY_MODE_EITHER
    if not negative:
        mode = enums.DML_IS_INFINITY_MODE_POSITIVE
    elif not positive:
        mode = enums.DML_IS_INFINITY_MODE_NEGATIVE
    return unary(op.is_infinity, x, BOOL, infinity_mode=mode)


def operands(node: OnnxNode) -> tuple[OnnxValue, OnnxValue]:
    """Return both operands; before opset 7, ``axis`` places the second where ``broadcast`` is set."""
    a, b = node.input(0), node.input(1)
    if node.version < 7 and node.integer("broadcast", 0) and "axis" in node.attributes:
        axis = node.axis("axis", 0, a.rank)
        b = reshape(b, b.shape + (1,) * (a.rank - axis - b.rank))
    return a, b


@onnx_op("Add", fold=folds.ADD)
@onnx_op("Sub", fold=folds.SUB)
@onnx_op("Mul", fold=folds.MUL)
@onnx_op("Div", fold=folds.DIV)
@onnx_op("And", fold=folds.AND)
@onnx_op("Or", fold=folds.OR)
@onnx_op("Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor", fold=folds.ELEMENT_WISE)
def binary_operator(node: OnnxNode) -> OnnxValue:
    return binary(BINARY[node.op], *operands(node))


@onnx_op("Equal", fold=folds.EQUAL)
@onnx_op("Greater", fold=folds.GREATER)
@onnx_op("GreaterOrEqual", fold=folds.GREATER_OR_EQUAL)
@onnx_op("Less", fold=folds.LESS)
@onnx_op("LessOrEqual", fold=folds.LESS_OR_EQUAL)
def comparison(node: OnnxNode) -> OnnxValue:
    return binary(COMPARISONS[node.op], *operands(node), BOOL)


@onnx_op("BitShift", since=11)
def bit_shift(node: OnnxNode) -> OnnxValue:
    """Shift bits; signed integers (version 28) are shifted as unsigned ones, and their sign is restored."""
    right = node.one_of("direction", "", ("LEFT", "RIGHT")) == "RIGHT"
    shift = op.bit_shift_right if right else op.bit_shift_left
    x, amount = operands(node)
    node.check(x.dtype == amount.dtype, f"both inputs must have one type, found {x.dtype} and {amount.dtype}")
    if x.dtype.kind == "u":
        return binary(shift, x, amount)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    inside = logical_and(amount >= 0, amount < x.dtype.itemsize * 8)
    magnitude = where(x < 0, bit_not(x), x) if right else x
    shifted = bit_cast(binary(shift, bit_cast(magnitude, unsigned), bit_cast(amount, unsigned)), x.dtype)
    shifted = where(inside, shifted, shifted.filled(0))
    return where(x < 0, bit_not(shifted), shifted) if right else shifted


def bit_not(x: OnnxValue) -> OnnxValue:
    return unary(op.bit_not, x)


@onnx_op("Mod", since=10, fold=folds.MOD)
def modulus(node: OnnxNode) -> OnnxValue:
    return binary(op.modulus_truncate if node.integer("fmod", 0) else op.modulus_floor, *operands(node))


@onnx_op("Pow", fold=folds.ELEMENT_WISE)
def power(node: OnnxNode) -> OnnxValue:
    x, exponent = operands(node)
    if exponent.array is not None and exponent.size == 1 and exponent.rank <= x.rank:
        number = float(exponent.array.reshape(-1)[0])
        if x.dtype in FLOATS and not math.isnan(number):
            return unary(op.constant_pow, x, exponent=number)
        if integers.is_wide(x.dtype) and number.is_integer() and number > 0:
            return unary(integers.power, x, exponent=int(number))
    return binary(integers.power, x, exponent)


@onnx_op("Max", fold=folds.MAX)
@onnx_op("Min", fold=folds.MIN)
@onnx_op("Sum", "Mean", fold=folds.ELEMENT_WISE)
def variadic(node: OnnxNode) -> OnnxValue:
    values = node.variadic()
    result = reduce({"Max": maximum, "Min": minimum}.get(node.op, add), values)
    return result / len(values) if node.op == "Mean" else result


@onnx_op("BiasAdd", domain="com.microsoft")
def bias_add(node: OnnxNode) -> OnnxValue:
    return node.input(0) + node.input(1) + node.input(2)


@onnx_op("Where", since=9, fold=folds.WHERE)
def where_(node: OnnxNode) -> OnnxValue:
    return where(node.input(0), node.input(1), node.input(2))


@onnx_op("Clip", fold=folds.ELEMENT_WISE)
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
    """Limit x. None and NaN mean no limit, as in the function that defines ONNX's Clip.

    If low exceeds high, all elements become high, where DirectML's formula would make them low.
    """
    low, high = (None if limit is None or limit != limit else limit for limit in (low, high))
    if low is None and high is None:
        return x
    if low is not None and high is not None:
        low = min(low, high)
    if x.dtype in FLOATS:
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        return unary(op.clip, x, min=nearest_float(low), max=nearest_float(high))
    limits = np.iinfo(x.dtype)
    low, high = limits.min if low is None else low, limits.max if high is None else high
    return unary(op.clip, x, min=low, max=high)


@onnx_op("Range", since=11, fold=folds.RANGE)
@onnx_op("Range", domain="com.microsoft")
def range_(node: OnnxNode) -> OnnxValue:
    first, last = node.single(0), node.single(1)
    delta = node.single(2) if node.has(2) or not node.domain else 1  # optional in com.microsoft
    node.check(bool(delta), "delta must not be zero")
    count = max(0, int(np.ceil((last - first) / delta)))
    dtype = node.input(0).dtype
    if not count:
        return node.constant(np.zeros(0, dtype))
    kind = storage(dtype)
    stored_dtype = numpy_dtype(kind)
    if stored_dtype == np.float64:
        return cast(node.constant(np.arange(count, dtype=np.float64) * delta + first), dtype)
    return one(
        DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, node.input(0), (count,), ValueDataType=kind,
        ValueStart=scalar(first, stored_dtype), ValueDelta=scalar(delta, stored_dtype),
    )  # fmt: skip
