"""REDUCE, ARGMIN and ARGMAX in float64 (or exact, wrapping integers)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def reduce(function: str, x: Array, axes: Sequence[int]) -> Array:
    """One of the ten functions that give values. Integers wrap in their own type; floats come back as float64."""
    axis = tuple(axes)
    if x.dtype.kind in "iu":
        # NumPy would widen small types: the sums are kept in the type.
        kind = x.dtype
        with np.errstate(over="ignore"):
            x = {"L1": np.abs, "SUM_SQUARE": np.square}.get(function, np.asarray)(x)
            if function == "MULTIPLY":
                return np.multiply.reduce(x, axis=axis, dtype=kind, keepdims=True)
            if function in ("MIN", "MAX"):
                return getattr(np, function.lower())(x, axis=axis, keepdims=True)
            return np.add.reduce(x, axis=axis, dtype=kind, keepdims=True)
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        if function == "AVERAGE":
            return np.mean(x, axis=axis, keepdims=True)
        if function == "L1":
            return np.sum(np.abs(x), axis=axis, keepdims=True)
        if function == "L2":
            return np.sqrt(np.sum(x * x, axis=axis, keepdims=True))
        if function == "LOG_SUM":
            return np.log(np.sum(x, axis=axis, keepdims=True))
        if function == "LOG_SUM_EXP":
            return np.logaddexp.reduce(x, axis=axis, keepdims=True) if axis else x
        if function == "SUM_SQUARE":
            return np.sum(x * x, axis=axis, keepdims=True)
        if function == "MULTIPLY":
            return np.prod(x, axis=axis, keepdims=True)
        return getattr(np, function.lower())(x, axis=axis, keepdims=True)


def arg(largest: bool, x: Array, axes: Sequence[int], last: bool = False) -> Array:
    """The row-major index among the axes of the largest or smallest element; NaN wins."""
    axes = sorted(axes)
    kept = [d for d in range(x.ndim) if d not in axes]
    flat = np.transpose(x, [*kept, *axes]).reshape(*(x.shape[d] for d in kept), -1)
    if last:
        flat = flat[..., ::-1]
    found = (np.argmax if largest else np.argmin)(flat, axis=-1)
    if last:
        found = flat.shape[-1] - 1 - found
    return found.reshape([1 if d in axes else size for d, size in enumerate(x.shape)])
