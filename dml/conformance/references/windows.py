"""Windows over spatial dimensions: their number, the elements under each tap, and windows of an image as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = Sequence[int]


def counts(padded: Ints, window: Ints, strides: Ints, dilations: Ints) -> list[int]:
    """Return the number of windows that fit along each dimension of a padded image."""
    return [
        (size - gap * (width - 1) - 1) // step + 1
        for size, width, step, gap in zip(padded, window, strides, dilations, strict=True)
    ]


def taps(windows: Ints, window: Ints, strides: Ints, dilations: Ints) -> Iterator[tuple[Any, ...]]:
    """Yield, for each tap of a window, its index and the index of its elements in the padded image, for all windows.

    Both begin with an ellipsis, for the dimensions before the spatial ones. windows: their number along each dimension.
    """
    for tap in np.ndindex(*window):
        along = zip(tap, dilations, windows, strides, strict=True)
        yield (..., *tap), (..., *(slice(k * d, k * d + (count - 1) * step + 1, step) for k, d, count, step in along))


def _taken(spatial: Ints, window: Ints, strides: Ints, dilations: Ints, start: Ints, end: Ints) -> Array:
    """Return {window elements, windows}: the row-major number of the pixel under each; for padding, the number of
    pixels."""
    count = prod(spatial)
    pixels = np.arange(count).reshape(tuple(spatial))
    numbers = np.pad(pixels, list(zip(start, end, strict=True)), constant_values=count)
    windows = counts(numbers.shape, window, strides, dilations)
    return np.stack([numbers[place].reshape(-1) for _, place in taps(windows, window, strides, dilations)])


def unfold(x: Array, window: Ints, strides: Ints, dilations: Ints, start: Ints, end: Ints) -> Array:
    """UNFOLD: {N, C x window elements, windows}; padding is zero."""
    batch, channels, *spatial = x.shape
    taken = _taken(spatial, window, strides, dilations, start, end)
    pixels = np.concatenate([x.reshape(batch, channels, -1), np.zeros((batch, channels, 1), x.dtype)], -1)
    return np.asarray(pixels[:, :, taken].reshape(batch, channels * len(taken), -1))


def fold(x: Array, sizes: Ints, window: Ints, strides: Ints, dilations: Ints, start: Ints, end: Ints) -> Array:
    """FOLD to these sizes, {N, C, spatial...}, in float64."""
    batch, channels, *spatial = sizes
    taken = _taken(spatial, window, strides, dilations, start, end)
    result = np.zeros((prod(spatial) + 1, batch, channels))
    columns = x.astype(np.float64).reshape(batch, channels, len(taken), -1)
    np.add.at(result, taken, columns.transpose(2, 3, 0, 1))
    return np.moveaxis(result[:-1], 0, -1).reshape(tuple(sizes))
