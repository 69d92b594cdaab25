"""Resize and Upsample.

DirectML resamples nearest and linear with pixel offsets. What it cannot say (cubic interpolation, regions of interest,
more than four dimensions that change) is said by its parts: nearest repeats elements, or picks slices with GATHER where
that is not all it does; linear and cubic multiply each axis by a matrix of weights, which depends on nothing but sizes.
"""

from __future__ import annotations

from math import floor, inf

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.resample import DML_RESAMPLE2_OPERATOR_DESC
from dml.errors import DMLError
from dml.frontends.meaning.resampling import (
    ROUNDINGS,
    ResizedAxis,
    nearest_elements,
    repeats,
    resample_groups,
    weights,
)
from dml.shapes import checked_axis
from dml.traced import whole

from ..dtypes import FLOAT32, Array, DType
from ..functions import gather, matmul
from ..node import OnnxNode
from ..registry import onnx_op
from ..value import OnnxValue, cast, constant, expanded, maximum, minimum, one, reshape, transpose, unary, where

#: Of DirectML's tensors.
_MOST_DIMENSIONS = 8
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
    """Version 1 has two scales, 7 an attribute, 9 an input; coordinates are asymmetric and rounded down."""
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
    """Every axis by its scale; coordinates are asymmetric."""
    node.check(len(scales) == x.rank, f"scales must have {x.rank} items, found {scales}")
    _check_scales(node, scales)
    return [
        ResizedAxis(size, floor(size * scale), scale, (0.0, 1.0), "asymmetric")
        for size, scale in zip(x.shape, scales, strict=True)
    ]


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
    roi, scales, sizes = (node.known(at) if node.has(at) and node.input(at).size else None for at in (1, 2, 3))
    given = [array.size for array in (scales, sizes) if array is not None]
    if given != [len(order)]:
        raise DMLError(f"{node}: scales or sizes must be given, one for each axis")
    if sizes is not None:
        factors, outputs = _by_sizes(
            node, [x.shape[axis] for axis in order], [whole(size) for size in sizes.reshape(-1)]
        )
    else:
        factors = [float(scale) for scale in node.numbers(2)]
        _check_scales(node, factors)
        outputs = [floor(x.shape[axis] * factor) for axis, factor in zip(order, factors, strict=True)]
    if roi is not None and mode == "tf_crop_and_resize":
        roi = roi.reshape(-1)
        node.check(roi.size == 2 * len(order), f"roi must have {2 * len(order)} items, found {roi.size}")
    axes = [ResizedAxis(size, size, 1.0, (0.0, 1.0), "asymmetric") for size in x.shape]
    for at, axis in enumerate(order):
        region = (0.0, 1.0)
        if roi is not None and mode == "tf_crop_and_resize":
            region = float(roi[at]), float(roi[at + len(order)])
        axes[axis] = ResizedAxis(x.shape[axis], outputs[at], factors[at], region, mode)
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
    """Scales and sizes; those of a kept aspect ratio are one scale for all axes."""
    policy = node.one_of("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    node.check(all(shape), f"a tensor without elements has no scales: sizes {sizes} of axes of sizes {shape}")
    node.check(all(size > 0 for size in sizes), f"sizes must be positive, found {sizes}")
    scales = [size / own for size, own in zip(sizes, shape, strict=True)]
    if policy == "stretch":
        return scales, sizes
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [scale] * len(shape), [floor(own * scale + 0.5) for own in shape]


def resized(
    x: OnnxValue,
    axes: list[ResizedAxis],
    mode: str,
    rounding: str,
    *,
    antialias: bool = False,
    exclude_outside: bool = False,
    cubic: float = -0.75,
    outside: float = 0.0,
) -> OnnxValue:
    """x with every axis resized."""
    if mode not in ("nearest", "linear", "cubic"):
        raise DMLError(f"Resize: mode must be nearest, linear or cubic, found {mode!r}")
    changed = [at for at, axis in enumerate(axes) if axis.size != axis.output or axis.mode == "tf_crop_and_resize"]
    if not changed:
        return x
    if mode != "nearest" and x.dtype.kind in "iu":  # (rounded once, not along each axis)
        made = resized(
            cast(x, FLOAT32), axes, mode, rounding,
            antialias=antialias, exclude_outside=exclude_outside, cubic=cubic, outside=outside,
        )  # fmt: skip
        return _whole(made, x.dtype)
    plain = x.dtype.itemsize < 8 and x.dtype.kind != "b" and mode == "linear"
    if plain and not antialias and not exclude_outside and all(axes[at].offsets is not None for at in changed):
        groups = resample_groups(x.rank, changed)
        if groups is not None:
            return _resampled(x, axes, changed, groups)
    if mode == "nearest":
        if rounding not in ROUNDINGS:
            raise DMLError(f"Resize: nearest_mode {rounding!r} is not ONNX's")
        times = [repeats(axis, rounding) if at in changed else 1 for at, axis in enumerate(axes)]
        if x.rank + len(changed) <= _MOST_DIMENSIONS and None not in times:
            return _repeated(x, [n or 1 for n in times])
    for at in changed:
        if mode == "nearest":
            x = _picked(x, axes[at], at, rounding, outside)
        else:
            x = _weighted(x, at, weights(axes[at], mode, antialias, exclude_outside, cubic), axes[at], outside)
    return x


def _resampled(x: OnnxValue, axes: list[ResizedAxis], changed: list[int], groups: list[list[int]]) -> OnnxValue:
    """RESAMPLE2 of the groups of dimensions."""
    view = reshape(x, [int(np.prod([x.shape[at] for at in group])) for group in groups])
    merged = [axes[group[0]] if group[0] in changed else ResizedAxis(1, 1, 1.0) for group in groups]
    sizes = [axis.output if group[0] in changed else size
             for axis, group, size in zip(merged, groups, view.shape, strict=True)]  # fmt: skip
    offsets = [axis.offsets or (0.0, 0.0) for axis in merged]
    made = one(
        DML_RESAMPLE2_OPERATOR_DESC,
        view,
        sizes,
        InputTensor=view,
        InterpolationMode=enums.DML_INTERPOLATION_MODE_LINEAR,
        RoundingDirection=enums.DML_AXIS_DIRECTION_INCREASING,
        Scales=[axis.step for axis in merged],
        InputPixelOffsets=[own for own, _ in offsets],
        OutputPixelOffsets=[other for _, other in offsets],
    )
    return reshape(made, [axis.output for axis in axes])


def _repeated(x: OnnxValue, times: list[int]) -> OnnxValue:
    """Each element so often along each axis: a copy, of the same kernel whatever the sizes are."""
    ones, split, whole = [], [], []
    for size, n in zip(x.shape, times, strict=True):
        ones += [size] if n == 1 else [size, 1]
        split += [size] if n == 1 else [size, n]
        whole.append(size * n)
    return reshape(expanded(reshape(x, ones), split), whole)


def _picked(x: OnnxValue, axis: ResizedAxis, at: int, rounding: str, outside: float) -> OnnxValue:
    """Nearest along one axis: slices by indices."""
    made = gather(x, constant(x.builder, nearest_elements(axis, rounding)), at)
    return _extrapolated(made, axis, at, outside)


def _outside(axis: ResizedAxis) -> Array:
    """Which output elements lie outside the image, where a region may reach beyond it."""
    if axis.mode != "tf_crop_and_resize":
        return np.zeros(axis.output, bool)
    exact = axis.coordinates
    return (exact < 0) | (exact > axis.size - 1)


def _extrapolated(x: OnnxValue, axis: ResizedAxis, at: int, outside: float) -> OnnxValue:
    gone = _outside(axis)
    if not gone.any():
        return x
    shape = [1] * x.rank
    shape[at] = axis.output
    return where(constant(x.builder, gone.reshape(shape)), x.filled(outside), x)


def _weighted(x: OnnxValue, at: int, matrix: Array, axis: ResizedAxis, outside: float) -> OnnxValue:
    """One axis multiplied by a matrix, in float32."""
    order = [*(i for i in range(x.rank) if i != at), at]
    moved = transpose(cast(x, FLOAT32), order)
    rows = reshape(moved, (moved.size // axis.size, axis.size))
    factor = OnnxValue(x.builder, matrix.shape, FLOAT32, array=matrix.astype(np.float32))
    made = reshape(matmul(rows, factor, transpose_b=True), (*moved.shape[:-1], axis.output))
    back = transpose(made, [order.index(i) for i in range(x.rank)])
    return cast(_extrapolated(back, axis, at, outside), x.dtype)


def _whole(x: OnnxValue, dtype: DType) -> OnnxValue:
    """Rounded toward zero, within what bytes hold (cubic weights are negative too)."""
    whole = unary(op.round_, x, rounding_mode=enums.DML_ROUNDING_MODE_TOWARD_ZERO)
    if dtype.itemsize < 4:
        limits = np.iinfo(dtype)
        whole = minimum(maximum(whole, whole.filled(limits.min)), whole.filled(limits.max))
    return cast(whole, dtype)
