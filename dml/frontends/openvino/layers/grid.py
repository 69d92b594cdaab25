"""GridSample: the neighbours of each sampling point, gathered and weighted."""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import add, mul

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor

_CUBIC = -0.75
#: The index of a neighbour, whole and inside the image, and its weight, where it has one.
_Neighbour = tuple[Tensor, Tensor | None]


@layer("GridSample")
def grid_sample(c: IrContext) -> IrValue:
    """{N, C, H, W} at {N, rows, columns, 2}, x before y, from -1 to 1."""
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
        _neighbours(places.reshape(batch, points), size, mode, padding, corners)
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


def _neighbours(points: Tensor, size: int, mode: str, padding: str, corners: bool) -> list[_Neighbour]:
    """Those along one axis."""
    exact = (points + 1.0) * ((size - 1) / 2) if corners else (points + 1.0) * (size / 2) - 0.5
    if padding == "border" and mode != "bicubic":
        exact = op.clip(exact, 0, size - 1)
    elif padding == "reflection" and mode != "bicubic":
        exact = op.clip(_reflected(exact, size, corners), 0, size - 1)
    if mode == "nearest":
        return [_inside(op.round_(exact), None, size, padding, corners)]
    base = op.floor(exact)
    rest = exact - base
    weights = [1.0 - rest, rest] if mode == "bilinear" else _cubic(rest)
    first = 0 if mode == "bilinear" else -1
    return [_inside(base + float(first + at), weight, size, padding, corners) for at, weight in enumerate(weights)]


def _cubic(rest: Tensor) -> list[Tensor]:
    """Weights of the four neighbours at distances 1 + rest, rest, 1 - rest, 2 - rest."""

    def far(x: Tensor) -> Tensor:
        return ((x * _CUBIC - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    def near(x: Tensor) -> Tensor:
        return (x * (_CUBIC + 2) - (_CUBIC + 3)) * x * x + 1.0

    return [far(rest + 1.0), near(rest), near(1.0 - rest), far(2.0 - rest)]


def _inside(places: Tensor, weight: Tensor | None, size: int, padding: str, corners: bool) -> _Neighbour:
    """A neighbour moved into the image; with zeros beyond it, one outside weighs nothing."""
    if padding == "zeros":
        inside = op.logical_and(op.greater_than(places, -0.5), op.less_than(places, size - 0.5))
        kept = op.cast(inside, enums.DML_TENSOR_DATA_TYPE_FLOAT32) if weight is None else op.if_(inside, weight, 0.0)
        return op.clip(places, 0, size - 1), kept
    if padding == "reflection":
        places = _reflected(places, size, corners)
    return op.clip(places, 0, size - 1), weight


def _reflected(x: Tensor, size: int, corners: bool) -> Tensor:
    """Mirrored at the borders, which are the outer pixels' centres or their edges, as often as it takes."""
    low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
    if not span:
        return x * 0.0
    folded = op.modulus_floor(op.absolute(x - low), 2 * span)
    return op.minimum(folded, 2 * span - folded) + low
