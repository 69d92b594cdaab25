"""GridSample, which gathers and weights the elements around each sampling point, and AffineGrid, which places these.

GridSample: coordinates and weights are computed element by element on the device; each neighbour is one GATHER_ELEMENTS
over the image with flattened spatial dimensions.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from operator import add, mul
from typing import Any

import numpy as np

from dml.errors import DMLError
from dml.frontends.neighbours import neighbours

from ...dtypes import FLOAT32, INT32
from ...registry import onnx_op
from ..functions import gather_elements, matmul, part
from ..node import OnnxNode
from ..value import OnnxValue, cast, expanded, reshape


@onnx_op("GridSample", since=16)
@onnx_op("GridSample", domain="com.microsoft")
def grid_sample(node: OnnxNode) -> OnnxValue:
    """Sample an image: modes nearest, linear (bilinear), cubic (bicubic); padding by zeros, border or reflection."""
    x, grid = node.input(0, least=3), cast(node.input(1), FLOAT32)
    spatial = x.shape[2:]
    if grid.rank != x.rank or grid.shape[-1] != len(spatial):
        raise DMLError(f"a grid of shape {grid.shape} does not fit a tensor of shape {x.shape}")
    mode = node.one_of("mode", "linear", ("nearest", "linear", "cubic", "bilinear", "bicubic")).removeprefix("bi")
    padding = node.one_of("padding_mode", "zeros", ("zeros", "border", "reflection"))
    corners = bool(node.integer("align_corners", 0))
    batch, points = x.shape[0], prod(grid.shape[1:-1])
    flat = reshape(grid, (batch, points, len(spatial)))
    # The grid's coordinates begin with the last dimension.
    axes = [
        _neighbours(reshape(part(flat, 2, len(spatial) - 1 - axis, 1), (batch, points)), size, mode, padding, corners)
        for axis, size in enumerate(spatial)
    ]
    image = reshape(x, (batch, x.shape[1], prod(spatial)))
    shares = []
    for chosen in product(*axes):
        places = [place for place, _ in chosen]
        index = places[0]
        for place, size in zip(places[1:], spatial[1:], strict=True):
            index = index * size + place
        share = _gathered(image, index)
        weights = [weight for _, weight in chosen if weight is not None]
        if weights:
            share = share * cast(reshape(reduce(mul, weights), (batch, 1, points)), x.dtype)
        shares.append(share)
    return reshape(reduce(add, shares), (batch, x.shape[1], *grid.shape[1:-1]))


@onnx_op("AffineGrid", since=20)
def affine_grid(node: OnnxNode) -> OnnxValue:
    """Transform the positions of an image's elements, from -1 to 1, by matrices {N, 2, 3}, or {N, 3, 4} for volumes.

    ONNX's function, which drops dimensions of size 1, fails for one matrix of an image. The only position along an axis
    of size 1 is 0 or, with align_corners, -1.
    """
    theta, corners = node.input(0, rank=3), bool(node.integer("align_corners", 0))
    sizes = node.ints("size", 1) or []
    count = len(sizes) - 2
    if count not in (2, 3) or theta.shape != (sizes[0], count, count + 1):
        raise DMLError(f"matrices of shape {theta.shape} do not fit size {sizes}")
    batch, _, *spatial = sizes
    steps = [
        (np.arange(size) * (2 / max(1, size - 1)) - 1) if corners else (2 * np.arange(size) + 1) / size - 1
        for size in spatial
    ]
    axes = np.meshgrid(*steps, indexing="ij")
    positions = np.stack([*axes[::-1], np.ones(spatial)], -1).reshape(-1, count + 1)  # the last dimension comes first
    grid = matmul(node.constant(positions.astype(theta.dtype)), theta, transpose_b=True)
    return reshape(grid, (batch, *spatial, count))


def _gathered(image: OnnxValue, index: OnnxValue) -> OnnxValue:
    """Gather {N, C, points} from {N, C, pixels} by {N, points}."""
    shape = (*image.shape[:2], index.shape[1])
    places = expanded(reshape(cast(index, INT32), (index.shape[0], 1, index.shape[1])), shape)
    return gather_elements(image, places, 2)


def _neighbours(points: OnnxValue, *of: Any) -> list[tuple[OnnxValue, OnnxValue | None]]:
    """Return (index, weight) of each neighbour along one axis."""
    return [
        (points.with_tensor(place), None if weight is None else points.with_tensor(weight))
        for place, weight in neighbours(points.packed, *of)
    ]
