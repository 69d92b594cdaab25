"""Windows of an image as columns, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Numbers = Sequence[int]


def _taken(
    spatial: Numbers, window: Numbers, strides: Numbers, dilations: Numbers, start: Numbers, end: Numbers
) -> Array:
    """Return {window elements, windows}: the row-major number of the pixel under each; for padding, the number of
    pixels."""
    count = prod(spatial)
    numbers = np.pad(
        np.arange(count).reshape(tuple(spatial)), list(zip(start, end, strict=True)), constant_values=count
    )
    reach = [d * (w - 1) + 1 for d, w in zip(dilations, window, strict=True)]
    rows = []
    for tap in itertools.product(*map(range, window)):
        seen = tuple(
            slice(t * d, size - r + t * d + 1, s)
            for t, d, size, r, s in zip(tap, dilations, numbers.shape, reach, strides, strict=True)
        )
        rows.append(numbers[seen].reshape(-1))
    return np.stack(rows)


def unfold(x: Array, window: Numbers, strides: Numbers, dilations: Numbers, start: Numbers, end: Numbers) -> Array:
    """UNFOLD: {N, C x window elements, windows}; padding is zero."""
    batch, channels, *spatial = x.shape
    taken = _taken(spatial, window, strides, dilations, start, end)
    pixels = np.concatenate([x.reshape(batch, channels, -1), np.zeros((batch, channels, 1), x.dtype)], -1)
    return np.asarray(pixels[:, :, taken].reshape(batch, channels * len(taken), -1))


def fold(
    x: Array, sizes: Numbers, window: Numbers, strides: Numbers, dilations: Numbers, start: Numbers, end: Numbers
) -> Array:
    """FOLD to these sizes, {N, C, spatial...}, in float64."""
    batch, channels, *spatial = sizes
    taken = _taken(spatial, window, strides, dilations, start, end)
    result = np.zeros((prod(spatial) + 1, batch, channels))
    columns = x.astype(np.float64).reshape(batch, channels, len(taken), -1)
    np.add.at(result, taken, columns.transpose(2, 3, 0, 1))
    return np.moveaxis(result[:-1], 0, -1).reshape(tuple(sizes))
