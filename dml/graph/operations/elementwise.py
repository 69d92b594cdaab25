"""Element-wise operators; two tensors broadcast to each other as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dml import enums
from dml.arguments import checked
from dml.capability import short_name
from dml.compiler.data_types import DATA_TYPES
from dml.descriptors import elementwise as ew
from dml.descriptors.base import OperatorDesc
from dml.descriptors.movement import (
    DML_CAST_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.graph.builder import Operand, Tensor
from dml.shapes import (
    broadcast_sizes,
)
from dml.tensors import DML_SCALE_BIAS

from .attributes import attribute_names, fields_of, scalar_of

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8


def unary_function(
    cls: type[OperatorDesc], data_type: DML_TENSOR_DATA_TYPE | None = None, **defaults: Any
) -> Callable[..., Tensor]:
    """A function of one tensor; attributes by keyword in snake_case, with DirectMLX's defaults."""
    names = attribute_names(cls)  # type: ignore[arg-type]  # a class is hashable

    def function(x: Tensor, **attributes: Any) -> Tensor:
        given = {"axes": (x.rank - 1,), "scale_bias": None}
        chosen = {name: value for name, value in given.items() if name in names} | defaults | attributes
        fields = fields_of(cls, chosen)
        return x.builder.one(cls, x.sizes, data_type or x.data_type, InputTensor=x, **fields)

    told = [f"{name} {value}" for name, value in defaults.items()] + ["axes the last one"] * ("axes" in names)
    function.__doc__ = (
        f"{cls.__name__} of x: its sizes and, but for predicates, its data type."
        f"{' Where not given: ' + ', '.join(told) + '.' if told else ''}"
    )
    function.__qualname__ = short_name(cls.OPERATOR_TYPE)
    return checked(function)


def binary_function(cls: type[OperatorDesc], data_type: DML_TENSOR_DATA_TYPE | None = None) -> Callable[..., Tensor]:
    """A function of two tensors, or of a tensor and a number."""

    def function(a: Tensor, b: Operand, **attributes: Any) -> Tensor:
        second = a.builder.like(b, a)
        sizes = broadcast_sizes(a.sizes, second.sizes)
        inputs = {"ATensor": a.broadcast(sizes), "BTensor": second.broadcast(sizes)}
        fields = fields_of(cls, attributes)
        return a.builder.one(cls, sizes, data_type or a.data_type, **inputs, **fields)

    function.__doc__ = f"{cls.__name__} of a and b, broadcast to each other."
    function.__qualname__ = short_name(cls.OPERATOR_TYPE)
    return checked(function)


identity = unary_function(ew.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC)
absolute = unary_function(ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC)
acos = unary_function(ew.DML_ELEMENT_WISE_ACOS_OPERATOR_DESC)
acosh = unary_function(ew.DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC)
asin = unary_function(ew.DML_ELEMENT_WISE_ASIN_OPERATOR_DESC)
asinh = unary_function(ew.DML_ELEMENT_WISE_ASINH_OPERATOR_DESC)
atan = unary_function(ew.DML_ELEMENT_WISE_ATAN_OPERATOR_DESC)
atanh = unary_function(ew.DML_ELEMENT_WISE_ATANH_OPERATOR_DESC)
bit_count = unary_function(ew.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC, UINT8)
bit_not = unary_function(ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC)
ceil = unary_function(ew.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC)
constant_pow = unary_function(ew.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC)
cos = unary_function(ew.DML_ELEMENT_WISE_COS_OPERATOR_DESC)
cosh = unary_function(ew.DML_ELEMENT_WISE_COSH_OPERATOR_DESC)
erf = unary_function(ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC)
exp = unary_function(ew.DML_ELEMENT_WISE_EXP_OPERATOR_DESC)
floor = unary_function(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC)
is_infinity = unary_function(
    ew.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, UINT8, infinity_mode=enums.DML_IS_INFINITY_MODE_EITHER
)
is_nan = unary_function(ew.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, UINT8)
log = unary_function(ew.DML_ELEMENT_WISE_LOG_OPERATOR_DESC)
logical_not = unary_function(ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC)
negate = unary_function(ew.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC)
recip = unary_function(ew.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC)
round_ = unary_function(
    ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, rounding_mode=enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN
)
sign = unary_function(ew.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC)
sin = unary_function(ew.DML_ELEMENT_WISE_SIN_OPERATOR_DESC)
sinh = unary_function(ew.DML_ELEMENT_WISE_SINH_OPERATOR_DESC)
sqrt = unary_function(ew.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC)
tan = unary_function(ew.DML_ELEMENT_WISE_TAN_OPERATOR_DESC)
threshold = unary_function(ew.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC)
add = binary_function(ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC)
atan_yx = binary_function(ew.DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC)
bit_and = binary_function(ew.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC)
bit_or = binary_function(ew.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC)
bit_shift_left = binary_function(ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC)
bit_shift_right = binary_function(ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC)
bit_xor = binary_function(ew.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC)
difference_square = binary_function(ew.DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC)
divide = binary_function(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC)
equals = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, UINT8)
greater_than = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, UINT8)
greater_than_or_equal = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
less_than = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, UINT8)
less_than_or_equal = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
logical_and = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC)
logical_or = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC)
logical_xor = binary_function(ew.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC)
maximum = binary_function(ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC)
mean = binary_function(ew.DML_ELEMENT_WISE_MEAN_OPERATOR_DESC)
minimum = binary_function(ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC)
modulus_floor = binary_function(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC)
modulus_truncate = binary_function(ew.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC)
multiply = binary_function(ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
subtract = binary_function(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC)


@checked
def clip(x: Tensor, min: float, max: float, *, scale_bias: DML_SCALE_BIAS | None = None) -> Tensor:
    """x kept between min and max, which integers hold exactly. scale_bias: applied first; of float tensors.

    Raises DMLError for limits that x's data type cannot hold.
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
def pow_(x: Tensor, exponent: Operand) -> Tensor:
    """x to the power of a number or a tensor."""
    if isinstance(exponent, int | float):
        return constant_pow(x, exponent=float(exponent))
    second = x.builder.like(exponent, x)
    sizes = broadcast_sizes(x.sizes, second.sizes)
    return x.builder.one(
        ew.DML_ELEMENT_WISE_POW_OPERATOR_DESC,
        sizes,
        x.data_type,
        InputTensor=x.broadcast(sizes),
        ExponentTensor=second.broadcast(sizes),
        ScaleBias=None,
    )


@checked
def if_(condition: Tensor, a: Tensor, b: Operand) -> Tensor:
    """a where the condition (UINT8) is not zero, b elsewhere."""
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
    """x in another data type."""
    return x.builder.one(DML_CAST_OPERATOR_DESC, x.sizes, data_type, InputTensor=x)
