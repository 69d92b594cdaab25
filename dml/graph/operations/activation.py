"""Activations, and their fusion into other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dml.arguments import checked
from dml.capability import short_name
from dml.descriptors import activation as act
from dml.descriptors.activation import DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
from dml.descriptors.base import OperatorDesc
from dml.graph.builder import Operand, Tensor
from dml.shapes import checked_axis

from .attributes import fields_of
from .elementwise import unary, unary_function

__all__ = [
    "celu", "elu", "fused", "gelu", "hard_sigmoid", "hard_swish", "hardmax", "leaky_relu", "linear", "log_softmax",
    "parameterized_relu", "parametric_softplus", "relu", "scaled_elu", "scaled_tanh", "shrink", "sigmoid",
    "softmax", "softplus", "softsign", "swish", "tanh", "thresholded_relu",
]  # fmt: skip


class OverAxes(Protocol):
    """A function of all elements along axes, by default the last one; negative axes count from the end."""

    def __call__(self, x: Tensor, axes: Sequence[int] | None = None) -> Tensor: ...


def _over_axes(cls: type[OperatorDesc]) -> OverAxes:
    name = short_name(cls.OPERATOR_TYPE)

    def function(x: Tensor, axes: Sequence[int] | None = None) -> Tensor:
        chosen = [-1] if axes is None else axes
        return unary(cls, x, Axes=tuple(checked_axis(axis, x.rank, name) for axis in chosen))

    function.__doc__ = f"Compute {cls.__name__} of x along axes, by default the last one."
    function.__qualname__ = name
    return checked(function)


hardmax = _over_axes(act.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC)
log_softmax = _over_axes(act.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC)
softmax = _over_axes(act.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC)
gelu = unary_function(act.DML_ACTIVATION_GELU_OPERATOR_DESC)
relu = unary_function(act.DML_ACTIVATION_RELU_OPERATOR_DESC)
sigmoid = unary_function(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
softsign = unary_function(act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC)
tanh = unary_function(act.DML_ACTIVATION_TANH_OPERATOR_DESC)


@checked
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return max(x, 0) + min(alpha * (e^(x / alpha) - 1), 0)."""
    return unary(act.DML_ACTIVATION_CELU_OPERATOR_DESC, x, Alpha=alpha)


@checked
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x where positive, else alpha * (e^x - 1)."""
    return unary(act.DML_ACTIVATION_ELU_OPERATOR_DESC, x, Alpha=alpha)


@checked
def hard_sigmoid(x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """Return alpha * x + beta, clamped to 0..1."""
    return unary(act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, x, Alpha=alpha, Beta=beta)


@checked
def hard_swish(x: Tensor, alpha: float = 1 / 6, beta: float = 0.5) -> Tensor:
    """Return x times its hard sigmoid."""
    return unary(act.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC, x, Alpha=alpha, Beta=beta)


@checked
def leaky_relu(x: Tensor, alpha: float = 0.01) -> Tensor:
    """Return x where nonnegative, else alpha * x."""
    return unary(act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, x, Alpha=alpha)


@checked
def linear(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Return alpha * x + beta."""
    return unary(act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, x, Alpha=alpha, Beta=beta)


@checked
def parametric_softplus(x: Tensor, alpha: float, beta: float) -> Tensor:
    """Return alpha * log(1 + e^(beta * x))."""
    return unary(act.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC, x, Alpha=alpha, Beta=beta)


@checked
def scaled_elu(x: Tensor, alpha: float = 1.6732632, gamma: float = 1.050701) -> Tensor:
    """Return gamma * x where x is positive, else gamma * alpha * (e^x - 1)."""
    return unary(act.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC, x, Alpha=alpha, Gamma=gamma)


@checked
def scaled_tanh(x: Tensor, alpha: float = 1.0, beta: float = 0.5) -> Tensor:
    """Return alpha * tanh(beta * x)."""
    return unary(act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, x, Alpha=alpha, Beta=beta)


@checked
def shrink(x: Tensor, bias: float = 0.0, threshold: float = 0.5) -> Tensor:
    """Return 0 where abs(x) is at most the threshold; elsewhere x moved towards 0 by the bias."""
    return unary(act.DML_ACTIVATION_SHRINK_OPERATOR_DESC, x, Bias=bias, Threshold=threshold)


@checked
def softplus(x: Tensor, steepness: float = 1.0) -> Tensor:
    """Return log(1 + e^(steepness * x)) / steepness."""
    return unary(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, x, Steepness=steepness)


@checked
def swish(x: Tensor, sigmoid_input_scale: float = 1.0) -> Tensor:
    """Return x times sigmoid(sigmoid_input_scale * x)."""
    return unary(act.DML_ACTIVATION_SWISH_OPERATOR_DESC, x, SigmoidInputScale=sigmoid_input_scale)


@checked
def thresholded_relu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x where above alpha, else 0."""
    return unary(act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, x, Alpha=alpha)


@checked
def fused(cls: Any, **attributes: Any) -> OperatorDesc:
    """Return an activation to fuse into another operator: its tensors are None. attributes: by name, in snake_case."""
    desc = cls(**fields_of(cls, attributes))
    assert isinstance(desc, OperatorDesc)
    return desc


@checked
def parameterized_relu(x: Tensor, slope: Operand) -> Tensor:
    """Return x where positive, slope * x elsewhere; the slope broadcasts to x."""
    slopes = x.builder.like(slope, x).broadcast(x.sizes)
    return x.builder.one(DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC, x.sizes, InputTensor=x, SlopeTensor=slopes)
