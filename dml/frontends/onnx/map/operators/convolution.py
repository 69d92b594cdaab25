"""Convolutions."""

from __future__ import annotations

from typing import Any

import dml.graph.operations as op
from dml.errors import DMLError
from dml.shapes import halves, transposed_sizes

from ...dtypes import INT32
from ...registry import onnx_op
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, applied, cast, reshape, transpose
from .window import auto_pad, window_of


def _channels(value: OnnxValue, rank: int) -> OnnxValue:
    """Return {C} as {1, C, 1...}, or one element as {1, 1, 1...}."""
    return reshape(value, (1, value.size, *(1,) * (rank - 2)))


def _channels_if(value: OnnxValue | None, rank: int) -> OnnxValue | None:
    return None if value is None else _channels(value, rank)


def _window(node: OnnxNode, x: OnnxValue, weight: OnnxValue) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return the result's shape, and the window as convolutions take it."""
    window = window_of(node, x.shape[2:], weight.shape[2:])
    return (x.shape[0], weight.shape[0], *window.output), {
        "strides": window.strides,
        "dilations": window.dilations,
        "start_padding": window.start,
        "end_padding": window.end,
        "groups": node.integer("group", 1),
    }


def _checked(x: OnnxValue, weight: OnnxValue, most: int) -> None:
    if x.rank != weight.rank or not x.rank >= 3:
        raise DMLError(f"X and W must have the same rank, at least 3, found {x.shape} and {weight.shape}")
    if x.rank > most:
        raise Unsupported(f"{x.rank - 2} spatial dimensions, DirectML takes at most {most - 2}")


@onnx_op("Conv")
def convolution(node: OnnxNode) -> OnnxValue:
    return _convolution(node, node.input(0), node.input(1))


@onnx_op("NhwcConv", domain="com.microsoft")
def channels_last_convolution(node: OnnxNode) -> OnnxValue:
    """Convolve; X, W and the result have their channels last."""
    return channels_last(_convolution(node, channels_first(node.input(0)), channels_first(node.input(1))))


def channels_first(x: OnnxValue) -> OnnxValue:
    """Return {N, ..., C} as {N, C, ...}."""
    return transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))


def channels_last(x: OnnxValue) -> OnnxValue:
    """Return {N, C, ...} as {N, ..., C}."""
    return transpose(x, (0, *range(2, x.rank), 1))


def _convolution(node: OnnxNode, x: OnnxValue, weight: OnnxValue) -> OnnxValue:
    _checked(x, weight, 5)
    shape, window = _window(node, x, weight)
    return applied(op.convolution, x, shape, weight, _channels_if(node.optional(2), x.rank), **window)


@onnx_op("ConvTranspose")
def convolution_transpose(node: OnnxNode) -> OnnxValue:
    return _convolution_transpose(node, node.ints("pads"), node.optional(2))


@onnx_op("ConvTransposeWithDynamicPads", domain="com.microsoft")
def convolution_transpose_with_pads(node: OnnxNode) -> OnnxValue:
    """Compute ConvTranspose with the padding as an input before the bias."""
    return _convolution_transpose(node, node.ints("pads", 2), node.optional(3))


def _convolution_transpose(node: OnnxNode, given_pads: list[int] | None, bias: OnnxValue | None) -> OnnxValue:
    x, weight = node.input(0), node.input(1)
    _checked(x, weight, 5)
    spatial = x.rank - 2
    strides, dilations = node.each("strides", spatial, 1), node.each("dilations", spatial, 1)
    extra = node.each("output_padding", spatial, 0)
    none = [0] * spatial
    full = transposed_sizes(x.shape, weight.shape, strides, dilations, none, none, extra)[2:]
    wanted = _wanted(node, x, strides)
    if wanted is not None:
        at_start = auto_pad(node) != "SAME_UPPER"
        cut = [halves(max(0, size - n), more_at_start=at_start) for size, n in zip(full, wanted, strict=True)]
        start, end = [before for before, _ in cut], [after for _, after in cut]
        # The result is enlarged at its end if it is too small.
        extra = [e + max(0, want - size) for e, size, want in zip(extra, full, wanted, strict=True)]
    else:
        pads = given_pads if given_pads and auto_pad(node) == "NOTSET" else [0] * (2 * spatial)
        node.check(len(pads) == 2 * spatial, f"pads must have {2 * spatial} items, found {pads}")
        start, end = pads[:spatial], pads[spatial:]
        wanted = [size - s - e for size, s, e in zip(full, start, end, strict=True)]
    groups = node.integer("group", 1)
    return applied(
        op.transposed_convolution,
        x,
        (x.shape[0], weight.shape[1] * groups, *wanted),
        weight,
        _channels_if(bias, x.rank),
        strides=strides,
        dilations=dilations,
        start_padding=start,
        end_padding=end,
        output_padding=extra,
        groups=groups,
    )


def _wanted(node: OnnxNode, x: OnnxValue, strides: list[int]) -> list[int] | None:
    """Return the requested spatial sizes of a transposed convolution; None if its padding determines them."""
    spatial = x.rank - 2
    given = node.ints("output_shape")
    if given is not None:
        node.check(len(given) >= spatial, f"output_shape must have {spatial} items, found {given}")
        return given[-spatial:]
    if auto_pad(node).startswith("SAME"):
        return [size * stride for size, stride in zip(x.shape[2:], strides, strict=True)]
    return None


@onnx_op("ConvInteger", since=10)
def convolution_integer(node: OnnxNode) -> OnnxValue:
    x, weight = node.input(0), node.input(1)
    _checked(x, weight, 4)
    points = [_channels_if(node.optional(index), x.rank) for index in (2, 3)]
    shape, window = _window(node, x, weight)
    return applied(op.convolution_integer, x, shape, weight, *points, dtype=INT32, **window)


@onnx_op("QLinearConv", since=10)
def qlinear_conv(node: OnnxNode) -> OnnxValue:
    return qlinear_convolution(node, node.input(0))


def qlinear_convolution(node: OnnxNode, x: OnnxValue) -> OnnxValue:
    """Convolve x with the node's other inputs."""
    weight, bias, dtype = node.input(3), node.optional(8), node.input(7).dtype
    _checked(x, weight, 4)
    scale, point, weight_scale, weight_point, new_scale, new_point = (
        _channels(node.input(index), x.rank) for index in (1, 2, 4, 5, 6, 7)
    )
    shape, window = _window(node, x, weight)
    return applied(
        op.quantized_linear_convolution,
        x,
        shape,
        scale,
        weight,
        weight_scale,
        new_scale,
        None if bias is None else cast(_channels(bias, x.rank), INT32),
        zero_point=point.tensor,
        weights_zero_point=weight_point.tensor,
        output_zero_point=new_point.tensor,
        dtype=dtype,
        **window,
    )
