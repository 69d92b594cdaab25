"""Activations in float64 and their limits, alone and fused into other operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors as d
from dml.capability import short_name
from dml.conformance.limits import AROUND_LIBRARY, EXACT, LIBRARY, Limit, webnn, webnn_absolute
from dml.conformance.references.elementwise import erfc
from dml.conformance.references.rounded import Numbers, Rounded
from dml.conformance.references.softmax import softmax
from dml.descriptors.base import OperatorDesc

Array = npt.NDArray[Any]

_trunc = np.frompyfunc(math.trunc, 1, 1)


def linear(x: Array, Alpha: float, Beta: float) -> Array:
    return Alpha * x + Beta


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def leaky_relu(x: Array, Alpha: float) -> Array:
    return np.where(x >= 0, x, Alpha * x)


def parameterized_relu(x: Array, slope: Array) -> Array:
    return np.where(x >= 0, x, slope * x)


def thresholded_relu(x: Array, Alpha: float) -> Array:
    return np.where(x > Alpha, x, 0)


def shrink(x: Array, Bias: float, Threshold: float) -> Array:
    """Shrink; integer results are truncated."""
    if x.dtype == object:
        moved = _trunc(np.where(x > Threshold, x - _whole(Bias), x + _whole(Bias)))
        return np.where((x > Threshold) | (x < -Threshold), moved, 0)
    return np.where(x > Threshold, x - Bias, np.where(x < -Threshold, x + Bias, 0))


def _whole(value: float) -> float | int:
    """Return an integral value as an int: float64 cannot represent every sum with a large integer."""
    return int(value) if value == int(value) else value


def hard_sigmoid(x: Array, Alpha: float, Beta: float) -> Array:
    return np.clip(linear(x, Alpha, Beta), 0, 1)


def hard_swish(x: Array, Alpha: float, Beta: float) -> Array:
    return np.asarray(x * hard_sigmoid(x, Alpha, Beta))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def swish(x: Array, SigmoidInputScale: float) -> Array:
    return x * sigmoid(SigmoidInputScale * x)


def scaled_tanh(x: Array, Alpha: float, Beta: float) -> Array:
    return Alpha * np.tanh(Beta * x)


def elu(x: Array, Alpha: float) -> Array:
    return np.where(x >= 0, x, Alpha * np.expm1(x))


def scaled_elu(x: Array, Alpha: float, Gamma: float) -> Array:
    return Gamma * np.where(x > 0, x, Alpha * np.expm1(x))


def celu(x: Array, Alpha: float) -> Array:
    return np.maximum(0, x) + np.minimum(0, Alpha * np.expm1(x / Alpha))


def softplus(x: Array, Steepness: float = 1.0) -> Array:
    return np.asarray(np.logaddexp(0, Steepness * x) / Steepness)


def parametric_softplus(x: Array, Alpha: float, Beta: float) -> Array:
    return np.asarray(Alpha * np.logaddexp(0, Beta * x))


def softsign(x: Array) -> Array:
    return np.asarray(x / (1 + np.abs(x)))


def gelu(x: Array) -> Array:
    """Gelu; at -infinity its limit."""
    return np.where(x == -np.inf, -0.0, x * 0.5 * erfc(-x / math.sqrt(2)))


def relu_grad(x: Array, gradient: Array) -> Array:
    return np.where(x > 0, gradient, 0)


#: A device may ignore the sign of a subnormal number and return the number unchanged (SwiftShader).
SUBNORMAL = Limit(absolute=(2.0**-126, 0.0), why="a subnormal may count as 0 in a comparison")

#: Unary activations by short name, with WebNN's limits for them or for similar ones.
ACTIVATIONS: Mapping[str, tuple[Callable[..., Any], Limit]] = {
    "ELU": (elu, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "HARD_SIGMOID": (hard_sigmoid, webnn(2, 2)),
    "IDENTITY": (lambda x: x, EXACT),
    "LEAKY_RELU": (leaky_relu, webnn(1, 2).and_then(SUBNORMAL)),
    "LINEAR": (linear, webnn(2, 2)),
    "PARAMETRIC_SOFTPLUS": (parametric_softplus, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "RELU": (relu, EXACT),
    "SCALED_ELU": (scaled_elu, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "SCALED_TANH": (scaled_tanh, webnn_absolute(1 / 512, 1 / 256).keeping(AROUND_LIBRARY)),
    "SIGMOID": (sigmoid, webnn(34, 10).keeping(LIBRARY)),
    "SOFTPLUS": (softplus, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "SOFTSIGN": (softsign, webnn(3, 3)),
    "TANH": (np.tanh, webnn_absolute(1 / 1024, 1 / 512).keeping(LIBRARY)),
    "THRESHOLDED_RELU": (thresholded_relu, EXACT),
    "SHRINK": (shrink, Limit((1, 1), why="one rounding")),
    "CELU": (celu, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "GELU": (gelu, webnn(18, 18).keeping(AROUND_LIBRARY)),
    "SWISH": (swish, webnn(34, 10).keeping(AROUND_LIBRARY)),
    "HARD_SWISH": (hard_swish, webnn(4, 4)),
}


def attributes_of(desc: OperatorDesc) -> dict[str, Any]:
    """Return the attributes by name, floats rounded to float32 as on the device."""
    found: dict[str, Any] = {}
    for info in desc.fields_info:
        if info.kind == "attribute" and info.counts is None:
            value = getattr(desc, info.name)
            found[info.name] = float(np.float32(value)) if info.type == "float" else value
    return found


def _name(desc: OperatorDesc) -> str:
    return short_name(desc.OPERATOR_TYPE).removeprefix("ACTIVATION_")


def activate(desc: OperatorDesc | None, x: Array) -> Array:
    """Apply a fused activation to float64 values; without ``desc`` return them unchanged."""
    return x if desc is None else np.asarray(ACTIVATIONS[_name(desc)][0](x, **attributes_of(desc)))


def limit_of(desc: OperatorDesc | None) -> Limit:
    """Return the limit of a fused activation alone."""
    return EXACT if desc is None else ACTIVATIONS[_name(desc)][1]


#: Activations that consist of, or contain, Alpha * x + Beta.
LINES = ("LINEAR", "HARD_SIGMOID", "HARD_SWISH")


def cancelled(name: str, x: Array, Alpha: float, Beta: float) -> Array:
    """Return the error of LINES where product and bias cancel: a float32 ulp of the product.

    It is zero where an activation with bounds has reached one of them, however large the product.
    """
    lost = np.abs(Alpha * x) * 2.0**-23
    if name != "LINEAR":
        line = linear(x, Alpha, Beta)
        lost = np.where((line < -lost) | (line > 1 + lost), 0.0, lost)
    if name == "HARD_SWISH":
        lost = lost * np.abs(x)
    return np.nan_to_num(lost, nan=0.0, posinf=0.0)


def cancelled_by(desc: OperatorDesc | None, x: Array) -> Array:
    """Return ``cancelled`` of a fused activation; zeros without one, or for one that is not a straight line."""
    return (
        np.zeros(x.shape)
        if desc is None or _name(desc) not in LINES
        else cancelled(_name(desc), x, **attributes_of(desc))
    )


# --- fused ------------------------------------------------------------------------------------------------------------

#: Error, in half ulps, of activations that use exponentials; an ulp of 1 is added to it.
_SMOOTH = 12
#: Activations that consist of comparisons and at most one product.
_PLAIN = (
    d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC,
    d.DML_ACTIVATION_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC,
)


def activated(x: Numbers, activation: d.OperatorDesc | None) -> Numbers:
    """Apply the FusedActivation to a result."""
    if activation is None:
        return x
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        return softmax(x, tuple(activation.Axes))
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC):
        return softmax(x, (x.ndim - 1,))
    if not isinstance(x, Rounded):
        return activate(activation, x)
    found = x.apply(lambda v: activate(activation, v), 4 if isinstance(activation, _PLAIN) else _SMOOTH)
    # In Alpha * x + Beta, exp(x) - 1 and log(1 + exp(x)) the terms may cancel: the error is then an ulp of 1.
    return found if isinstance(activation, _PLAIN) else Rounded(found.value, found.error + 2.0**-22)
