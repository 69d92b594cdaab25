"""Reductions, running sums and products, selections along axes: in float64, or exact in wrapping integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def reduce(function: str, x: Array, axes: Sequence[int]) -> Array:
    """REDUCE, for its ten functions that return values. Integers wrap in their own type; floats are returned as
    float64."""
    with np.errstate(all="ignore"):
        found = (
            _INTEGERS[function](x, tuple(axes)) if x.dtype.kind in "iu" else _reduce_floats(function, x, tuple(axes))
        )
    return np.asarray(found)


#: Sums in the input's type; NumPy would widen it.
_INTEGERS: dict[str, Callable[[Array, tuple[int, ...]], Array]] = {
    "L1": lambda x, axis: np.add.reduce(np.abs(x), axis=axis, dtype=x.dtype, keepdims=True),
    "MAX": lambda x, axis: np.max(x, axis=axis, keepdims=True),
    "MIN": lambda x, axis: np.min(x, axis=axis, keepdims=True),
    "MULTIPLY": lambda x, axis: np.multiply.reduce(x, axis=axis, dtype=x.dtype, keepdims=True),
    "SUM": lambda x, axis: np.add.reduce(x, axis=axis, dtype=x.dtype, keepdims=True),
    "SUM_SQUARE": lambda x, axis: np.add.reduce(np.square(x), axis=axis, dtype=x.dtype, keepdims=True),
}


def _reduce_floats(function: str, x: Array, axis: tuple[int, ...]) -> Array:
    x = x.astype(np.float64)
    if function == "LOG_SUM_EXP":
        return np.logaddexp.reduce(x, axis=axis, keepdims=True) if axis else x
    if function in ("L2", "SUM_SQUARE"):
        x = np.square(x)
    elif function == "L1":
        x = np.abs(x)
    combine: Any = {"AVERAGE": np.mean, "MULTIPLY": np.prod, "MAX": np.max, "MIN": np.min}.get(function, np.sum)
    found: Array = combine(x, axis=axis, keepdims=True)
    if function == "LOG_SUM":
        return np.asarray(np.log(found))
    return np.sqrt(found) if function == "L2" else found


def arg(largest: bool, x: Array, axes: Sequence[int], last: bool = False) -> Array:
    """ARGMIN, ARGMAX: row-major index of the largest or smallest element among the axes; NaN wins."""
    axes = sorted(axes)
    kept = [d for d in range(x.ndim) if d not in axes]
    flat = np.transpose(x, [*kept, *axes]).reshape(*(x.shape[d] for d in kept), -1)
    if last:
        flat = flat[..., ::-1]
    found = (np.argmax if largest else np.argmin)(flat, axis=-1)
    if last:
        found = flat.shape[-1] - 1 - found
    return np.asarray(found.reshape([1 if d in axes else size for d, size in enumerate(x.shape)]))


def cumulative(x: Array, axis: int, *, product: bool, backwards: bool, exclusive: bool) -> Array:
    """CUMULATIVE_SUMMATION, CUMULATIVE_PRODUCT. Integers wrap in their own type; floats are returned as float64."""
    kind = x.dtype if x.dtype.kind in "iu" else np.dtype(np.float64)
    lines = np.moveaxis(x, axis, -1).astype(kind)
    if backwards:
        lines = lines[..., ::-1]
    if exclusive:
        lines = np.concatenate([np.full((*lines.shape[:-1], 1), int(product), kind), lines[..., :-1]], -1)
    with np.errstate(all="ignore"):
        found = (np.cumprod if product else np.cumsum)(lines, -1, dtype=kind)
    return np.moveaxis(found[..., ::-1] if backwards else found, -1, axis)


def top_k(x: Array, axis: int, k: int, *, largest: bool) -> tuple[Array, Array]:
    """TOP_K, TOP_K1: values and indices. NaN is the largest value; of equal values the lowest index is first."""
    if largest:
        # Stable descending order: the ascending order of the reversed line, with order and indices reversed.
        turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(turned, axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    places = np.take(order, range(k), axis)
    return np.take_along_axis(x, places, axis), places


def nonzero_coordinates(x: Array, columns: int) -> tuple[Array, Array]:
    """NONZERO_COORDINATES: the defined rows, with the last ``columns`` coordinates, and the number of output elements
    after them."""
    found = np.argwhere(x != 0)[:, x.ndim - columns :]
    return found, np.arange(x.size)[:, None].repeat(columns, 1) >= len(found)
