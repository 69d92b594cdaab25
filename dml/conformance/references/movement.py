"""Operators that copy, rearrange, repeat and pad elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Numbers = Sequence[int]

_MODES = {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect", "SYMMETRIC": "symmetric", "WRAP": "wrap"}


def _places(offsets: Numbers, windows: Numbers, steps: Numbers, counts: Numbers) -> tuple[Array, ...]:
    """Return the coordinates at every step of a window, from its end for a negative step."""
    lists = []
    for offset, window, step, count in zip(offsets, windows, steps, counts, strict=True):
        first = offset if step > 0 else offset + window - 1
        lists.append([first + i * step for i in range(count)])
    return np.ix_(*lists)


def slice_window(x: Array, offsets: Numbers, windows: Numbers, steps: Numbers, counts: Numbers) -> Array:
    """SLICE (whose windows end with the last copied element) and SLICE1."""
    return np.asarray(x[_places(offsets, windows, steps, counts)])


def slice_grad(grad: Array, sizes: Numbers, offsets: Numbers, windows: Numbers, steps: Numbers) -> Array:
    """SLICE_GRAD: zeros except at the elements that the slice copied."""
    result = np.zeros(tuple(sizes), grad.dtype)
    result[_places(offsets, windows, steps, grad.shape)] = grad
    return result


def split(x: Array, parts: Numbers, axis: int) -> list[Array]:
    """SPLIT into parts of these sizes along the axis."""
    return list(np.split(x, np.cumsum(parts)[:-1].tolist(), axis))


def padding(x: Array, mode: str, start: Numbers, end: Numbers, value: Any) -> Array:
    """PADDING, PADDING1. value: in the data type of x, for mode CONSTANT."""
    pairs = list(zip(start, end, strict=True))
    if mode == "CONSTANT":
        return np.pad(x, pairs, "constant", constant_values=value)
    return np.asarray(np.pad(x, pairs, _MODES[mode]))  # type: ignore[call-overload]  # mode is a plain str


def depth_to_space(x: Array, block: int, *, depth_first: bool) -> Array:
    """DEPTH_TO_SPACE. depth_first: DEPTH_COLUMN_ROW, where a block's channels are not adjacent."""
    n, channels, h, w = x.shape
    c = channels // block**2
    if depth_first:
        parts = x.reshape(n, block, block, c, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, c, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c, h * block, w * block)


def space_to_depth(x: Array, block: int, *, depth_first: bool) -> Array:
    """SPACE_TO_DEPTH, the inverse of ``depth_to_space``."""
    n, c, height, width = x.shape
    h, w = height // block, width // block
    parts = x.reshape(n, c, h, block, w, block)
    order = (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4)
    return parts.transpose(order).reshape(n, c * block**2, h, w)


def reverse_subsequences(x: Array, lengths: Array, axis: int) -> Array:
    """REVERSE_SUBSEQUENCES: reverse the first ``lengths`` elements of each line, at most all of them."""
    size = x.shape[axis]
    shape = [1] * x.ndim
    shape[axis] = size
    places = np.broadcast_to(np.arange(size).reshape(shape), x.shape)
    reversed_ = np.minimum(lengths, size).astype(np.int64) - 1 - places
    return np.take_along_axis(x, np.where(reversed_ >= 0, reversed_, places), axis)


def diagonal_matrix(sizes: Numbers, offset: int, value: Any, kind: np.dtype[Any]) -> Array:
    """DIAGONAL_MATRIX: the value where column - row equals the offset."""
    return np.asarray(np.where(_distances(sizes) == offset, kind.type(value), kind.type(0)))


def diagonal_matrix1(x: Array, value: Any, begin: int, end: int) -> Array:
    """DIAGONAL_MATRIX1: the value on diagonals from begin up to end; if end precedes begin, on all except those
    between."""
    distances = _distances(x.shape)
    from_begin, to_end = distances >= begin, distances < end
    filled = from_begin & to_end if end >= begin else from_begin | to_end
    return np.where(filled, x.dtype.type(value), x)


def _distances(sizes: Numbers) -> Array:
    rows, columns = sizes[-2:]
    return np.broadcast_to(np.arange(columns) - np.arange(rows)[:, None], tuple(sizes))


def value_scale_2d(x: Array, scale: float, bias: Sequence[float]) -> tuple[Array, Array]:
    """VALUE_SCALE_2D in float64, and the sums of the terms' magnitudes."""
    product = x.astype(np.float64) * float(np.float32(scale))
    added = np.asarray(bias, np.float32).astype(np.float64).reshape(-1, 1, 1)
    return product + added, np.abs(product) + np.abs(added)
