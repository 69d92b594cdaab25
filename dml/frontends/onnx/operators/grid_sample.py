"""GridSample: the neighbours of each sampling point, gathered and weighted.

Coordinates and weights are computed element by element on the device; each neighbour is one GATHER_ELEMENTS over the
image with its spatial dimensions flattened.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from operator import add, mul

from dml import enums
from dml.descriptors import elementwise as ew
from dml.descriptors.movement import DML_GATHER_ELEMENTS_OPERATOR_DESC
from dml.errors import DMLError

from ..dtypes import FLOAT32, INT32
from ..functions import part
from ..node import OnnxNode
from ..registry import onnx_op
from ..value import OnnxValue, binary, cast, expanded, maximum, minimum, one, reshape, unary, where
from .elementwise import logical_and

_CUBIC = -0.75


@onnx_op("GridSample", since=16)
def grid_sample(node: OnnxNode) -> OnnxValue:
    """Modes nearest, linear (bilinear), cubic (bicubic); padding by zeros, the border or reflection."""
    x, grid = node.input(0, least=3), cast(node.input(1), FLOAT32)
    spatial = x.shape[2:]
    if grid.rank != x.rank or grid.shape[-1] != len(spatial):
        raise DMLError(f"{node}: a grid of shape {grid.shape} does not fit a tensor of shape {x.shape}")
    mode = node.one_of("mode", "linear", ("nearest", "linear", "cubic", "bilinear", "bicubic")).removeprefix("bi")
    padding = node.one_of("padding_mode", "zeros", ("zeros", "border", "reflection"))
    corners = bool(node.integer("align_corners", 0))
    batch, points = x.shape[0], prod(grid.shape[1:-1])
    flat = reshape(grid, (batch, points, len(spatial)))
    # The grid counts dimensions from the last one on.
    axes = [
        _neighbours(reshape(part(flat, 2, len(spatial) - 1 - at, 1), (batch, points)), size, mode, padding, corners)
        for at, size in enumerate(spatial)
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


def _gathered(image: OnnxValue, index: OnnxValue) -> OnnxValue:
    """{N, C, points} of {N, C, pixels}, by {N, points}."""
    shape = (*image.shape[:2], index.shape[1])
    places = expanded(reshape(cast(index, INT32), (index.shape[0], 1, index.shape[1])), shape)
    return one(DML_GATHER_ELEMENTS_OPERATOR_DESC, image, shape, InputTensor=image, IndicesTensor=places, Axis=2)


def _neighbours(
    points: OnnxValue, size: int, mode: str, padding: str, corners: bool
) -> list[tuple[OnnxValue, OnnxValue | None]]:
    """(index, weight) of each neighbour along one axis; indices are whole numbers in float32, inside the image."""
    exact = (points + 1.0) * ((size - 1) / 2) if corners else (points + 1.0) * (size / 2) - 0.5
    if padding == "border":
        exact = exact if mode == "cubic" else _clamped(exact, size)
    elif padding == "reflection" and mode != "cubic":
        exact = _clamped(_reflected(exact, size, corners), size)
    if mode == "nearest":
        places = unary(
            ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, exact, RoundingMode=enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN
        )
        return [_inside(places, None, size, padding, corners)]
    base = unary(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC, exact)
    rest = exact - base
    weights = [1.0 - rest, rest] if mode == "linear" else _cubic(rest)
    first = 0 if mode == "linear" else -1
    return [_inside(base + float(first + at), weight, size, padding, corners) for at, weight in enumerate(weights)]


def _cubic(rest: OnnxValue) -> list[OnnxValue]:
    """Weights of the four neighbours at distances 1 + rest, rest, 1 - rest, 2 - rest."""

    def far(x: OnnxValue) -> OnnxValue:
        return ((x * _CUBIC - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    def near(x: OnnxValue) -> OnnxValue:
        return (x * (_CUBIC + 2) - (_CUBIC + 3)) * x * x + 1.0

    return [far(rest + 1.0), near(rest), near(1.0 - rest), far(2.0 - rest)]


def _clamped(x: OnnxValue, size: int) -> OnnxValue:
    return minimum(maximum(x, x.filled(0)), x.filled(size - 1))


def _inside(
    places: OnnxValue, weight: OnnxValue | None, size: int, padding: str, corners: bool
) -> tuple[OnnxValue, OnnxValue | None]:
    """A neighbour moved into the image; with zeros beyond it, one outside weighs nothing."""
    if padding == "zeros":
        inside = logical_and(places >= 0, places <= size - 1)
        kept = weight if weight is not None else places.filled(1, places.shape)
        return _clamped(places, size), where(inside, kept, kept.filled(0))
    if padding == "reflection":
        places = _reflected(places, size, corners)
    return _clamped(places, size), weight


def _reflected(x: OnnxValue, size: int, corners: bool) -> OnnxValue:
    """Mirrored at the borders, which are the outer pixels' centres or their edges, as often as it takes."""
    low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
    if not span:
        return x.filled(0, x.shape)
    shifted = unary(ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC, x - low)
    folded = binary(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC, shifted, x.filled(2 * span))
    return minimum(folded, 2 * span - folded) + low
