"""GridSample: gathers and weights the elements around each sampling point."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from operator import add, mul

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Tensor

_CUBIC = -0.75
#: A neighbouring element of a sampling point: its index inside the image, as FLOAT32, and its weight (None: 1).
Neighbour = tuple[Tensor, Tensor | None]


def grid_sampled(x: Tensor, grid: Tensor, mode: str, padding: str, corners: bool) -> Tensor:
    """Sample {N, C, spatial...} at points {N, ..., coordinates}: {N, C, ...}.

    The coordinates, from -1 to 1, begin with that of the last dimension. Other arguments: see ``_neighbours``.
    """
    batch, channels, *spatial = x.sizes
    points, count = prod(grid.sizes[1:-1]), len(spatial)
    flat = as_type(grid, enums.DML_TENSOR_DATA_TYPE_FLOAT32).reshape(1, batch, points, count)
    axes = [
        _neighbours(places.reshape(batch, points), size, mode, padding, corners)
        for places, size in zip(op.split(flat, 3, [1] * count)[::-1], spatial, strict=True)
    ]
    image = x.reshape(1, batch, channels, prod(spatial))
    shares = []
    for chosen in product(*axes):
        index = chosen[0][0]
        for (place, _), size in zip(chosen[1:], spatial[1:], strict=True):
            index = index * size + place
        index = op.cast(index, enums.DML_TENSOR_DATA_TYPE_INT32).reshape(1, batch, 1, points)
        share = op.gather_elements(image, index.broadcast((1, batch, channels, points)), 3)
        weights = [weight for _, weight in chosen if weight is not None]
        if weights:
            weight = as_type(reduce(mul, weights), x.data_type)
            share = share * weight.reshape(1, batch, 1, points).broadcast(share.sizes)
        shares.append(share)
    return reduce(add, shares).reshape(batch, channels, *grid.sizes[1:-1])


def _neighbours(points: Tensor, size: int, mode: str, padding: str, corners: bool) -> list[Neighbour]:
    """Return the neighbours of points in FLOAT32, from -1 to 1, along an axis of this size.

    mode: nearest, linear or cubic. padding: zeros, border or reflection. corners: whether -1 and 1 are the centres of
    the outer elements, instead of their edges.
    """
    exact = (points + 1.0) * ((size - 1) / 2) if corners else (points + 1.0) * (size / 2) - 0.5
    if padding == "border" and mode != "cubic":
        exact = op.clip(exact, 0, size - 1)
    elif padding == "reflection" and mode != "cubic":
        exact = op.clip(_reflected(exact, size, corners), 0, size - 1)
    if mode == "nearest":
        return [_inside(op.round_(exact), None, size, padding, corners)]
    base = op.floor(exact)
    rest = exact - base
    weights = [1.0 - rest, rest] if mode == "linear" else _cubic(rest)
    first = 0 if mode == "linear" else -1
    return [
        _inside(base + float(first + index), weight, size, padding, corners) for index, weight in enumerate(weights)
    ]


def _cubic(rest: Tensor) -> list[Tensor]:
    """Return the weights of the four neighbours at distances 1 + rest, rest, 1 - rest, 2 - rest."""

    def far(x: Tensor) -> Tensor:
        return ((x * _CUBIC - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    def near(x: Tensor) -> Tensor:
        return (x * (_CUBIC + 2) - (_CUBIC + 3)) * x * x + 1.0

    return [far(rest + 1.0), near(rest), near(1.0 - rest), far(2.0 - rest)]


def _inside(places: Tensor, weight: Tensor | None, size: int, padding: str, corners: bool) -> Neighbour:
    """Move a neighbour into the image; with padding by zeros, one outside gets weight 0."""
    if padding == "zeros":
        inside = op.logical_and(op.greater_than(places, -0.5), op.less_than(places, size - 0.5))
        kept = op.cast(inside, enums.DML_TENSOR_DATA_TYPE_FLOAT32) if weight is None else op.if_(inside, weight, 0.0)
        return op.clip(places, 0, size - 1), kept
    if padding == "reflection":
        places = _reflected(places, size, corners)
    return op.clip(places, 0, size - 1), weight


def _reflected(x: Tensor, size: int, corners: bool) -> Tensor:
    """Reflect coordinates, repeatedly if needed, at the outer elements' centres (corners) or edges."""
    low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
    if not span:
        return x.builder.constant(np.zeros(x.sizes, np.float32))
    folded = op.modulus_floor(op.absolute(x - low), 2 * span)
    return op.minimum(folded, 2 * span - folded) + low
