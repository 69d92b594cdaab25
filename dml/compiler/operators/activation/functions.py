"""Activations: expressions of one value, alone or fused after the operator that produces it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.lowering import elementwise
from dml.compiler.scalar import Constant, Expression, Leaf, ScalarNode, node, substitute
from dml.descriptors import activation as d
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC

MATH = "lib/math.glsl"
INTEGER = "lib/integer.glsl"
INT64 = "lib/int64.glsl"
X = Leaf(0)
_ACTIVATIONS: dict[type[OperatorDesc], Callable[[Any], Expression]] = {}


def activation(
    cls: type[OperatorDesc], *inputs: str
) -> Callable[[Callable[[Any], Expression]], Callable[[Any], Expression]]:
    """Register an activation as an operator of its own and as one that others fuse."""

    def register(function: Callable[[Any], Expression]) -> Callable[[Any], Expression]:
        _ACTIVATIONS[cls] = function
        return elementwise(cls, *(inputs or ("InputTensor",)))(function)

    return register


def activate(desc: OperatorDesc | None, x: Expression = X) -> Expression:
    """The activation of x; x itself where none is given. The descriptor was validated as fusable."""
    return x if desc is None else substitute(_ACTIVATIONS[type(desc)](desc), [x])


def kind(tensor: DML_BUFFER_TENSOR_DESC | None) -> str:
    """What a kernel computes with for this tensor: float, int, uint, int64, uint64 or float64; float where fused."""
    return "float" if tensor is None else DATA_TYPES[tensor.DataType].kind


def integer(value: int, of: str) -> Constant:
    """A constant of kind int or uint, modulo 2^32."""
    bits = value & 0xFFFFFFFF
    return np.int32(bits - (1 << 32) if bits >> 31 else bits) if of == "int" else bits


def words_of(*values: float) -> tuple[int, ...]:
    """The words of float32 values as FLOAT64, low word first."""
    wide = np.array(values, np.float32).astype("<f8")
    return tuple(int(word) for word in wide.view("<u4"))


def affine(tensor: DML_BUFFER_TENSOR_DESC | None, scale: float, bias: float, x: Expression = X) -> Expression:
    """x * scale + bias in the tensor's type.

    The reference gives integers no rule of their own: whole scales and biases stay in integers, which wrap; with
    others the product and sum are taken in float32 and truncated.
    """
    of = kind(tensor)
    if of == "float":
        return node("multiply_add($x0, $Scale, $Bias)", x, Scale=float(scale), Bias=float(bias), includes=[MATH])
    whole = math.isfinite(scale) and math.isfinite(bias) and scale == int(scale) and bias == int(bias)
    if of in ("int", "uint"):
        if whole:
            factors: dict[str, Constant] = {"Scale": integer(int(scale), of), "Bias": integer(int(bias), of)}
            return ScalarNode("$x0 * $Scale + $Bias", (x,), of, factors)
        code = f"{of}_of_float(multiply_add(float($x0), $Scale, $Bias))"
        return node(code, x, glsl=of, includes=[MATH, INTEGER], Scale=float(scale), Bias=float(bias))
    if of == "float64":
        words64 = dict(zip(("ScaleLow", "ScaleHigh", "BiasLow", "BiasHigh"), words_of(scale, bias), strict=True))
        code = "add_f64(mul_f64($x0, uvec2($ScaleLow, $ScaleHigh)), uvec2($BiasLow, $BiasHigh))"
        return ScalarNode(code, (x,), "uvec2", words64, ("lib/float64.glsl",))
    letter = of[0]
    if whole:
        code = "add64(mul64($x0, uvec2($ScaleLow, $ScaleHigh)), uvec2($BiasLow, $BiasHigh))"
        words: dict[str, Constant] = {}
        for name, value in (("Scale", int(scale)), ("Bias", int(bias))):
            words |= {f"{name}Low": value & 0xFFFFFFFF, f"{name}High": value >> 32 & 0xFFFFFFFF}
        return ScalarNode(code, (x,), "uvec2", words, (INT64,))
    code = f"{letter}64_of_float(multiply_add(float_{letter}64($x0), $Scale, $Bias))"
    return node(code, x, glsl="uvec2", includes=[MATH, INT64], Scale=float(scale), Bias=float(bias))


@activation(d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC)
def identity(desc: d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC) -> Expression:
    return Leaf(0)


@activation(d.DML_ACTIVATION_LINEAR_OPERATOR_DESC)
def linear(desc: d.DML_ACTIVATION_LINEAR_OPERATOR_DESC) -> Expression:
    return affine(None, desc.Alpha, desc.Beta)


# --- piecewise linear. NaN goes through by its bits: max() and min() leave it open, and a ? b : c may become one.


@activation(d.DML_ACTIVATION_RELU_OPERATOR_DESC)
def relu(desc: d.DML_ACTIVATION_RELU_OPERATOR_DESC) -> Expression:
    if kind(desc.OutputTensor) == "int":
        return node("max($x0, 0)", Leaf(0), glsl="int")
    return node("is_nan($x0) ? $x0 : max($x0, 0.0)", Leaf(0), includes=[MATH])


@elementwise(d.DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC, "InputTensor", "InputGradientTensor")
def relu_grad(desc: d.DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC) -> Expression:
    glsl = kind(desc.InputTensor)
    return node(f"$x0 > {glsl}(0) ? $x1 : {glsl}(0)", Leaf(0), Leaf(1), glsl=glsl)


@activation(d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC)
def leaky_relu(desc: d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC) -> Expression:
    return node("$x0 >= 0.0 ? $x0 : $Alpha * $x0", Leaf(0), Alpha=desc.Alpha)


@elementwise(d.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC, "InputTensor", "SlopeTensor")
def parameterized_relu(desc: d.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC) -> Expression:
    glsl = kind(desc.InputTensor)
    return node(f"$x0 >= {glsl}(0) ? $x0 : $x1 * $x0", Leaf(0), Leaf(1), glsl=glsl)


@activation(d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC)
def thresholded_relu(desc: d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC) -> Expression:
    return node("$x0 > $Alpha ? $x0 : 0.0", Leaf(0), Alpha=desc.Alpha)


@activation(d.DML_ACTIVATION_SHRINK_OPERATOR_DESC)
def shrink(desc: d.DML_ACTIVATION_SHRINK_OPERATOR_DESC) -> Expression:
    of = kind(desc.OutputTensor)
    if of == "float":
        code = "$x0 > $Threshold ? $x0 - $Bias : $x0 < -$Threshold ? $x0 + $Bias : 0.0"
        return node(code, Leaf(0), Bias=desc.Bias, Threshold=desc.Threshold)
    # x > t and x < -t of real numbers, said with the whole numbers on that side. Where no number of the type is, the
    # end of the type stands for it, which none is beyond.
    low, high = (-(2**31), 2**31 - 1) if of == "int" else (0, 2**32 - 1)
    # A comparison with NaN holds nowhere.
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


# --- smooth -----------------------------------------------------------------------------------------------------------


@activation(d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
def sigmoid(desc: d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC) -> Expression:
    return node("sigmoid($x0)", Leaf(0), includes=[MATH])


@activation(d.DML_ACTIVATION_SWISH_OPERATOR_DESC)
def swish(desc: d.DML_ACTIVATION_SWISH_OPERATOR_DESC) -> Expression:
    return node("$x0 * sigmoid_scaled($x0, $Scale)", Leaf(0), Scale=desc.SigmoidInputScale, includes=[MATH])


@activation(d.DML_ACTIVATION_TANH_OPERATOR_DESC)
def tanh(desc: d.DML_ACTIVATION_TANH_OPERATOR_DESC) -> Expression:
    return node("tanh_accurate($x0)", Leaf(0), includes=[MATH])


@activation(d.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC)
def scaled_tanh(desc: d.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC) -> Expression:
    return node("$Alpha * tanh_accurate($Beta * $x0)", Leaf(0), Alpha=desc.Alpha, Beta=desc.Beta, includes=[MATH])


@activation(d.DML_ACTIVATION_ELU_OPERATOR_DESC)
def elu(desc: d.DML_ACTIVATION_ELU_OPERATOR_DESC) -> Expression:
    return node("$x0 >= 0.0 ? $x0 : $Alpha * expm1_accurate($x0)", Leaf(0), Alpha=desc.Alpha, includes=[MATH])


@activation(d.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC)
def scaled_elu(desc: d.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC) -> Expression:
    code = "$Gamma * ($x0 > 0.0 ? $x0 : $Alpha * expm1_accurate($x0))"
    return node(code, Leaf(0), Alpha=desc.Alpha, Gamma=desc.Gamma, includes=[MATH])


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


@activation(d.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC)
def parametric_softplus(desc: d.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC) -> Expression:
    code = "$Alpha * softplus_scaled($x0, $Beta)"
    return node(code, Leaf(0), Alpha=desc.Alpha, Beta=desc.Beta, includes=[MATH])


@activation(d.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC)
def softsign(desc: d.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC) -> Expression:
    return node("divide($x0, 1.0 + abs($x0))", Leaf(0), includes=[MATH])


@activation(d.DML_ACTIVATION_GELU_OPERATOR_DESC)
def gelu(desc: d.DML_ACTIVATION_GELU_OPERATOR_DESC) -> Expression:
    return node("gelu($x0)", Leaf(0), includes=[MATH])
