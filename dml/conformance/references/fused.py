"""The activations that other operators apply to their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors as d
from dml.conformance.references.rounded import Numbers, Rounded, each, exponential

Array = npt.NDArray[Any]

#: What functions of exponentials may be off by, in half ulp, besides an ulp of 1.
_SMOOTH = 12


def sigmoid(x: Array) -> Array:
    low, high = np.minimum(x, 0), np.maximum(x, 0)
    return np.asarray(np.where(x < 0, np.exp(low) / (1 + np.exp(low)), 1 / (1 + np.exp(-high))))


def softplus(x: Array) -> Array:
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2))))


def _shrink(x: Array, desc: Any) -> Array:
    return np.where(x < -desc.Threshold, x + desc.Bias, np.where(x > desc.Threshold, x - desc.Bias, 0))


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


_FUNCTIONS: dict[type[d.OperatorDesc], Callable[[Any, Array], Array]] = {
    d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC: lambda f, x: x,
    d.DML_ACTIVATION_LINEAR_OPERATOR_DESC: lambda f, x: f.Alpha * x + f.Beta,
    d.DML_ACTIVATION_RELU_OPERATOR_DESC: lambda f, x: np.maximum(x, 0),
    d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC: lambda f, x: np.where(x >= 0, x, f.Alpha * x),
    d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC: lambda f, x: np.where(x > f.Alpha, x, 0),
    d.DML_ACTIVATION_ELU_OPERATOR_DESC: lambda f, x: _elu(x, f.Alpha),
    d.DML_ACTIVATION_CELU_OPERATOR_DESC: lambda f, x: np.maximum(x, 0) + f.Alpha * np.expm1(np.minimum(x, 0) / f.Alpha),
    d.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC: lambda f, x: f.Gamma * _elu(x, f.Alpha),
    d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC: lambda f, x: sigmoid(x),
    d.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC: lambda f, x: np.clip(f.Alpha * x + f.Beta, 0, 1),
    d.DML_ACTIVATION_TANH_OPERATOR_DESC: lambda f, x: np.tanh(x),
    d.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC: lambda f, x: f.Alpha * np.tanh(f.Beta * x),
    d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC: lambda f, x: softplus(f.Steepness * x) / f.Steepness,
    d.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC: lambda f, x: f.Alpha * softplus(f.Beta * x),
    d.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC: lambda f, x: x / (1 + np.abs(x)),
    d.DML_ACTIVATION_SHRINK_OPERATOR_DESC: lambda f, x: _shrink(x, f),
    d.DML_ACTIVATION_GELU_OPERATOR_DESC: lambda f, x: gelu(x),
}
#: Those of no more than comparisons and a product.
_PLAIN = (
    d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC,
    d.DML_ACTIVATION_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC,
)


def activated(x: Numbers, activation: d.OperatorDesc | None) -> Numbers:
    """A result behind its FusedActivation."""
    if activation is None:
        return x
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        return softmax(x, tuple(activation.Axes))
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC):
        return softmax(x, (x.ndim - 1,))
    function = _FUNCTIONS[type(activation)]
    if not isinstance(x, Rounded):
        return function(activation, x)
    found = x.apply(lambda v: function(activation, v), 4 if isinstance(activation, _PLAIN) else _SMOOTH)
    # Alpha * x + Beta, exp(x) - 1 and log(1 + exp(x)) cancel near 0: what counts there is an ulp of 1.
    return found if isinstance(activation, _PLAIN) else Rounded(found.value, found.error + 2.0**-22)


def softmax(x: Numbers, axes: tuple[int, ...]) -> Numbers:
    """exp(x - max) / sum, over all of the axes together."""
    grown = exponential(x - each(x, lambda v: v.max(axes, keepdims=True)))
    return grown / grown.sum(axes, keepdims=True)
