"""Conversion between data types, exact or rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def cast(x: Array, kind: np.dtype[Any]) -> Array:
    """CAST: to floats rounded to nearest even, from floats to integers toward zero and saturating, integers wrap.

    NaN becomes the integer 0.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if kind.kind == "f":
            # Through float64, which rounds only integers far beyond FLOAT16's range.
            return np.asarray((x.astype(np.float64) if kind == np.float16 else x).astype(kind))
        if x.dtype.kind in "iu":
            return x.astype(kind)
        limits = np.iinfo(kind)
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        # The bounds as float64: the upper one, exclusive, is a power of two, which float64 represents.
        below, above = whole < float(limits.min), whole >= float(limits.max) + (1.0 if limits.bits < 64 else 0.0)
        inside = np.where(below | above, 0.0, whole).astype(kind)
        return np.where(below, kind.type(limits.min), np.where(above, kind.type(limits.max), inside))


def scalar(value: float, kind: np.dtype[Any]) -> Any:
    """Convert a FLOAT attribute to a tensor's data type."""
    return cast(np.array([np.float32(value)]), kind)[0]


def sequence(start: Any, delta: Any, sizes: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """FILL_VALUE_SEQUENCE: start + i * delta in row-major order; float64 for floats, else wrapping in the type."""
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    if kind.kind == "f":
        return np.asarray(float(start) + numbers * float(delta))
    span = 1 << 64
    with np.errstate(over="ignore"):
        exact = np.uint64(int(start) % span) + numbers.astype(np.uint64) * np.uint64(int(delta) % span)
    return exact.astype(kind)
