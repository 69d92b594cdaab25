"""Resize and Upsample: ONNX's attributes, versions and checks (arithmetic: ``dml.frontends.meaning.resampling``)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.errors import DMLError
from dml.frontends.meaning.resampling import ROUNDINGS, ResizedAxis, resampled
from dml.shapes import checked_axis
from dml.traced import whole

from ...dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from ...registry import onnx_op
from ..node import OnnxNode
from ..value import OnnxValue, cast, unary, within

_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)


@onnx_op("Upsample")
def upsample(node: OnnxNode) -> OnnxValue:
    """Upsample: version 1 has two scales, 7 an attribute, 9 an input; coordinates are asymmetric and rounded down."""
    x = node.input(0)
    if node.version >= 9:
        scales = [float(scale) for scale in node.numbers(1)]
    elif "scales" in node.attributes:
        scales = [float(scale) for scale in node.attributes["scales"]]
    else:
        scales = [1.0, 1.0, node.number("height_scale", 1.0), node.number("width_scale", 1.0)]
    mode = node.text("mode", "nearest").replace("bilinear", "linear")
    return resized(x, _scaled(node, x, scales), mode, "floor")


def _scaled(node: OnnxNode, x: OnnxValue, scales: list[float]) -> list[ResizedAxis]:
    """Scale every axis; coordinates are asymmetric."""
    node.check(len(scales) == x.rank, f"scales must have {x.rank} items, found {scales}")
    _check_scales(node, scales)
    return [ResizedAxis(size, _scaled_size(size, scale), scale) for size, scale in zip(x.shape, scales, strict=True)]


def _scaled_size(size: int, scale: float) -> int:
    """Return the output's size; the product is one of float32, as in ONNX and onnxruntime (5 times 2.6 is 13)."""
    return floor(size * scale if scale.is_integer() else np.float32(float(size)) * np.float32(scale))


def _check_scales(node: OnnxNode, scales: list[float]) -> None:
    node.check(all(0 < scale < inf for scale in scales), f"scales must be positive, found {scales}")


@onnx_op("Resize", since=10)
def resize_10(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    scales = [float(scale) for scale in node.numbers(1)]
    return resized(x, _scaled(node, x, scales), node.text("mode", "nearest"), "floor")


@onnx_op("Resize", since=11)
def resize(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    chosen = node.ints("axes")
    order = list(range(x.rank)) if chosen is None else [checked_axis(axis, x.rank) for axis in chosen]
    mode = node.one_of("coordinate_transformation_mode", "half_pixel", _MODES)
    roi, scales, sizes = (
        node.known(index) if node.has(index) and node.input(index).size else None for index in (1, 2, 3)
    )
    given = [array.size for array in (scales, sizes) if array is not None]
    node.check(given == [len(order)], "scales or sizes must be given, one for each axis")
    if sizes is not None:
        factors, outputs = _by_sizes(
            node, [x.shape[axis] for axis in order], [whole(size) for size in sizes.reshape(-1)]
        )
    else:
        factors = [float(scale) for scale in node.numbers(2)]
        _check_scales(node, factors)
        outputs = [_scaled_size(x.shape[axis], factor) for axis, factor in zip(order, factors, strict=True)]
    if roi is not None and mode == "tf_crop_and_resize":
        roi = roi.reshape(-1)
        node.check(roi.size == 2 * len(order), f"roi must have {2 * len(order)} items, found {roi.size}")
    axes = [ResizedAxis(size, size, 1.0) for size in x.shape]
    for index, axis in enumerate(order):
        region = (0.0, 1.0)
        if roi is not None and mode == "tf_crop_and_resize":
            region = float(roi[index]), float(roi[index + len(order)])
        axes[axis] = ResizedAxis(x.shape[axis], outputs[index], factors[index], region, mode)
    return resized(
        x,
        axes,
        node.text("mode", "nearest"),
        node.text("nearest_mode", "round_prefer_floor"),
        antialias=bool(node.integer("antialias", 0)),
        exclude_outside=bool(node.integer("exclude_outside", 0)),
        cubic=node.number("cubic_coeff_a", -0.75),
        outside=node.number("extrapolation_value", 0.0),
    )


def _by_sizes(node: OnnxNode, shape: list[int], sizes: list[int]) -> tuple[list[float], list[int]]:
    """Return scales and sizes; with the aspect ratio kept, all axes have one scale."""
    policy = node.one_of("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    node.check(all(shape), f"a tensor without elements has no scales: sizes {sizes} of axes of sizes {shape}")
    node.check(all(size > 0 for size in sizes), f"sizes must be positive, found {sizes}")
    scales = [size / own for size, own in zip(sizes, shape, strict=True)]
    if policy == "stretch":
        return scales, sizes
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(shape), [floor(own * scale + 0.5) for own in shape]


def resized(x: OnnxValue, axes: Sequence[ResizedAxis], mode: str, rounding: str, **options: Any) -> OnnxValue:
    """Resize every axis of x. options: see ``resampled``."""
    if mode not in ("nearest", "linear", "cubic"):
        raise DMLError(f"Resize: mode must be nearest, linear or cubic, found {mode!r}")
    changed = {
        index: axis for index, axis in enumerate(axes) if axis.size != axis.output or axis.mode == "tf_crop_and_resize"
    }
    if not changed:
        return x
    if mode == "nearest" and rounding not in ROUNDINGS:
        raise DMLError(f"Resize: nearest_mode {rounding!r} is not an ONNX mode")
    shape = [axis.output for axis in axes]
    if 0 in (*x.shape, *shape):
        return x.filled(0, shape)
    source = x if mode == "nearest" or x.dtype in (FLOAT16, BFLOAT16) else cast(x, FLOAT32)
    result = source.with_tensor(resampled(source.tensor, changed, mode, rounding, **options), shape)
    return _truncated(result, x.dtype) if mode != "nearest" and x.dtype.kind in "iu" else cast(result, x.dtype)


def _truncated(x: OnnxValue, dtype: DType) -> OnnxValue:
    """Round toward zero, and limit to the range of bytes (cubic weights may be negative)."""
    whole = unary(op.round_, x, rounding_mode=enums.DML_ROUNDING_MODE_TOWARD_ZERO)
    if dtype.itemsize < 4:
        limits = np.iinfo(dtype)
        whole = within(whole, limits.min, limits.max)
    return cast(whole, dtype)
