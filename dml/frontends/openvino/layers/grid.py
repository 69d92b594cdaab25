"""GridSample: gathers and weights the pixels around each sampling point."""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import add, mul

import dml.graph.operations as op
from dml import enums
from dml.frontends.neighbours import neighbours
from dml.frontends.openvino.convert import IrContext, IrValue, layer


@layer("GridSample")
def grid_sample(c: IrContext) -> IrValue:
    """Sample an image {N, C, H, W} at points {N, rows, columns, 2}: x before y, from -1 to 1."""
    x, grid = c.tensor(0), c.tensor(1)
    mode, padding = c.layer.text("mode", "bilinear"), c.layer.text("padding_mode", "zeros")
    if mode not in ("nearest", "bilinear", "bicubic") or padding not in ("zeros", "border", "reflection"):
        raise c.error(f"mode {mode!r} with padding_mode {padding!r} is not supported")
    corners = c.layer.flag("align_corners")
    float32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
    grid = grid if grid.data_type == float32 else op.cast(grid, float32)
    batch, channels, *spatial = x.sizes
    points = grid.sizes[1] * grid.sizes[2]
    columns, rows = op.split(grid.reshape(1, batch, points, 2), 3, [1, 1])
    axes = [
        neighbours(places.reshape(batch, points), size, mode.removeprefix("bi"), padding, corners)
        for places, size in zip((rows, columns), spatial, strict=True)
    ]
    image = x.reshape(1, batch, channels, spatial[0] * spatial[1])
    shares = []
    for (row, row_weight), (column, column_weight) in product(*axes):
        index = op.cast(row * spatial[1] + column, enums.DML_TENSOR_DATA_TYPE_INT32)
        index = index.reshape(1, batch, 1, points).broadcast((1, batch, channels, points))
        share = op.gather_elements(image, index, 3)
        weights = [weight for weight in (row_weight, column_weight) if weight is not None]
        if weights:
            weight = reduce(mul, weights)
            weight = weight if x.data_type == float32 else op.cast(weight, x.data_type)
            share = share * weight.reshape(1, batch, 1, points).broadcast(share.sizes)
        shares.append(share)
    return reduce(add, shares).reshape(*c.sizes)
