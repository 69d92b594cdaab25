"""Images resized, and regions of them resampled."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning.casts import as_type
from dml.frontends.meaning.resampling import LONGEST, ROUNDINGS, ResizedAxis, nearest_elements, resampled
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import interpolated_axes, interpolated_pads
from dml.graph.builder import Tensor
from dml.tensors import numpy_dtype

#: Mode -> (kernel, whether it antialiases). "linear" antialiases if the attribute is set.
_WEIGHED = {
    "linear": ("linear", False),
    "linear_onnx": ("linear", False),
    "cubic": ("cubic", False),
    "bilinear_pillow": ("linear", True),
    "bicubic_pillow": ("cubic", True),
}
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")


@layer("Interpolate")
def interpolate(c: IrContext) -> IrValue:
    """Resize an image: linear modes by RESAMPLE, nearest ones by GATHER, others by a matrix product for each axis."""
    x, mode = c.tensor(0), c.layer.text("mode")
    first = c.layer.version == "opset1"
    coordinates = c.layer.text("coordinate_transformation_mode", "half_pixel")
    if first:  # in Interpolate-1 this attribute alone chooses the coordinates
        coordinates = "align_corners" if c.layer.flag("align_corners", True) else "asymmetric"
    c.check(mode in ("nearest", *_WEIGHED), f"mode {mode!r} is not supported")
    if coordinates not in _COORDINATES:
        raise c.error(f"coordinate_transformation_mode {coordinates!r} is not one of {', '.join(_COORDINATES)}")
    kernel, antialias = _WEIGHED.get(mode, ("nearest", False))
    if antialias:  # Pillow's coordinates
        coordinates = "half_pixel"
    x = _padded(c, x)
    axes = _axes(c, x, coordinates)
    if mode == "nearest":
        rounding = "simple" if first else c.layer.text("nearest_mode", "round_prefer_floor")
        for dimension, axis in axes.items():
            x = op.gather(x, _nearest(c, axis, rounding), dimension)
        return x
    if c.layer.flag("antialias") and mode == "linear" and any(axis.scale < 1 for axis in axes.values()):
        if any(axis.scale > 1 for axis in axes.values()):
            raise c.error("antialias is not supported if one axis grows and another shrinks")
        antialias = True
    # integers are rounded once, after the last axis
    whole = numpy_dtype(x.data_type).kind in "iu"
    result = op.cast(x, enums.DML_TENSOR_DATA_TYPE_FLOAT32) if whole else x
    cube = -0.5 if mode == "bicubic_pillow" else c.layer.number("cube_coeff", -0.75)
    result = resampled(result, axes, kernel, antialias=antialias, exclude_outside=antialias, cubic=cube)
    return _whole(result, x.data_type) if whole else result


def _whole(x: Tensor, data_type: enums.DML_TENSOR_DATA_TYPE) -> Tensor:
    """Round, and limit to the data type's range if it is narrow (cubic weights may be negative)."""
    dtype = numpy_dtype(data_type)
    if dtype.itemsize < 4:
        limits = np.iinfo(dtype)
        x = op.clip(x, limits.min, limits.max)
    return op.cast(op.round_(x), data_type)


def _padded(c: IrContext, x: Tensor) -> Tensor:
    """Pad x with zeros."""
    begin, end = interpolated_pads(c, x.rank)
    return op.padding(x, begin, end) if any(begin + end) else x


def _axes(c: IrContext, x: Tensor, coordinates: str) -> dict[int, ResizedAxis]:
    """Return the axes that change, in order."""
    axes, by_scales, given = interpolated_axes(c, x.rank)
    factors = [float(value) for value in np.ravel(c.known(given))] if by_scales else [0.0] * len(axes)
    if len(factors) != len(axes) or len(c.sizes) != x.rank or 0 in (*x.sizes, *c.sizes):
        raise c.error(f"sizes {x.sizes} do not become {c.sizes} along axes {axes} with {len(factors)} factors")
    c.check(max(c.sizes) <= LONGEST, f"sizes {c.sizes}: more than {LONGEST} along an axis are not supported")
    axes_by_dimension = {}
    for number, factor in zip(axes, factors, strict=True):
        dimension = c.axis(number, x.rank)
        size, result = x.sizes[dimension], c.sizes[dimension]
        # align_corners uses the sizes even where scales are given. In OpenVINO's plugins an axis that keeps its size
        # is not resampled, regardless of its factor
        scale = factor if by_scales and coordinates != "align_corners" else result / size
        if size != result:
            axes_by_dimension[dimension] = ResizedAxis(size, result, scale, mode=coordinates)
    return dict(sorted(axes_by_dimension.items()))


def _nearest(c: IrContext, axis: ResizedAxis, rounding: str) -> npt.NDArray[np.int32]:
    if rounding == "simple":
        rounding = "ceil" if axis.scale < 1 else "floor"
    c.check(rounding in ROUNDINGS, f"nearest_mode {rounding!r} is not supported")
    return nearest_elements(axis, rounding).astype(np.int32)


@layer("ROIAlign")
def roi_align(c: IrContext) -> IrValue:
    x, rois, images = c.tensor(0), c.tensor(1), c.tensor(2)
    functions = {"avg": enums.DML_REDUCE_FUNCTION_AVERAGE, "max": enums.DML_REDUCE_FUNCTION_MAX}
    mode, aligned = c.layer.text("mode"), c.layer.text("aligned_mode", "asymmetric")
    if mode not in functions or aligned not in ("asymmetric", "half_pixel", "half_pixel_for_nn"):
        raise c.error(f"mode {mode!r} with aligned_mode {aligned!r} is not supported")
    ratio, scale = c.layer.integer("sampling_ratio"), c.layer.number("spatial_scale")
    if aligned == "asymmetric":  # such regions are at least one pixel wide
        corner, far = op.split(rois, 1, [2, 2])
        rois = op.join([corner, corner + op.maximum(far - corner, 1 / scale)], 1)
    elif aligned == "half_pixel":
        rois = rois + 0.5
    found = op.roi_align(
        x,
        rois,
        as_type(images, enums.DML_TENSOR_DATA_TYPE_UINT32),
        c.layer.integer("pooled_h"),
        c.layer.integer("pooled_w"),
        reduction_function=functions[mode],
        spatial_scale_x=scale,
        spatial_scale_y=scale,
        input_pixel_offset=0.0 if aligned == "asymmetric" else 0.5,
        output_pixel_offset=-0.5,
        minimum_samples_per_output=ratio or 1,
        maximum_samples_per_output=ratio or 2**32 - 1,
    )
    return op.maximum(found, 0.0) if mode == "max" else found  # OpenVINO's maximum includes 0
