"""Softmax, its logarithm and hardmax over axes, in float64; softmax also of `Rounded` numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.references.rounded import Numbers, Rounded, exponential

Array = npt.NDArray[Any]


def shifted(x: Array, axes: Sequence[int]) -> Array:
    """Return x minus the largest element of its row."""
    return np.asarray(x - np.max(x, tuple(axes), keepdims=True))


def softmax(x: Numbers, axes: tuple[int, ...]) -> Numbers:
    """Return exp(x - max) / sum over all of the axes together; the rounding of the maximum cancels out."""
    largest = (x.value if isinstance(x, Rounded) else x).max(axes, keepdims=True)
    grown = exponential(x - largest)
    return grown / grown.sum(axes, keepdims=True)


def log_softmax(x: Array, axes: Sequence[int]) -> Array:
    low = shifted(x, axes)
    return np.asarray(low - np.log(np.sum(np.exp(low), tuple(axes), keepdims=True)))


def hardmax(x: Array, axes: Sequence[int]) -> Array:
    """1 at the first largest element of each row in the order of its axes, or at its first NaN."""
    order = [axis for axis in range(x.ndim) if axis not in axes] + sorted(axes)
    moved = np.transpose(x, order)
    rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    one_hot = np.zeros(rows.shape)
    np.put_along_axis(one_hot, np.argmax(rows, -1)[..., None], 1, -1)
    return np.transpose(one_hot.reshape(moved.shape), np.argsort(order))
