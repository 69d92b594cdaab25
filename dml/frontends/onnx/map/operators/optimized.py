"""Operators of com.microsoft that onnxruntime's optimizer and quantizer write into models."""

from __future__ import annotations

import dml.graph.operations as op
from dml.descriptors.gemm import DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC
from dml.tensors import nearest_float

from ...dtypes import FLOAT32, INT32
from ...registry import onnx_op
from ..node import OnnxNode
from ..value import OnnxValue, cast, expanded, one, reshape, transpose, unary
from .activation import activated, activated_by
from .convolution import convolution
from .gemm import gemm
from .quantization import quantized
from .recurrent import OnnxRecurrence, lstm_of


@onnx_op("FusedConv", domain="com.microsoft")
def fused_convolution(node: OnnxNode) -> OnnxValue:
    """Convolve, add another tensor, and apply an activation with its parameters in a list."""
    result, other = convolution(node), node.optional(3)
    if other is not None:
        result = result + other
    name = node.text("activation", "")
    given = node.attributes.get("activation_params", [])
    node.check(isinstance(given, list), f"attribute 'activation_params' must be numbers, found {given!r}")
    numbers = [float(number) for number in given]
    if name == "Clip":
        node.check(len(numbers) == 2, f"Clip takes two activation_params, found {numbers}")
        low, high = map(nearest_float, numbers)
        return unary(op.clip, result, min=low, max=high)
    return activated_by(node, result, name, numbers) if name else result


@onnx_op("FusedGemm", domain="com.microsoft")
def fused_gemm(node: OnnxNode) -> OnnxValue:
    name = node.text("activation", "")
    return activated(node, gemm(node), name, "activation_") if name else gemm(node)


@onnx_op("QGemm", domain="com.microsoft")
def quantized_gemm(node: OnnxNode) -> OnnxValue:
    """((A - its zero point)(B - its zero point) + C) times both scales and alpha; float32, or quantized if a scale is
    given.

    B's scale and zero point may be per column. C is INT32, in units of the product of the scales.
    """
    a, b = node.input(0, rank=2), node.input(3, rank=2)
    a = transpose(a, (1, 0)) if node.integer("transA", 0) else a
    b = transpose(b, (1, 0)) if node.integer("transB", 0) else b
    node.check(a.shape[1] == b.shape[0], f"matrices of shapes {a.shape} and {b.shape} cannot be multiplied")
    shape = (a.shape[0], b.shape[1])
    summed = one(
        DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
        a,
        shape,
        INT32,
        ATensor=a,
        AZeroPointTensor=_per_column(node, 2, 1),
        BTensor=b,
        BZeroPointTensor=_per_column(node, 5, shape[1]),
    )
    bias = node.optional(6)
    if bias is not None:
        summed = summed + expanded(bias, shape)
    scale = _per_column(node, 1, 1) * _per_column(node, 4, shape[1]) * node.number("alpha", 1.0)
    product = cast(summed, FLOAT32) * expanded(scale, shape)
    if not node.has(7):
        return product
    zero = node.optional(8)
    return quantized(product, node.input(7), zero, a.dtype if zero is None else zero.dtype)


def _per_column(node: OnnxNode, index: int, columns: int) -> OnnxValue:
    """Return a scale or zero point as {1, 1}, or {1, columns}."""
    value = node.input(index)
    node.check(
        value.size in (1, columns), f"input {index} must hold one number or {columns}, found shape {value.shape}"
    )
    return reshape(value, (1, value.size))


@onnx_op("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic_quantize_lstm(node: OnnxNode) -> list[OnnxValue]:
    """LSTM with quantized weights {D, I, 4 H} and {D, H, 4 H}.

    The inputs after LSTM's own are the scale and zero point of W, then those of R, per direction or per column.
    Products are computed in float32. (onnxruntime also quantizes the activations to 8 bits at each step.)
    """
    weights = [_weights(node, index, scale, zero) for index, scale, zero in ((1, 8, 9), (2, 10, 11))]
    return lstm_of(node, OnnxRecurrence(node, 4, ("Sigmoid", "Tanh", "Tanh"), (weights[0], weights[1])))


def _weights(node: OnnxNode, index: int, scale_index: int, zero_index: int) -> OnnxValue:
    """Return weights {D, 4 H, I} in float32."""
    packed, scale, zero = node.input(index, rank=3), node.input(scale_index), node.input(zero_index)
    directions, size, columns = packed.shape

    def spread(value: OnnxValue) -> OnnxValue:
        shape = (directions, 1, columns if value.size == directions * columns else 1)
        fits = value.size == directions * shape[2]
        node.check(fits, f"scales and zero points of shape {value.shape} do not fit weights of shape {packed.shape}")
        return expanded(cast(reshape(value, shape), FLOAT32), (directions, size, columns))

    return transpose((cast(packed, FLOAT32) - spread(zero)) * spread(scale), (0, 2, 1))
