"""Images at other sizes, and regions of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.shapes import with_size

_LINEAR = ("linear", "linear_onnx")
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
_ROUNDINGS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


#: Elements of the output along an axis: the host makes a table of where each lies.
_MOST = 1 << 24


@dataclass(frozen=True)
class _Axis:
    """One axis to resize: scale is output over input."""

    axis: int
    size: int
    result: int
    scale: float

    def places(self, mode: str) -> npt.NDArray[np.float64]:
        """Where in the input each element of the output lies."""
        at = np.arange(self.result, dtype=np.float64)
        if mode == "align_corners":
            return at * (self.size - 1) / (self.result - 1) if self.result > 1 else at * 0
        if mode == "asymmetric":
            return at / self.scale
        if mode == "tf_half_pixel_for_nn":
            return (at + 0.5) / self.scale
        if mode == "pytorch_half_pixel" and self.result == 1:
            return at * 0
        return (at + 0.5) / self.scale - 0.5


@layer("Interpolate")
def interpolate(c: IrContext) -> IrValue:
    """Each axis by itself: nearest elements are gathered, others are products with a matrix of weights."""
    x, mode = c.tensor(0), c.layer.text("mode")
    first = c.layer.version == "opset1"
    coordinates = c.layer.text("coordinate_transformation_mode", "half_pixel")
    if first:  # (which says no more about it)
        coordinates = "align_corners" if c.layer.flag("align_corners", True) else "asymmetric"
    if mode not in ("nearest", *_LINEAR, "cubic"):
        raise c.error(f"mode {mode!r} is not supported")
    if coordinates not in _COORDINATES:
        raise c.error(f"coordinate_transformation_mode {coordinates!r} is not one of {', '.join(_COORDINATES)}")
    if c.layer.flag("antialias") or any(c.layer.integers("pads_begin") + c.layer.integers("pads_end")):
        raise c.error("antialias and padding are not supported")
    rounding = "simple" if first else c.layer.text("nearest_mode", "round_prefer_floor")
    for axis in _axes(c, x):
        if axis.result == axis.size and axis.scale == 1:
            continue
        places = axis.places(coordinates)
        if mode == "nearest":
            x = op.gather(x, _nearest(c, axis, places, rounding), axis.axis)
        else:
            cube = c.layer.number("cube_coeff", -0.75)
            x = _product(x, axis, _linear(axis, places) if mode in _LINEAR else _cubic(axis, places, cube))
    return x


def _axes(c: IrContext, x: Tensor) -> list[_Axis]:
    """The axes that are resized. Interpolate-1 has an attribute for them and sizes, Interpolate-4 sizes and scales,
    Interpolate-11 those that its mode asks for."""
    by_scales = c.layer.text("shape_calculation_mode", "sizes") == "scales"
    old = c.layer.version == "opset4"
    given = 2 if old and by_scales else 1
    last = 3 if old else 2
    axes = c.integers(last) if len(c.values) > last else c.layer.integers("axes") or list(range(x.rank))
    factors = [float(value) for value in np.ravel(c.known(given))] if by_scales else [0.0] * len(axes)
    if len(factors) != len(axes) or len(c.sizes) != x.rank or 0 in x.sizes:
        raise c.error(f"sizes {x.sizes} do not become {c.sizes} along axes {axes} with {len(factors)} factors")
    if max(c.sizes) > _MOST:
        raise c.error(f"sizes {c.sizes}: more than {_MOST} along an axis are not supported")
    made = []
    for number, factor in zip(axes, factors, strict=True):
        axis = c.axis(number, x.rank)
        size, result = x.sizes[axis], c.sizes[axis]
        made.append(_Axis(axis, size, result, factor if by_scales else result / size))
    return made


def _nearest(c: IrContext, axis: _Axis, places: npt.NDArray[np.float64], rounding: str) -> npt.NDArray[np.int32]:
    if rounding == "simple":
        rounded = np.ceil(places) if axis.scale < 1 else np.floor(places)
    elif rounding in _ROUNDINGS:
        # The reference computes in float32, where places that are whole up to a rounding count as whole
        rounded = _ROUNDINGS[rounding](places.astype(np.float32))
    else:
        raise c.error(f"nearest_mode {rounding!r} is not supported")
    return np.clip(rounded, 0, axis.size - 1).astype(np.int32)


def _linear(axis: _Axis, places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """{result, size}: the weights of each element's two neighbours; the edge goes on beyond itself."""
    at = np.clip(places, 0, axis.size - 1)
    low = np.floor(at).astype(int)
    weights = np.zeros((axis.result, axis.size))
    rows = np.arange(axis.result)
    np.add.at(weights, (rows, low), 1 - (at - low))
    np.add.at(weights, (rows, np.minimum(low + 1, axis.size - 1)), at - low)
    return weights


def _cubic(axis: _Axis, places: npt.NDArray[np.float64], a: float) -> npt.NDArray[np.float64]:
    """{result, size}: the weights of each element's four neighbours, Keys' kernel with parameter a."""
    low = np.floor(places).astype(int)
    part = places - low
    weights = np.zeros((axis.result, axis.size))
    rows = np.arange(axis.result)
    for step in range(-1, 3):
        far = np.abs(part - step)
        near = ((a + 2) * far - (a + 3)) * far * far + 1
        outer = ((far - 5) * far + 8) * far * a - 4 * a
        value = np.where(far <= 1, near, np.where(far < 2, outer, 0.0))
        np.add.at(weights, (rows, np.clip(low + step, 0, axis.size - 1)), value)
    return weights


def _product(x: Tensor, axis: _Axis, weights: npt.NDArray[np.float64]) -> Tensor:
    """The weighted sums along the axis."""
    matrix = x.builder.constant(weights, x.data_type)
    before, behind = prod(x.sizes[: axis.axis]), prod(x.sizes[axis.axis + 1 :])
    flat = x.reshape(1, before, axis.size, behind)
    whole = matrix.view((1, 1, axis.result, axis.size)).broadcast((1, before, axis.result, axis.size))
    return op.gemm(whole, flat).reshape(*with_size(x.sizes, axis.axis, axis.result))


@layer("ROIAlign")
def roi_align(c: IrContext) -> IrValue:
    x, rois, images = c.tensor(0), c.tensor(1), c.tensor(2)
    functions = {"avg": enums.DML_REDUCE_FUNCTION_AVERAGE, "max": enums.DML_REDUCE_FUNCTION_MAX}
    mode, aligned = c.layer.text("mode"), c.layer.text("aligned_mode", "asymmetric")
    if mode not in functions or aligned not in ("asymmetric", "half_pixel"):
        raise c.error(f"mode {mode!r} with aligned_mode {aligned!r} is not supported")
    ratio, scale = c.layer.integer("sampling_ratio"), c.layer.number("spatial_scale")
    uint32 = enums.DML_TENSOR_DATA_TYPE_UINT32
    if aligned == "asymmetric":  # such regions are a pixel wide at least
        corner, far = op.split(rois, 1, [2, 2])
        rois = op.join([corner, corner + op.maximum(far - corner, 1 / scale)], 1)
    else:
        rois = rois + 0.5
    return op.roi_align(
        x,
        rois,
        images if images.data_type == uint32 else op.cast(images, uint32),
        c.layer.integer("pooled_h"),
        c.layer.integer("pooled_w"),
        reduction_function=functions[mode],
        spatial_scale_x=scale,
        spatial_scale_y=scale,
        input_pixel_offset=0.5 if aligned == "half_pixel" else 0.0,
        output_pixel_offset=-0.5,
        minimum_samples_per_output=ratio or 1,
        maximum_samples_per_output=ratio or 2**32 - 1,
    )
