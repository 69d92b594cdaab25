"""GridSample, and AffineGrid, which places its points (arithmetic: ``dml.frontends.meaning.grid``)."""

from __future__ import annotations

import numpy as np

from dml.errors import DMLError
from dml.frontends.meaning.grid import grid_sampled

from ...dtypes import FLOAT32
from ...registry import onnx_op
from ..functions import matmul
from ..node import OnnxNode
from ..value import OnnxValue, applied, cast, reshape


@onnx_op("GridSample", since=16)
@onnx_op("GridSample", domain="com.microsoft")
def grid_sample(node: OnnxNode) -> OnnxValue:
    """Sample an image: modes nearest, linear (bilinear), cubic (bicubic); padding by zeros, border or reflection."""
    x, grid = node.input(0, least=3), cast(node.input(1), FLOAT32)
    spatial = x.shape[2:]
    if (grid.rank, grid.shape[:1], grid.shape[-1:]) != (x.rank, x.shape[:1], (len(spatial),)):
        raise DMLError(f"a grid of shape {grid.shape} does not fit a tensor of shape {x.shape}")
    mode = node.one_of("mode", "linear", ("nearest", "linear", "cubic", "bilinear", "bicubic")).removeprefix("bi")
    padding = node.one_of("padding_mode", "zeros", ("zeros", "border", "reflection"))
    corners = bool(node.integer("align_corners", 0))
    return applied(grid_sampled, x, (*x.shape[:2], *grid.shape[1:-1]), grid, mode, padding, corners)


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
