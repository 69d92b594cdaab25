"""Element-wise layers and activations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning import integers
from dml.frontends.openvino.compressed import SMALL
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.tensors import nearest_float

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8


def _binary(c: IrContext, function: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    a, b = c.tensor(0), c.tensor(1)
    if c.layer.text("auto_broadcast", "numpy") == "none" and a.sizes != b.sizes:
        raise c.error(f"without broadcasting its inputs must have equal sizes, found {a.sizes} and {b.sizes}")
    return function(a, b)


def _unary(c: IrContext, function: Callable[[Tensor], Tensor]) -> Tensor:
    x = c.tensor(0)
    return x if integers.keeps(function, x.desc.dtype) else function(x)


def _squared_difference(a: Tensor, b: Tensor) -> Tensor:
    difference = op.subtract(a, b)  # DirectML's ELEMENT_WISE_DIFFERENCE_SQUARE lacks some integers
    return op.multiply(difference, difference)


_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "BitwiseAnd": op.bit_and,
    "BitwiseOr": op.bit_or,
    "BitwiseXor": op.bit_xor,
    "Add": op.add,
    "Subtract": op.subtract,
    "Multiply": op.multiply,
    "Divide": op.divide,
    "Maximum": op.maximum,
    "Minimum": op.minimum,
    "NotEqual": lambda a, b: op.logical_not(op.equals(a, b)),
    "SquaredDifference": _squared_difference,
    "Mod": op.modulus_truncate,
    "FloorMod": op.modulus_floor,
    "LogicalAnd": op.logical_and,
    "LogicalOr": op.logical_or,
    "LogicalXor": op.logical_xor,
    "Equal": op.equals,
    "Greater": op.greater_than,
    "GreaterEqual": op.greater_than_or_equal,
    "Less": op.less_than,
    "LessEqual": op.less_than_or_equal,
}
for _name, _combine in _BINARY.items():
    layer(_name)(partial(_binary, function=_combine))

#: Layers named like an operation, except for capital letters.
_SAME_NAMES = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Sigmoid",
    "Sign", "Sin", "Sinh", "SoftSign", "Sqrt", "Tan", "TanH", "Tanh",
)  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {name: getattr(op, name.lower()) for name in _SAME_NAMES} | {
    "Abs": op.absolute,
    "Ceiling": op.ceil,
    "HSigmoid": partial(op.hard_sigmoid, alpha=1 / 6, beta=0.5),
    "HSwish": partial(op.hard_swish, alpha=1 / 6, beta=0.5),
    "IsFinite": lambda x: op.logical_not(op.logical_or(op.is_nan(x), op.is_infinity(x))),
    "IsNaN": op.is_nan,
    "LogicalNot": op.logical_not,
    "Mish": lambda x: x * op.tanh(op.softplus(x)),
    "Negative": op.negate,
    "ReLU": integers.relu,
    "SoftPlus": op.softplus,
}
for _name, _function in _FUNCTIONS.items():
    layer(_name)(partial(_unary, function=_function))


@layer("BitwiseNot")
def bitwise_not(c: IrContext) -> IrValue:
    boolean = c.layer.outputs[0].element_type == "boolean"
    return op.logical_not(c.tensor(0)) if boolean else op.bit_not(c.tensor(0))


@layer("Round")
def round_(c: IrContext) -> IrValue:
    x, mode = c.tensor(0), c.layer.text("mode", "half_to_even")
    if mode not in ("half_to_even", "half_away_from_zero"):
        raise c.error(f"mode {mode!r} is not half_to_even or half_away_from_zero")
    if integers.keeps(op.round_, x.desc.dtype):
        return x
    if mode == "half_to_even":
        return op.round_(x)
    size = op.absolute(x)
    whole = op.floor(size)  # the fraction is exact; adding one half to size could round up
    return op.sign(x) * op.if_(op.greater_than_or_equal(size - whole, 0.5), whole + 1.0, whole)


@layer("IsInf")
def is_inf(c: IrContext) -> IrValue:
    x = c.tensor(0)
    negative, positive = (c.layer.flag(f"detect_{name}", True) for name in ("negative", "positive"))
    if negative and positive:
        return op.is_infinity(x)
    if not negative and not positive:
        return np.zeros(c.layer.outputs[0].sizes, np.bool_)
    mode = enums.DML_IS_INFINITY_MODE_POSITIVE if positive else enums.DML_IS_INFINITY_MODE_NEGATIVE
    return op.is_infinity(x, infinity_mode=mode)


@layer("Power")
def power(c: IrContext) -> IrValue:
    x, exponent = c.tensor(0), c.value(1)
    if not isinstance(exponent, Tensor) and exponent.size == 1 and exponent.dtype.kind == "f":
        return op.pow_(x, float(np.ravel(exponent)[0]))
    return integers.power(x, c.tensor(1))


@layer("Select")
def select(c: IrContext) -> IrValue:
    return op.if_(c.tensor(0), c.tensor(1), c.tensor(2))


@layer("Clamp")
def clamp(c: IrContext) -> IrValue:
    x, low, high = c.tensor(0), c.layer.number("min"), c.layer.number("max")
    if x.desc.dtype.kind in "iu":
        c.check(not np.isnan([low, high]).any(), f"min and max must be numbers, found {low} and {high}")
        limits = np.iinfo(x.desc.dtype)  # integers between the limits, which may be fractions or exceed the type
        low, high = (min(max(limit, limits.min), limits.max) for limit in (np.ceil(low), np.floor(high)))
        return op.clip(x, min=int(low), max=int(high))
    # Attributes are doubles; models write the largest double for no limit.
    return op.clip(x, min=nearest_float(low), max=nearest_float(high))


@layer("Elu")
def elu(c: IrContext) -> IrValue:
    return op.elu(c.tensor(0), alpha=c.layer.number("alpha"))


@layer("Selu")
def selu(c: IrContext) -> IrValue:
    return op.scaled_elu(c.tensor(0), alpha=float(c.single(1)), gamma=float(c.single(2)))


@layer("HardSigmoid")
def hard_sigmoid(c: IrContext) -> IrValue:
    return op.hard_sigmoid(c.tensor(0), alpha=float(c.single(1)), beta=float(c.single(2)))


@layer("Swish")
def swish(c: IrContext) -> IrValue:
    beta = float(c.single(1)) if len(c.values) > 1 else 1.0
    return op.swish(c.tensor(0), sigmoid_input_scale=beta)


@layer("Gelu")
def gelu(c: IrContext) -> IrValue:
    x = c.tensor(0)
    if c.layer.text("approximation_mode", "ERF").upper() == "ERF":
        return op.gelu(x)
    inner = (x + x * x * x * 0.044715) * float(np.sqrt(2 / np.pi))
    return x * (op.tanh(inner) + 1.0) * 0.5


@layer("PReLU")
def prelu(c: IrContext) -> IrValue:
    x, slope = c.tensor(0), c.tensor(1)
    if slope.rank == 1 and x.rank > 1 and slope.sizes[0] == x.sizes[1]:
        slope = slope.packed().view((1, slope.sizes[0], *(1,) * (x.rank - 2)))
    return integers.parameterized_relu(x, slope)


@layer("SoftMax", "Softmax", "LogSoftmax")
def softmax(c: IrContext) -> IrValue:
    x, function, default = c.tensor(0), op.softmax, 1
    if c.layer.type == "LogSoftmax":
        function, default = op.log_softmax, -1
    return function(x, axes=[c.axis(c.layer.integer("axis", default), x.rank)])


@layer("Convert", "ConvertLike")
def convert(c: IrContext) -> IrValue:
    value, wanted = c.value(0), c.dtype
    if not isinstance(value, Tensor):
        if value.size <= SMALL or wanted.itemsize <= value.itemsize:
            return value.astype(wanted)
        value = c.as_tensor(value)  # no larger copy of a constant is kept
    if c.layer.outputs[0].element_type == "boolean":
        return op.logical_not(op.equals(value, 0))
    return c.converted(value)
