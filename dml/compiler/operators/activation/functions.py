"""Activations as expressions of one value, alone or fused after the operator that produces it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.clips import RELU
from dml.compiler.kernels.kinds import MATH, X, affine, integer, kind
from dml.compiler.lowering import elementwise, elementwise_of
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.descriptors import activation as d
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_UINT32


def activation(
    cls: type[OperatorDesc], *inputs: str
) -> Callable[[Callable[[Any], Expression]], Callable[[Any], Expression]]:
    """Register an activation, as an operator and for fusion into others."""
    return elementwise(cls, *(inputs or ("InputTensor",)))


def activate(desc: OperatorDesc | None, x: Expression = X) -> Expression:
    """Return the activation of x; x itself without one. The description was validated as fusable."""
    if desc is None:
        return x
    entry = elementwise_of(desc)
    assert entry is not None, desc
    return substitute(entry.expression(desc), [x])


@activation(d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC)
def identity(desc: d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC) -> Expression:
    return Leaf(0)


@activation(d.DML_ACTIVATION_LINEAR_OPERATOR_DESC)
def linear(desc: d.DML_ACTIVATION_LINEAR_OPERATOR_DESC) -> Expression:
    return affine(None, desc.Alpha, desc.Beta)


#: Activations as GLSL of x and of attributes, named as in the description. The functions are in lib/math.glsl.
_CODES = {
    "LEAKY_RELU": "$x0 >= 0.0 ? $x0 : $Alpha * $x0",
    "THRESHOLDED_RELU": "$x0 > $Alpha ? $x0 : 0.0",
    "SIGMOID": "sigmoid($x0)",
    "TANH": "tanh_accurate($x0)",
    "SCALED_TANH": "$Alpha * tanh_accurate($Beta * $x0)",
    "ELU": "$x0 >= 0.0 ? $x0 : $Alpha * expm1_accurate($x0)",
    "SCALED_ELU": "$Gamma * ($x0 > 0.0 ? $x0 : $Alpha * expm1_accurate($x0))",
    "PARAMETRIC_SOFTPLUS": "$Alpha * softplus_scaled($x0, $Beta)",
    "SOFTSIGN": "divide($x0, 1.0 + abs($x0))",
    "GELU": "gelu($x0)",
}


def _register(cls: type[OperatorDesc], code: str) -> None:
    attributes = [info.name for info in cls.fields_info if not info.is_tensor]
    includes = [MATH] if "(" in code else []

    @activation(cls)
    def function(desc: OperatorDesc) -> Expression:
        return node(code, Leaf(0), includes=includes, **{name: getattr(desc, name) for name in attributes})


for _name, _code in _CODES.items():
    _register(getattr(d, f"DML_ACTIVATION_{_name}_OPERATOR_DESC"), _code)


# --- piecewise linear -------------------------------------------------------------------------------------------------
#
# NaN is detected by its bits: max() and min() may drop it, and a driver may turn a comparison into one of them.


@activation(d.DML_ACTIVATION_RELU_OPERATOR_DESC)
def relu(desc: d.DML_ACTIVATION_RELU_OPERATOR_DESC) -> Expression:
    if kind(desc.OutputTensor) == "int":
        return node("max($x0, 0)", Leaf(0), glsl="int")
    return node(RELU, Leaf(0), includes=[MATH])


@elementwise(d.DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC, "InputTensor", "InputGradientTensor")
def relu_grad(desc: d.DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC) -> Expression:
    glsl = kind(desc.InputTensor)
    return node(f"$x0 > {glsl}(0) ? $x1 : {glsl}(0)", Leaf(0), Leaf(1), glsl=glsl)


@elementwise(d.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC, "InputTensor", "SlopeTensor")
def parameterized_relu(desc: d.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC) -> Expression:
    glsl = kind(desc.InputTensor)
    return node(f"$x0 >= {glsl}(0) ? $x0 : $x1 * $x0", Leaf(0), Leaf(1), glsl=glsl)


@activation(d.DML_ACTIVATION_SHRINK_OPERATOR_DESC)
def shrink(desc: d.DML_ACTIVATION_SHRINK_OPERATOR_DESC) -> Expression:
    of = kind(desc.OutputTensor)
    if of == "float":
        code = "$x0 > $Threshold ? $x0 - $Bias : $x0 < -$Threshold ? $x0 + $Bias : 0.0"
        return node(code, Leaf(0), Bias=desc.Bias, Threshold=desc.Threshold)
    # Over is the smallest integer above the threshold, Under the largest below its negative. Rises and Falls are false
    # if the type cannot represent it.
    row = DATA_TYPES[DML_TENSOR_DATA_TYPE_INT32 if of == "int" else DML_TENSOR_DATA_TYPE_UINT32]
    low, high = row.lowest, row.highest
    # No element is above a NaN threshold, nor below its negative.
    threshold = math.inf if math.isnan(desc.Threshold) else desc.Threshold
    over = math.floor(threshold) + 1 if math.isfinite(threshold) else threshold
    under = math.ceil(-threshold) - 1 if math.isfinite(threshold) else -threshold
    down, up = affine(desc.OutputTensor, 1.0, -desc.Bias), affine(desc.OutputTensor, 1.0, desc.Bias)
    code = "$Rises && $x0 >= $Over ? $x1 : $Falls && $x0 <= $Under ? $x2 : $Zero"
    return node(
        code,
        Leaf(0),
        down,
        up,
        glsl=of,
        Rises=bool(over <= high),
        Falls=bool(under >= low),
        Over=integer(int(min(max(over, low), high)), of),
        Under=integer(int(min(max(under, low), high)), of),
        Zero=integer(0, of),
    )


def hard_sigmoid_of(alpha: float, beta: float) -> Expression:
    return node("is_nan($x0) ? $x0 : clamp($x0, 0.0, 1.0)", affine(None, alpha, beta), includes=[MATH])


@activation(d.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC)
def hard_sigmoid(desc: d.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC) -> Expression:
    return hard_sigmoid_of(desc.Alpha, desc.Beta)


@activation(d.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC)
def hard_swish(desc: d.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC) -> Expression:
    return node("$x0 * $x1", Leaf(0), hard_sigmoid_of(desc.Alpha, desc.Beta))


@activation(d.DML_ACTIVATION_SWISH_OPERATOR_DESC)
def swish(desc: d.DML_ACTIVATION_SWISH_OPERATOR_DESC) -> Expression:
    return node("$x0 * sigmoid_scaled($x0, $Scale)", Leaf(0), Scale=desc.SigmoidInputScale, includes=[MATH])


@activation(d.DML_ACTIVATION_CELU_OPERATOR_DESC)
def celu(desc: d.DML_ACTIVATION_CELU_OPERATOR_DESC) -> Expression:
    grown = node("$Alpha * expm1_accurate(divide($x0, $Alpha))", Leaf(0), Alpha=desc.Alpha, includes=[MATH])
    return node("is_nan($x0) ? $x0 : max($x0, 0.0) + min($x1, 0.0)", Leaf(0), grown, includes=[MATH])


@activation(d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC)
def softplus(desc: d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC) -> Expression:
    if desc.Steepness == 1.0:
        return node("softplus($x0)", Leaf(0), includes=[MATH])
    code = "softplus_scaled($x0, $Steepness) / $Steepness"
    return node(code, Leaf(0), Steepness=desc.Steepness, includes=[MATH])
