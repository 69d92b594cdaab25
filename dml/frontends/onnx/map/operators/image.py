"""Image operators of ONNX's first versions, which ONNX Runtime still supports."""

from __future__ import annotations

import numpy as np

from dml.errors import DMLError

from ...registry import onnx_op
from ..functions import slice_
from ..node import OnnxNode
from ..value import OnnxValue


@onnx_op("Crop")
def crop(node: OnnxNode) -> OnnxValue:
    """Crop images. border: pixels to remove at the left, top, right and bottom. scale: alternatively, the height and
    width to keep.

    Cropping with scale begins at border's left and top.
    """
    x = node.input(0)
    border = node.ints("border") or [0, 0, 0, 0]
    if x.rank != 4 or len(border) != 4:
        raise DMLError(f"input must have rank 4 and border four numbers, found shape {x.shape} and {border}")
    left, top, right, bottom = border
    sizes = node.ints("scale") or [x.shape[2] - top - bottom, x.shape[3] - left - right]
    if len(sizes) != 2 or min(left, top, *sizes) < 0 or top + sizes[0] > x.shape[2] or left + sizes[1] > x.shape[3]:
        raise DMLError(f"border {border} and sizes {sizes} do not fit a tensor of shape {x.shape}")
    return slice_(x, (0, 0, top, left), (*x.shape[:2], *sizes))


@onnx_op("ImageScaler")
def image_scaler(node: OnnxNode) -> OnnxValue:
    """x * scale + bias, with one bias per channel."""
    x = node.input(0)
    bias = [float(number) for number in node.attributes.get("bias", [])]
    node.check(x.dtype.kind not in "iub", f"takes floating-point images, found {x.dtype}")
    if x.rank != 4 or len(bias) != x.shape[1]:
        raise DMLError(f"input must have rank 4 and a bias per channel, found shape {x.shape} and {bias}")
    return x * node.number("scale", 1.0) + node.constant(np.array(bias, x.dtype).reshape(-1, 1, 1))
