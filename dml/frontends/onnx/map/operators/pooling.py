"""Pooling. One-dimensional tensors become two-dimensional."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.pooling import DML_MAX_UNPOOLING_OPERATOR_DESC, DML_ROI_POOLING_OPERATOR_DESC
from dml.shapes import covered_size
from dml.tensors import DML_SIZE_2D
from dml.traced import whole

from ...dtypes import INT64, UINT32
from ...registry import onnx_op
from .. import folds
from ..functions import join, mean, part, reduce
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, Operation, applied, binary, cast, maximum, one, reshape
from .convolution import channels_first, channels_last
from .movement import padded
from .window import Window, window_of


def _planar(x: OnnxValue, window: Window) -> tuple[OnnxValue, dict[str, Any]]:
    """Return the input with two or three spatial dimensions, and the window for it, as pooling operations take it."""
    if not 3 <= x.rank <= 5:
        raise Unsupported(f"{x.rank - 2} spatial dimensions, DirectML takes at most 3")
    flat = x.rank == 3
    fields: dict[str, Any] = {
        "window": window.size,
        "strides": window.strides,
        "start_padding": window.start,
        "end_padding": window.end,
        "dilations": window.dilations,
    }
    if window.reaches_beyond:
        fields["output_sizes"] = window.output
    if flat:
        fields = {name: [0 if name.endswith("padding") else 1, *items] for name, items in fields.items()}
        x = reshape(x, (*x.shape[:2], 1, x.shape[2]))
    return x, fields


def _sizes(x: OnnxValue, window: Window) -> tuple[int, ...]:
    """Return the output's sizes with as many dimensions as ``_planar`` returns."""
    output = [1, *window.output] if len(window.output) == 1 else window.output
    return (*x.shape[:2], *output)


def _pooled(function: Operation, x: OnnxValue, window: Window, **attributes: Any) -> OnnxValue:
    view, fields = _planar(x, window)
    pooled = applied(function, view, _sizes(x, window), **fields, **attributes)
    return reshape(pooled, (*x.shape[:2], *window.output))


@onnx_op("AveragePool")
def average_pool(node: OnnxNode) -> OnnxValue:
    x, counted = node.input(0), bool(node.integer("count_include_pad", 0))
    return _pooled(op.average_pooling, x, window_of(node, x.shape[2:]), include_padding=counted)


@onnx_op("LpPool")
def lp_pool(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return _pooled(op.lp_pooling, x, window_of(node, x.shape[2:]), p=node.integer("p", 2))


@onnx_op("MaxPool")
def max_pool(node: OnnxNode) -> list[OnnxValue | None]:
    """Pool, and return indices into the flattened input; within a channel they are row-major, or column-major with
    storage_order 1."""
    return _max_pool(node, node.input(0))


@onnx_op("NhwcMaxPool", domain="com.microsoft")
def channels_last_max_pool(node: OnnxNode) -> OnnxValue:
    """Max-pool 8-bit tensors with the channels last."""
    (pooled, _) = _max_pool(node, channels_first(node.input(0, least=3)))
    assert pooled is not None
    return channels_last(pooled)


def _max_pool(node: OnnxNode, x: OnnxValue) -> list[OnnxValue | None]:
    window = window_of(node, x.shape[2:])
    if not node.wants(1):
        return [_pooled(op.max_pooling, x, window), None]
    view, fields = _planar(x, window)
    sizes, shape = _sizes(x, window), (*x.shape[:2], *window.output)
    if 0 in shape:
        return [x.filled(0, shape), x.filled(0, shape, INT64)]
    pooled, chosen = op.max_pooling_with_indices(view.tensor, **fields)
    indices = x.with_tensor(chosen, sizes, UINT32)
    if node.integer("storage_order", 0):
        indices = _column_major(indices, x.shape[2:])
    return [reshape(x.with_tensor(pooled, sizes), shape), reshape(cast(indices, INT64), shape)]


def _column_major(indices: OnnxValue, spatial: tuple[int, ...]) -> OnnxValue:
    """Convert indices into {N, C, spatial...} so that the first spatial dimension varies fastest."""

    def remainder(value: OnnxValue, size: int) -> OnnxValue:
        return binary(op.modulus_truncate, value, value.filled(size))

    within = remainder(indices, prod(spatial))
    result = indices - within
    for axis, size in enumerate(spatial):
        coordinate = remainder(within / prod(spatial[axis + 1 :]), size)
        result = result + coordinate * prod(spatial[:axis])
    return result


@onnx_op("GlobalAveragePool")
def global_average_pool(node: OnnxNode) -> OnnxValue:
    x = node.input(0, least=3)
    return mean(x, range(2, x.rank))


@onnx_op("GlobalMaxPool", fold=folds.NEVER)
def global_max_pool(node: OnnxNode) -> OnnxValue:
    x = node.input(0, least=3)
    return reduce(x, enums.DML_REDUCE_FUNCTION_MAX, range(2, x.rank))


@onnx_op("GlobalLpPool")
def global_lp_pool(node: OnnxNode) -> OnnxValue:
    x = node.input(0, least=3)
    view = reshape(x, (*x.shape[:2], 1, prod(x.shape[2:])))
    pooled = applied(op.lp_pooling, view, (*x.shape[:2], 1, 1), (1, view.shape[3]), p=node.integer("p", 2))
    return reshape(pooled, (*x.shape[:2], *(1,) * (x.rank - 2)))


@onnx_op("MaxUnpool", since=9)
def max_unpool(node: OnnxNode) -> OnnxValue:
    x, indices = node.input(0, least=3), node.input(1)
    rank = x.rank - 2
    kernel, strides = node.each("kernel_shape", rank, 1), node.each("strides", rank, 1)
    pads = node.each("pads", 2 * rank, 0)
    shape = [*x.shape[:2]]
    for axis in range(rank):
        shape.append(covered_size(x.shape[2 + axis], kernel[axis], strides[axis]) - pads[axis] - pads[axis + rank])
    given = node.known(2)
    plain = tuple(shape)
    if given is not None:
        shape = [whole(size) for size in given.reshape(-1)]
        node.check(len(shape) == x.rank, f"output_shape must have {x.rank} items, found {shape}")
    if x.rank != 4:
        raise Unsupported(f"{x.rank - 2} spatial dimensions, DirectML takes 2")
    index = cast(indices, UINT32)
    result = one(DML_MAX_UNPOOLING_OPERATOR_DESC, x, plain, InputTensor=x, IndicesTensor=index)
    if tuple(shape) == plain:
        return result
    # ONNX's indices address the output without output_shape; output_shape only appends zeros at the ends.
    return padded(result, [0] * 4, [size - own for size, own in zip(shape, plain, strict=True)])


@onnx_op("MaxRoiPool")
def max_roi_pool(node: OnnxNode) -> OnnxValue:
    x, rois = node.input(0, rank=4), node.input(1, rank=2)
    height, width = node.each("pooled_shape", 2, 1)
    return one(
        DML_ROI_POOLING_OPERATOR_DESC,
        x,
        (rois.shape[0], x.shape[1], height, width),
        InputTensor=x,
        ROITensor=reshape(rois, (1, 1, *rois.shape)),
        SpatialScale=node.number("spatial_scale", 1.0),
        PooledSize=DML_SIZE_2D(width, height),
    )


@onnx_op("RoiAlign", since=10)
def roi_align(node: OnnxNode) -> OnnxValue:
    """Pool regions. From version 16 on, half_pixel shifts them by half a pixel; otherwise they are at least a pixel
    wide.

    The maximum is over interpolated samples, as in ONNX's text and DirectML's reference; ONNX's reference
    implementation takes the maximum over each neighbour's weighted part (onnx issue 4764).
    """
    x, rois, batch = node.input(0, rank=4), node.input(1, rank=2), node.input(2, rank=1)
    node.check(rois.shape[1] == 4, f"rois must have four columns, found shape {rois.shape}")
    modes = ("half_pixel", "output_half_pixel")
    half = node.version >= 16 and node.one_of("coordinate_transformation_mode", "half_pixel", modes) == "half_pixel"
    scale = node.number("spatial_scale", 1.0)
    node.check(scale > 0, f"attribute 'spatial_scale' must be positive, found {scale}")
    if not half:
        corner, size = part(rois, 1, 0, 2), part(rois, 1, 2, 2) - part(rois, 1, 0, 2)
        rois = join([corner, corner + maximum(size, size.filled(1.0 / scale))], 1)
    samples = node.integer("sampling_ratio", 0)
    mode = node.one_of("mode", "avg", ("avg", "max"))
    height, width = node.integer("output_height", 1), node.integer("output_width", 1)
    return applied(
        op.roi_align,
        x,
        (rois.shape[0], x.shape[1], height, width),
        reshape(rois, (1, 1, *rois.shape)),
        reshape(cast(batch, UINT32), (1, 1, 1, batch.size)),
        height,
        width,
        reduction_function=enums.DML_REDUCE_FUNCTION_AVERAGE if mode == "avg" else enums.DML_REDUCE_FUNCTION_MAX,
        spatial_scale_x=scale,
        spatial_scale_y=scale,
        input_pixel_offset=0.5 if half else 0.0,
        minimum_samples_per_output=samples or 1,
        maximum_samples_per_output=samples or np.iinfo(np.uint32).max,
    )
