"""Activations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError

from ..functions import part
from ..node import OnnxNode, Unsupported
from ..registry import onnx_op
from ..value import OnnxValue, expanded, one, reshape, unary

#: Operator -> descriptor, and its fields: ONNX attribute and default.
_ACTIVATIONS: dict[str, tuple[type[OperatorDesc], dict[str, tuple[str, float]]]] = {
    "Affine": (act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, {"Alpha": ("alpha", 1.0), "Beta": ("beta", 0.0)}),
    "Celu": (act.DML_ACTIVATION_CELU_OPERATOR_DESC, {"Alpha": ("alpha", 1.0)}),
    "Elu": (act.DML_ACTIVATION_ELU_OPERATOR_DESC, {"Alpha": ("alpha", 1.0)}),
    "HardSigmoid": (
        act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC,
        {"Alpha": ("alpha", 0.2), "Beta": ("beta", 0.5)},
    ),
    "HardSwish": (act.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC, {"Alpha": ("alpha", 1 / 6), "Beta": ("beta", 0.5)}),
    "LeakyRelu": (act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, {"Alpha": ("alpha", 0.01)}),
    "ParametricSoftplus": (
        act.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC,
        {"Alpha": ("alpha", 1.0), "Beta": ("beta", 1.0)},
    ),
    "Relu": (act.DML_ACTIVATION_RELU_OPERATOR_DESC, {}),
    "ScaledTanh": (act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, {"Alpha": ("alpha", 1.0), "Beta": ("beta", 1.0)}),
    "Selu": (
        act.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC,
        {"Alpha": ("alpha", 1.67326319217681884765625), "Gamma": ("gamma", 1.05070102214813232421875)},
    ),
    "Shrink": (act.DML_ACTIVATION_SHRINK_OPERATOR_DESC, {"Bias": ("bias", 0.0), "Threshold": ("lambd", 0.5)}),
    "Sigmoid": (act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, {}),
    "Softsign": (act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC, {}),
    "Swish": (act.DML_ACTIVATION_SWISH_OPERATOR_DESC, {"SigmoidInputScale": ("alpha", 1.0)}),
    "Tanh": (act.DML_ACTIVATION_TANH_OPERATOR_DESC, {}),
    "ThresholdedRelu": (act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, {"Alpha": ("alpha", 1.0)}),
}


@onnx_op(*_ACTIVATIONS)
def activation(node: OnnxNode) -> OnnxValue:
    cls, fields = _ACTIVATIONS[node.op]
    attributes: dict[str, Any] = {field: node.number(name, value) for field, (name, value) in fields.items()}
    return unary(cls, node.input(0), **attributes)


@onnx_op("Softplus")
def softplus(node: OnnxNode) -> OnnxValue:
    return unary(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, node.input(0), Steepness=1.0)


@onnx_op("QuickGelu", domain="com.microsoft")
def quick_gelu(node: OnnxNode) -> OnnxValue:
    scale = node.number("alpha", 1.702)
    return unary(act.DML_ACTIVATION_SWISH_OPERATOR_DESC, node.input(0), SigmoidInputScale=scale)


@onnx_op("Gelu", since=20)
@onnx_op("Gelu", "BiasGelu", domain="com.microsoft")
def gelu(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    if node.op == "BiasGelu":
        x = x + node.input(1)
    return tanh_gelu(x) if node.one_of("approximate", "none", ("none", "tanh")) == "tanh" else exact_gelu(x)


def exact_gelu(x: OnnxValue) -> OnnxValue:
    return unary(act.DML_ACTIVATION_GELU_OPERATOR_DESC, x)


@onnx_op("BiasSplitGelu", domain="com.microsoft")
def bias_split_gelu(node: OnnxNode) -> OnnxValue:
    """The first half of x + bias, times the Gelu of the second."""
    x = node.input(0) + node.input(1)
    half = x.shape[-1] // 2
    if 2 * half != x.shape[-1]:
        raise DMLError(f"{node}: the last size of X must be even, found shape {x.shape}")
    return part(x, x.rank - 1, 0, half) * exact_gelu(part(x, x.rank - 1, half, half))


@onnx_op("FastGelu", domain="com.microsoft")
def fast_gelu(node: OnnxNode) -> OnnxValue:
    x, bias = node.input(0), node.optional(1)
    return tanh_gelu(x if bias is None else x + bias)


def tanh_gelu(x: OnnxValue) -> OnnxValue:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    inner = (x * x * x * 0.044715 + x) * math.sqrt(2 / math.pi)
    return (unary(act.DML_ACTIVATION_TANH_OPERATOR_DESC, inner) + 1.0) * x * 0.5


@onnx_op("Mish", since=18)
def mish(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return x * unary(
        act.DML_ACTIVATION_TANH_OPERATOR_DESC, unary(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, x, Steepness=1.0)
    )


@onnx_op("PRelu")
def parameterized_relu(node: OnnxNode) -> OnnxValue:
    x, slope = node.input(0), node.input(1)
    if node.version < 7 and slope.rank == 1 and x.rank > 2 and slope.size > 1:
        slope = reshape(slope, (slope.size, *(1,) * (x.rank - 2)))
    cls = act.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
    return one(cls, x, x.shape, InputTensor=x, SlopeTensor=expanded(slope, x.shape))


_SOFT: dict[str, type[OperatorDesc]] = {
    "Softmax": act.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC,
    "LogSoftmax": act.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC,
    "Hardmax": act.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC,
}


@onnx_op(*_SOFT)
def soft_flat(node: OnnxNode) -> OnnxValue:
    """Before opset 13, over all dimensions from ``axis`` on."""
    x = node.input(0)
    axis = node.integer("axis", 1)
    node.check(-x.rank <= axis <= x.rank, f"axis must be from -{x.rank} to {x.rank}, found {axis}")
    return _soft_from(_SOFT[node.op], x, axis + x.rank if axis < 0 else axis)


def _soft_from(cls: type[OperatorDesc], x: OnnxValue, axis: int) -> OnnxValue:
    flat = reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return reshape(unary(cls, flat, Axes=(1,)), x.shape)


def softmax_from(x: OnnxValue, axis: int) -> OnnxValue:
    """Softmax over all dimensions from ``axis`` on."""
    return _soft_from(_SOFT["Softmax"], x, axis)


def softmax_along(x: OnnxValue, axis: int) -> OnnxValue:
    return unary(_SOFT["Softmax"], x, Axes=(axis,))


@onnx_op(*_SOFT, since=13)
def soft(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return (
        unary(_SOFT[node.op], x, Axes=(node.axis("axis", -1, x.rank),)) if x.rank else x.filled(node.op != "LogSoftmax")
    )


def activated(node: OnnxNode, x: OnnxValue, name: str, prefix: str) -> OnnxValue:
    """An activation behind another operator, by its ONNX name; its attributes have a prefix before theirs."""
    if name in _ACTIVATIONS:
        cls, fields = _ACTIVATIONS[name]
        attributes: dict[str, Any] = {at: node.number(prefix + own, value) for at, (own, value) in fields.items()}
        return unary(cls, x, **attributes)
    if name in _SOFT:
        return unary(_SOFT[name], x, Axes=(node.axis(f"{prefix}axis", -1, x.rank),))
    if name == "Softplus":
        return unary(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, x, Steepness=1.0)
    if name == "Gelu":
        return exact_gelu(x)
    if name == "QuickGelu":
        scale = node.number(f"{prefix}alpha", 1.702)
        return unary(act.DML_ACTIVATION_SWISH_OPERATOR_DESC, x, SigmoidInputScale=scale)
    raise Unsupported(f"{node}: {prefix.rstrip('_')} {name!r} is not mapped")


def activated_by(node: OnnxNode, x: OnnxValue, name: str, numbers: Sequence[float]) -> OnnxValue:
    """An activation behind another operator, with the first of its attributes as numbers in their order."""
    if not numbers:
        return activated(node, x, name, "activation_")
    if name not in _ACTIVATIONS:
        raise Unsupported(f"{node}: activation {name!r} is not mapped")
    cls, fields = _ACTIVATIONS[name]
    node.check(len(numbers) <= len(fields), f"{name} takes {len(fields)} parameters, found {list(numbers)}")
    attributes: dict[str, Any] = {field: value for field, (_, value) in fields.items()}
    return unary(cls, x, **attributes | dict(zip(fields, numbers, strict=False)))
