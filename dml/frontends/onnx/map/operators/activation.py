"""Activations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import dml.graph.operations as op
from dml.frontends.meaning import integers
from dml.frontends.meaning.activations import ACTIVATIONS, Activation

from ...registry import onnx_op
from .. import folds
from ..functions import slices
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, Operation, reshape, unary


@onnx_op(*ACTIVATIONS.keys() - {"Relu", "Sigmoid", "Tanh"})
@onnx_op("Relu", "Sigmoid", "Tanh", fold=folds.ELEMENT_WISE)
def activation(node: OnnxNode) -> OnnxValue:
    return _activated(node, node.input(0), ACTIVATIONS[node.op], "")


def _activated(node: OnnxNode, x: OnnxValue, found: Activation, prefix: str) -> OnnxValue:
    """Apply an activation with the node's attributes, whose names begin with ``prefix``."""
    attributes: dict[str, Any] = {
        own: node.number(prefix + name, value) for own, (name, value) in found.parameters.items()
    }
    return unary(found.function, x, **attributes)


@onnx_op("QuickGelu", domain="com.microsoft")
def quick_gelu(node: OnnxNode) -> OnnxValue:
    return _quick_gelu(node, node.input(0), "")


def _quick_gelu(node: OnnxNode, x: OnnxValue, prefix: str) -> OnnxValue:
    return unary(op.swish, x, sigmoid_input_scale=node.number(f"{prefix}alpha", 1.702))


@onnx_op("Gelu", since=20)
@onnx_op("Gelu", "BiasGelu", domain="com.microsoft")
def gelu(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    if node.op == "BiasGelu":
        x = x + node.input(1)
    return tanh_gelu(x) if node.one_of("approximate", "none", ("none", "tanh")) == "tanh" else unary(op.gelu, x)


@onnx_op("BiasSplitGelu", domain="com.microsoft")
def bias_split_gelu(node: OnnxNode) -> OnnxValue:
    """Multiply the first half of x + bias by the Gelu of the second."""
    x = node.input(0) + node.input(1)
    half = x.shape[-1] // 2
    node.check(2 * half == x.shape[-1], f"the last size of X must be even, found shape {x.shape}")
    first, second = slices(x, x.rank - 1, (half, half))
    return first * unary(op.gelu, second)


@onnx_op("FastGelu", domain="com.microsoft")
def fast_gelu(node: OnnxNode) -> OnnxValue:
    x, bias = node.input(0), node.optional(1)
    return tanh_gelu(x if bias is None else x + bias)


def tanh_gelu(x: OnnxValue) -> OnnxValue:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))."""
    inner = (x * x * x * 0.044715 + x) * math.sqrt(2 / math.pi)
    return (unary(op.tanh, inner) + 1.0) * x * 0.5


@onnx_op("Mish", since=18)
def mish(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return x * unary(op.tanh, unary(op.softplus, x, steepness=1.0))


@onnx_op("PRelu")
def parameterized_relu(node: OnnxNode) -> OnnxValue:
    x, slope = node.input(0), node.input(1)
    if node.version < 7 and slope.rank == 1 and x.rank > 2 and slope.size > 1:
        slope = reshape(slope, (slope.size, *(1,) * (x.rank - 2)))
    return x.filled(0, x.shape) if not x.size else x.with_tensor(integers.parameterized_relu(x.tensor, slope.tensor))


_SOFT: dict[str, Operation] = {"Softmax": op.softmax, "LogSoftmax": op.log_softmax, "Hardmax": op.hardmax}


@onnx_op(*_SOFT)
def soft_flat(node: OnnxNode) -> OnnxValue:
    """Apply a softmax as defined before opset 13: over all dimensions starting at ``axis``."""
    x = node.input(0)
    axis = node.integer("axis", 1)
    node.check(-x.rank <= axis <= x.rank, f"axis must be from -{x.rank} to {x.rank}, found {axis}")
    return softmax_from(x, axis + x.rank if axis < 0 else axis, _SOFT[node.op])


def softmax_from(x: OnnxValue, axis: int, function: Operation = op.softmax) -> OnnxValue:
    """Return the softmax, or another function, over all dimensions starting at ``axis``."""
    flat = reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))
    return reshape(unary(function, flat, axes=(1,)), x.shape)


def softmax_along(x: OnnxValue, axis: int) -> OnnxValue:
    return unary(op.softmax, x, axes=(axis,))


@onnx_op(*_SOFT, since=13)
def soft(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return (
        unary(_SOFT[node.op], x, axes=(node.axis("axis", -1, x.rank),)) if x.rank else x.filled(node.op != "LogSoftmax")
    )


def activated(node: OnnxNode, x: OnnxValue, name: str, prefix: str) -> OnnxValue:
    """Apply an activation that is fused to another operator, by its ONNX name. prefix: start of its attributes'
    names."""
    if name in ACTIVATIONS:
        return _activated(node, x, ACTIVATIONS[name], prefix)
    if name in _SOFT:
        return unary(_SOFT[name], x, axes=(node.axis(f"{prefix}axis", -1, x.rank),))
    if name == "Gelu":
        return unary(op.gelu, x)
    if name == "QuickGelu":
        return _quick_gelu(node, x, prefix)
    raise Unsupported(f"{prefix.rstrip('_')} {name!r} is not mapped")


def activated_by(node: OnnxNode, x: OnnxValue, name: str, numbers: Sequence[float]) -> OnnxValue:
    """Apply an activation that is fused to another operator. numbers: its first attributes, in order."""
    if not numbers:
        return activated(node, x, name, "activation_")
    if name not in ACTIVATIONS:
        raise Unsupported(f"activation {name!r} is not mapped")
    function, parameters = ACTIVATIONS[name].function, ACTIVATIONS[name].parameters
    node.check(len(numbers) <= len(parameters), f"{name} takes {len(parameters)} parameters, found {list(numbers)}")
    attributes: dict[str, Any] = {own: value for own, (_, value) in parameters.items()}
    return unary(function, x, **attributes | dict(zip(parameters, numbers, strict=False)))
