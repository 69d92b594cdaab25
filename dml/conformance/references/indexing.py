"""Operators that gather or scatter elements by indices in tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _resolved(indices: Array, size: int) -> tuple[Array, Array]:
    """Resolve indices into a dimension of this size; negative ones count from its end. Also return which are valid.

    An invalid one becomes the nearest valid index, which dml reads there.
    """
    if indices.dtype.kind == "u":
        return np.minimum(indices, indices.dtype.type(size - 1)).astype(np.int64), indices < size
    signed = indices.astype(np.int64)
    from_start = np.where(signed < 0, signed + size, signed)
    return np.clip(from_start, 0, size - 1), (from_start >= 0) & (from_start < size)


def gather(x: Array, indices: Array, axis: int, dimensions: int, sizes: Sequence[int]) -> Array:
    """GATHER: whole slices along the axis. sizes: the output's, with leading 1s up to the dimension count."""
    used = indices.reshape(indices.shape[indices.ndim - dimensions :])
    return np.take(x, _resolved(used, x.shape[axis])[0], axis).reshape(tuple(sizes))


def gather_elements(x: Array, indices: Array, axis: int) -> Array:
    """GATHER_ELEMENTS: the index replaces each element's coordinate along the axis."""
    return np.take_along_axis(x, _resolved(indices, x.shape[axis])[0], axis)


def gather_nd(x: Array, indices: Array, batches: int = 0) -> Array:
    """GATHER_ND, GATHER_ND1. x, indices: without the leading dimensions that the operator ignores."""
    tuples = indices.shape[:-1]
    place: list[Array] = [
        np.arange(size).reshape([-1 if d == axis else 1 for d in range(len(tuples))])
        for axis, size in enumerate(x.shape[:batches])
    ]
    place += [_resolved(indices[..., k], x.shape[batches + k])[0] for k in range(indices.shape[-1])]
    return np.asarray(x[tuple(np.broadcast_arrays(*place))])


def scatter(x: Array, indices: Array, updates: Array, axis: int) -> Array:
    """SCATTER: of several updates of one element the last in row-major order is kept; invalid indices are ignored."""
    result = x.copy()
    resolved, exists = _resolved(indices, x.shape[axis])
    for place in np.argwhere(exists):
        position = tuple(place)
        result[(*position[:axis], resolved[position], *position[axis + 1 :])] = updates[position]
    return result


def scatter_nd(x: Array, indices: Array, updates: Array) -> Array:
    """SCATTER_ND: tuple by tuple. The arrays lack the leading dimensions that the operator ignores."""
    result = x.copy()
    coordinates = [_resolved(indices[..., k], x.shape[k]) for k in range(indices.shape[-1])]
    for place in np.ndindex(*indices.shape[:-1]):
        if all(exists[place] for _, exists in coordinates):
            result[tuple(resolved[place] for resolved, _ in coordinates)] = updates[place]
    return result


def one_hot(indices: Array, off: Any, on: Any, sizes: Sequence[int], axis: int) -> Array:
    """ONE_HOT: an index outside the axis is ignored."""
    resolved, exists = _resolved(indices, sizes[axis])
    shape = [1] * len(sizes)
    shape[axis] = sizes[axis]
    return np.asarray(np.where((np.arange(sizes[axis]).reshape(shape) == resolved) & exists, on, off))
