"""Element-wise operations; two operands broadcast to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

import dml.graph.operations as op
from dml.arguments import checked
from dml.descriptors.elementwise import DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC
from dml.frontends.webnn.numbers import cast_number, scalar
from dml.frontends.webnn.operands import DATA_TYPES, MLOperand
from dml.frontends.webnn.steps import OperationBuilder, named
from dml.graph.builder import Tensor

_Unary: TypeAlias = Callable[..., MLOperand]


def unary(name: str, lower: Callable[[Tensor], Tensor], doc: str) -> _Unary:
    """Define an operation that keeps its operand's data type and shape."""

    def method(self: OperationBuilder, input: MLOperand, *, label: str = "") -> MLOperand:
        step = self.step(name, label, input=input)
        return step.output(input.data_type, input.shape, lower)

    return named(method, name, doc)


def _test(name: str, lower: Callable[[Tensor], Tensor], doc: str) -> _Unary:
    """Define an operation of one operand with UINT8 results."""

    def method(self: OperationBuilder, a: MLOperand, *, label: str = "") -> MLOperand:
        return self.step(name, label, a=a).output("uint8", a.shape, lower)

    return named(method, name, doc)


def _binary(name: str, lower: Callable[[Tensor, Tensor], Tensor], doc: str, output: str | None = None) -> _Unary:
    def method(self: OperationBuilder, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        step = self.step(name, label, a=a, b=b)
        step.same_types(a=a, b=b)
        return step.output(output or a.data_type, step.broadcast(a.shape, b.shape), lower)

    return named(method, name, doc)


class ElementwiseOperations(OperationBuilder):
    """The specification's element-wise operations, ``cast``, ``clamp`` and ``where``."""

    abs = unary("abs", op.absolute, "The absolute value.")
    ceil = unary("ceil", op.ceil, "The smallest integer not below x.")
    cos = unary("cos", op.cos, "The cosine of radians.")
    erf = unary("erf", op.erf, "The error function.")
    exp = unary("exp", op.exp, "e to the power of each element.")
    floor = unary("floor", op.floor, "The largest integer not above x.")
    identity = unary("identity", op.identity, "A copy.")
    log = unary("log", op.log, "The natural logarithm.")
    neg = unary("neg", op.negate, "-x.")
    reciprocal = unary("reciprocal", op.recip, "1 / x.")
    round_even = unary("round_even", op.round_, "The nearest integer; halves round to even.")
    sin = unary("sin", op.sin, "The sine of radians.")
    sign = unary("sign", op.sign, "-1, 0 or 1.")
    sqrt = unary("sqrt", op.sqrt, "The square root.")
    tan = unary("tan", op.tan, "The tangent of radians.")

    add = _binary("add", op.add, "a + b.")
    sub = _binary("sub", op.subtract, "a - b.")
    mul = _binary("mul", op.multiply, "a * b.")
    div = _binary("div", op.divide, "a / b.")
    max = _binary("max", op.maximum, "The larger of a and b.")
    min = _binary("min", op.minimum, "The smaller of a and b.")
    pow = _binary("pow", op.pow_, "a to the power of b.")

    equal = _binary("equal", op.equals, "Whether a equals b: UINT8, 0 or 1.", "uint8")
    not_equal = _binary(
        "not_equal", lambda a, b: op.logical_not(op.equals(a, b)), "Whether a differs from b: UINT8, 0 or 1.", "uint8"
    )
    greater = _binary("greater", op.greater_than, "Whether a > b: UINT8, 0 or 1.", "uint8")
    greater_or_equal = _binary("greater_or_equal", op.greater_than_or_equal, "Whether a >= b: UINT8, 0 or 1.", "uint8")
    lesser = _binary("lesser", op.less_than, "Whether a < b: UINT8, 0 or 1.", "uint8")
    lesser_or_equal = _binary("lesser_or_equal", op.less_than_or_equal, "Whether a <= b: UINT8, 0 or 1.", "uint8")
    logical_and = _binary("logical_and", op.logical_and, "Whether neither a nor b is 0: UINT8, 0 or 1.")
    logical_or = _binary("logical_or", op.logical_or, "Whether a or b is not 0: UINT8, 0 or 1.")
    logical_xor = _binary("logical_xor", op.logical_xor, "Whether exactly one of a and b is not 0: UINT8, 0 or 1.")
    logical_not = _test("logical_not", op.logical_not, "Whether each element is 0: UINT8, 0 or 1.")
    is_nan = _test("is_nan", op.is_nan, "Whether each element is NaN: UINT8, 0 or 1.")
    is_infinite = _test("is_infinite", op.is_infinity, "Whether each element is infinite: UINT8, 0 or 1.")

    @checked
    def cast(self, input: MLOperand, data_type: str, *, label: str = "") -> MLOperand:
        """Convert the elements to another data type."""
        step = self.step("cast", label, input=input)
        step.one_of("data_type", data_type, self.context.limits("cast")["output"].data_types)
        return step.output(data_type, input.shape, lambda x: op.cast(x, DATA_TYPES[data_type]))

    @checked
    def clamp(
        self, input: MLOperand, *, min_value: float | None = None, max_value: float | None = None, label: str = ""
    ) -> MLOperand:
        """Limit each element to min_value and max_value, which are cast to its data type.

        Raises DMLError if min_value is above max_value.
        """
        step = self.step("clamp", label, input=input)
        kind = input.data_type
        low = cast_number(-np.inf if min_value is None else min_value, kind)
        high = cast_number(np.inf if max_value is None else max_value, kind)
        step.require(not low > high, f"min_value must not be above max_value, found {low} and {high}")

        def lower(x: Tensor) -> Tensor:
            return x.builder.one(
                DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, x.sizes, InputTensor=x, ScaleBias=None,
                MinMaxDataType=x.data_type, Min=scalar(low), Max=scalar(high),
            )  # fmt: skip

        return step.output(kind, input.shape, lower)

    @checked
    def where(
        self, condition: MLOperand, true_value: MLOperand, false_value: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """Select true_value where the condition (UINT8) is not 0, else false_value; the three broadcast to each
        other."""
        step = self.step("where", label, condition=condition, true_value=true_value, false_value=false_value)
        step.same_types(true_value=true_value, false_value=false_value)
        shape = step.broadcast(condition.shape, step.broadcast(true_value.shape, false_value.shape))
        return step.output(true_value.data_type, shape, op.if_)
