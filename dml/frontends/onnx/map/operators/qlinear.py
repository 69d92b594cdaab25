"""Operators on quantized tensors, each with scale and zero point, that onnxruntime's quantizer writes into models.

Intermediate numbers are FLOAT32, as in onnxruntime, and rounded once.
"""

from __future__ import annotations

import dml.graph.operations as op
from dml.descriptors.pooling import DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC
from dml.shapes import checked_axis, end_paddings

from ...dtypes import FLOAT32, DType
from ...registry import onnx_op
from ..functions import join, mean
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, cast, expanded, one, reshape, unary, where
from .activation import softmax_along, softmax_from
from .convolution import channels_first, channels_last, qlinear_convolution
from .movement import check_joins
from .quantization import dequantized, quantized
from .window import window_of


@onnx_op("QLinearAdd", domain="com.microsoft")
def qlinear_add(node: OnnxNode) -> OnnxValue:
    """Add; the sum is rounded after the result's zero point is added, as in ONNX Runtime.

    QUANTIZED_LINEAR_ADD rounds halves differently. Zero points are subtracted first, while the subtraction is exact:
    scaled zero points may be far larger than the sum.
    """
    scale = reshape(node.input(6), ())

    def part(index: int) -> OnnxValue:
        return dequantized(node.input(index), reshape(node.input(index + 1), ()) / scale, node.optional(index + 2))

    return _shifted(node, part(0) + part(3), node.input(0).dtype)


def _shifted(node: OnnxNode, steps: OnnxValue, dtype: DType) -> OnnxValue:
    """Add the zero point (input 7), then round."""
    zero = node.optional(7)
    if zero is not None:
        steps = steps + expanded(reshape(cast(zero, FLOAT32), ()), steps.shape)
    return quantized(steps, steps.filled(1), None, dtype)


@onnx_op("QLinearMul", domain="com.microsoft")
def qlinear_mul(node: OnnxNode) -> OnnxValue:
    """Multiply: the product of integers is exact; it is scaled by one number, and rounded as in ``qlinear_add``."""

    def part(index: int) -> OnnxValue:
        one_step = node.input(index + 1).filled(1)
        return dequantized(node.input(index), one_step, node.optional(index + 2))

    scales = [reshape(node.input(index), ()) for index in (1, 4, 6)]
    product = part(0) * part(3)
    factor = expanded(scales[0] * scales[1] / scales[2], product.shape)
    return _shifted(node, product * factor, node.input(0).dtype)


@onnx_op("QLinearSigmoid", domain="com.microsoft")
def qlinear_sigmoid(node: OnnxNode) -> OnnxValue:
    return _requantized(node, unary(op.sigmoid, _real(node, 0)))


@onnx_op("QLinearLeakyRelu", domain="com.microsoft")
def qlinear_leaky_relu(node: OnnxNode) -> OnnxValue:
    alpha = node.number("alpha", 0.01)
    return _requantized(node, unary(op.leaky_relu, _real(node, 0), alpha=alpha))


@onnx_op("QLinearSoftmax", domain="com.microsoft")
def qlinear_softmax(node: OnnxNode) -> OnnxValue:
    """Softmax along an axis; before ONNX's version 13 (``opset``), over all dimensions starting at the axis."""
    x = _real(node, 0)
    axis = node.axis("axis", -1, x.rank)
    node.check("opset" in node.attributes, "attribute 'opset' must be given")
    real = softmax_along(x, axis) if node.integer("opset", 0) >= 13 else softmax_from(x, axis)
    return _requantized(node, real)


def _real(node: OnnxNode, index: int) -> OnnxValue:
    return dequantized(node.input(index), node.input(index + 1), node.optional(index + 2))


def _requantized(node: OnnxNode, x: OnnxValue) -> OnnxValue:
    """Quantize to input 0's type with the scale at input 3 and the zero point at input 4."""
    return quantized(x, node.input(3), node.optional(4), node.input(0).dtype)


@onnx_op("QLinearWhere", domain="com.microsoft")
def qlinear_where(node: OnnxNode) -> OnnxValue:
    real = where(node.input(0), _real(node, 1), _real(node, 4))
    return quantized(real, node.input(7), node.optional(8), node.input(1).dtype)


@onnx_op("QLinearConcat", domain="com.microsoft")
def qlinear_concat(node: OnnxNode) -> OnnxValue:
    """Concatenate. Inputs: the result's scale and zero point, then tensor, scale and zero point of each part."""
    node.check(
        len(node.inputs) > 2 and len(node.inputs) % 3 == 2,
        f"takes 2 inputs and 3 for each part, found {len(node.inputs)}",
    )
    parts = [_real(node, index) for index in range(2, len(node.inputs), 3)]
    axis = node.axis("axis", 0, parts[0].rank)
    check_joins(node, parts, axis)
    return quantized(join(parts, axis), node.input(0), node.optional(1), node.input(2).dtype)


@onnx_op("QLinearReduceMean", domain="com.microsoft")
def qlinear_reduce_mean(node: OnnxNode) -> OnnxValue:
    x = _real(node, 0)
    axes = sorted({checked_axis(axis, x.rank) for axis in node.ints("axes") or range(x.rank)})
    return _requantized(node, mean(x, axes, bool(node.integer("keepdims", 1))))


@onnx_op("QLinearConv", domain="com.microsoft")
def qlinear_convolution_(node: OnnxNode) -> OnnxValue:
    """Convolve quantized tensors. com.microsoft's operator, which onnxruntime's optimizer writes, may have X and the
    result with channels last."""
    if not node.integer("channels_last", 0):
        return qlinear_convolution(node, node.input(0))
    return channels_last(qlinear_convolution(node, channels_first(node.input(0))))


@onnx_op("QLinearAveragePool", "QLinearGlobalAveragePool", domain="com.microsoft")
def qlinear_average_pool(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    last = bool(node.integer("channels_last", 0))
    if last:
        x = channels_first(x)
    whole = node.op == "QLinearGlobalAveragePool"
    window = window_of(node, x.shape[2:], x.shape[2:] if whole else ())
    if x.rank not in (4, 5):
        raise Unsupported(f"{x.rank - 2} spatial dimensions, DirectML takes 2 or 3")

    def parameter(index: int) -> OnnxValue | None:
        value = node.optional(index)
        return None if value is None else reshape(value, (1,) * x.rank)

    end: list[int] | tuple[int, ...] = window.end
    if window.reaches_beyond:
        end = end_paddings(x.shape, window.size, window.strides, window.dilations, window.start, window.output)
    pooled = one(
        DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
        x,
        (*x.shape[:2], *window.output),
        InputTensor=x,
        InputScaleTensor=parameter(1),
        InputZeroPointTensor=parameter(2),
        OutputScaleTensor=parameter(3),
        OutputZeroPointTensor=parameter(4),
        Strides=window.strides,
        WindowSize=window.size,
        StartPadding=window.start,
        EndPadding=end,
        Dilations=window.dilations,
        IncludePadding=bool(node.integer("count_include_pad", 0)),
    )
    return channels_last(pooled) if last else pooled
