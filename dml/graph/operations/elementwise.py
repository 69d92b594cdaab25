"""Element-wise operators; two tensors broadcast to each other as in NumPy."""

from __future__ import annotations

from typing import Any, Protocol

from dml import enums
from dml.arguments import checked
from dml.capability import short_name
from dml.compiler.data_types import DATA_TYPES
from dml.descriptors import elementwise as ew
from dml.descriptors.base import OperatorDesc
from dml.descriptors.movement import DML_CAST_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.graph.builder import Operand, Tensor
from dml.shapes import broadcast_sizes
from dml.tensors import DML_SCALE_BIAS

from .attributes import scalar_of

__all__ = [
    "absolute", "acos", "acosh", "add", "asin", "asinh", "atan", "atan_yx", "atanh", "bit_and", "bit_count",
    "bit_not", "bit_or", "bit_shift_left", "bit_shift_right", "bit_xor", "cast", "ceil", "clip", "constant_pow",
    "cos", "cosh", "difference_square", "divide", "equals", "erf", "exp", "floor", "greater_than",
    "greater_than_or_equal", "identity", "if_", "is_infinity", "is_nan", "less_than", "less_than_or_equal", "log",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "mean", "minimum", "modulus_floor",
    "modulus_truncate", "multiply", "negate", "pow_", "recip", "round_", "sign", "sin", "sinh", "sqrt", "subtract",
    "tan", "threshold",
]  # fmt: skip

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, x: Tensor) -> Tensor: ...


class ScaledUnary(Protocol):
    """A function of one tensor. scale_bias: applied to x first."""

    def __call__(self, x: Tensor, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor: ...


class UnaryPredicate(Protocol):
    """A test of each element of a tensor: 1 for true, 0 for false."""

    def __call__(self, x: Tensor, data_type: DML_TENSOR_DATA_TYPE = UINT8) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors, or of a tensor and a number."""

    def __call__(self, a: Tensor, b: Operand) -> Tensor: ...


class BinaryPredicate(Protocol):
    """A comparison of two tensors, or of a tensor and a number: 1 for true, 0 for false."""

    def __call__(self, a: Tensor, b: Operand, data_type: DML_TENSOR_DATA_TYPE = UINT8) -> Tensor: ...


def unary(cls: type[OperatorDesc], x: Tensor, data_type: DML_TENSOR_DATA_TYPE | None = None, **fields: Any) -> Tensor:
    """Add an operator of one tensor, with attributes; sizes, and by default the data type, are x's."""
    return x.builder.one(cls, x.sizes, data_type or x.data_type, InputTensor=x, **fields)


def _binary(
    cls: type[OperatorDesc], a: Tensor, b: Operand, data_type: DML_TENSOR_DATA_TYPE | None = None, **fields: Any
) -> Tensor:
    second = a.builder.like(b, a)
    sizes = broadcast_sizes(a.sizes, second.sizes)
    inputs = {"ATensor": a.broadcast(sizes), "BTensor": second.broadcast(sizes)}
    return a.builder.one(cls, sizes, data_type or a.data_type, **inputs, **fields)


def _named(function: Any, cls: type[OperatorDesc], of: str) -> Any:
    function.__doc__ = f"Compute {cls.__name__} of {of}."
    function.__qualname__ = short_name(cls.OPERATOR_TYPE)
    return checked(function)


def unary_function(cls: type[OperatorDesc]) -> Unary:
    """Return the function of an operator without attributes."""

    def function(x: Tensor) -> Tensor:
        return unary(cls, x)

    named: Unary = _named(function, cls, "x, with x's sizes and data type")
    return named


def _scaled(cls: type[OperatorDesc]) -> ScaledUnary:
    def function(x: Tensor, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
        return unary(cls, x, ScaleBias=scale_bias)

    named: ScaledUnary = _named(function, cls, "x, with x's sizes and data type. scale_bias: applied to x first")
    return named


def _predicate(cls: type[OperatorDesc]) -> UnaryPredicate:
    def function(x: Tensor, data_type: DML_TENSOR_DATA_TYPE = UINT8) -> Tensor:
        return unary(cls, x, data_type)

    named: UnaryPredicate = _named(function, cls, "x, with x's sizes")
    return named


def _binary_function(cls: type[OperatorDesc]) -> Binary:
    def function(a: Tensor, b: Operand) -> Tensor:
        return _binary(cls, a, b)

    named: Binary = _named(function, cls, "a and b, broadcast to each other")
    return named


def _comparison(cls: type[OperatorDesc]) -> BinaryPredicate:
    def function(a: Tensor, b: Operand, data_type: DML_TENSOR_DATA_TYPE = UINT8) -> Tensor:
        return _binary(cls, a, b, data_type)

    named: BinaryPredicate = _named(function, cls, "a and b, broadcast to each other")
    return named


absolute = _scaled(ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC)
acos = _scaled(ew.DML_ELEMENT_WISE_ACOS_OPERATOR_DESC)
acosh = _scaled(ew.DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC)
asin = _scaled(ew.DML_ELEMENT_WISE_ASIN_OPERATOR_DESC)
asinh = _scaled(ew.DML_ELEMENT_WISE_ASINH_OPERATOR_DESC)
atan = _scaled(ew.DML_ELEMENT_WISE_ATAN_OPERATOR_DESC)
atanh = _scaled(ew.DML_ELEMENT_WISE_ATANH_OPERATOR_DESC)
ceil = _scaled(ew.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC)
cos = _scaled(ew.DML_ELEMENT_WISE_COS_OPERATOR_DESC)
cosh = _scaled(ew.DML_ELEMENT_WISE_COSH_OPERATOR_DESC)
erf = _scaled(ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC)
exp = _scaled(ew.DML_ELEMENT_WISE_EXP_OPERATOR_DESC)
floor = _scaled(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC)
identity = _scaled(ew.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC)
log = _scaled(ew.DML_ELEMENT_WISE_LOG_OPERATOR_DESC)
recip = _scaled(ew.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC)
sin = _scaled(ew.DML_ELEMENT_WISE_SIN_OPERATOR_DESC)
sinh = _scaled(ew.DML_ELEMENT_WISE_SINH_OPERATOR_DESC)
sqrt = _scaled(ew.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC)
tan = _scaled(ew.DML_ELEMENT_WISE_TAN_OPERATOR_DESC)
bit_not = unary_function(ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC)
logical_not = unary_function(ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC)
negate = unary_function(ew.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC)
sign = unary_function(ew.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC)
bit_count = _predicate(ew.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC)
is_nan = _predicate(ew.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC)
atan_yx = _binary_function(ew.DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC)
bit_and = _binary_function(ew.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC)
bit_or = _binary_function(ew.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC)
bit_shift_left = _binary_function(ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC)
bit_shift_right = _binary_function(ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC)
bit_xor = _binary_function(ew.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC)
difference_square = _binary_function(ew.DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC)
divide = _binary_function(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC)
logical_and = _binary_function(ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC)
logical_or = _binary_function(ew.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC)
logical_xor = _binary_function(ew.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC)
maximum = _binary_function(ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC)
mean = _binary_function(ew.DML_ELEMENT_WISE_MEAN_OPERATOR_DESC)
minimum = _binary_function(ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC)
modulus_floor = _binary_function(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC)
modulus_truncate = _binary_function(ew.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC)
multiply = _binary_function(ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
subtract = _binary_function(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC)
equals = _comparison(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC)
greater_than = _comparison(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC)
greater_than_or_equal = _comparison(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC)
less_than = _comparison(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC)
less_than_or_equal = _comparison(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC)


@checked
def add(a: Tensor, b: Operand, activation: OperatorDesc | None = None) -> Tensor:
    """Return a + b, broadcast to each other. activation: fused into the sum (ADD1, from feature level 2_0 on)."""
    if activation is None:
        return _binary(ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, a, b)
    return _binary(ew.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, a, b, FusedActivation=activation)


@checked
def constant_pow(x: Tensor, exponent: float, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
    """Return x to the power of a number. scale_bias: applied to x first."""
    return unary(ew.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC, x, ScaleBias=scale_bias, Exponent=exponent)


@checked
def is_infinity(
    x: Tensor,
    infinity_mode: enums.DML_IS_INFINITY_MODE | str = enums.DML_IS_INFINITY_MODE_EITHER,
    data_type: DML_TENSOR_DATA_TYPE = UINT8,
) -> Tensor:
    """Return 1 where x is an infinity of the mode's sign, else 0."""
    return unary(ew.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, x, data_type, InfinityMode=infinity_mode)


@checked
def round_(
    x: Tensor, rounding_mode: enums.DML_ROUNDING_MODE = enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN
) -> Tensor:
    """Round x to integers."""
    return unary(ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, x, RoundingMode=rounding_mode)


@checked
def threshold(x: Tensor, min: float, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
    """Return the maximum of x and min. scale_bias: applied to x first."""
    return unary(ew.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC, x, ScaleBias=scale_bias, Min=min)


@checked
def clip(x: Tensor, min: float, max: float, *, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
    """Clamp x to min and max, which integers represent exactly. scale_bias: applied first; for float tensors.

    Raises DMLError for limits that x's data type cannot represent.
    """
    if DATA_TYPES[x.data_type].kind == "float":
        return x.builder.one(
            ew.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC, x.sizes, InputTensor=x, ScaleBias=scale_bias, Min=min, Max=max
        )
    return x.builder.one(
        ew.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        ScaleBias=scale_bias,
        MinMaxDataType=x.data_type,
        Min=scalar_of("clip: min", min, x.data_type),
        Max=scalar_of("clip: max", max, x.data_type),
    )


@checked
def pow_(x: Tensor, exponent: Operand, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
    """Return x to the power of a number or a tensor. scale_bias: applied to x first."""
    if isinstance(exponent, int | float):
        return constant_pow(x, float(exponent), scale_bias)
    second = x.builder.like(exponent, x)
    sizes = broadcast_sizes(x.sizes, second.sizes)
    return x.builder.one(
        ew.DML_ELEMENT_WISE_POW_OPERATOR_DESC,
        sizes,
        x.data_type,
        InputTensor=x.broadcast(sizes),
        ExponentTensor=second.broadcast(sizes),
        ScaleBias=scale_bias,
    )


@checked
def if_(condition: Tensor, a: Tensor, b: Operand) -> Tensor:
    """Return a where the condition (UINT8) is not zero, b elsewhere."""
    second = a.builder.like(b, a)
    sizes = broadcast_sizes(condition.sizes, a.sizes, second.sizes)
    return a.builder.one(
        ew.DML_ELEMENT_WISE_IF_OPERATOR_DESC,
        sizes,
        a.data_type,
        ConditionTensor=condition.broadcast(sizes),
        ATensor=a.broadcast(sizes),
        BTensor=second.broadcast(sizes),
    )


@checked
def cast(x: Tensor, data_type: DML_TENSOR_DATA_TYPE) -> Tensor:
    """Convert x to another data type."""
    return x.builder.one(DML_CAST_OPERATOR_DESC, x.sizes, data_type, InputTensor=x)
