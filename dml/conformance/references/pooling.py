"""Pooling in float64 NumPy, tap by tap. Tensors are {N, C, spatial...}; keywords describe the window.

window, strides, start, end (padding), dilations: one number each per spatial dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.conformance.references import windows
from dml.conformance.references.rounded import Numbers, each, wide
from dml.conformance.references.windows import Array, Ints


def out_sizes(sizes: Ints, window: Ints, strides: Ints, start: Ints, end: Ints, dilations: Ints) -> tuple[int, ...]:
    """Return the sizes of {N, C, ...} after pooling."""
    padded = [size + s + e for size, s, e in zip(sizes[2:], start, end, strict=True)]
    return (*sizes[:2], *windows.counts(padded, window, strides, dilations))


def taps(x: Array, fill: Any, *, window: Ints, strides: Ints, start: Ints, end: Ints, dilations: Ints) -> Array:
    """Return {N, C, outputs..., taps}: the elements under each window, ``fill`` for padding."""
    outputs = out_sizes(x.shape, window, strides, start, end, dilations)[2:]
    padded = np.pad(x, [(0, 0), (0, 0), *zip(start, end, strict=True)], constant_values=fill)
    return np.stack([padded[place] for _, place in windows.taps(outputs, window, strides, dilations)], axis=-1)


def _inside(sizes: Ints, window: dict[str, Any]) -> Array:
    """Return {1, 1, outputs..., taps}: whether a tap is not padding."""
    return taps(np.ones((1, 1, *sizes[2:]), bool), False, **window)


def _counts(sizes: Ints, include_padding: bool, window: dict[str, Any]) -> Array:
    """Return {1, 1, outputs...}: the divisor of each window's mean; 1 for a window that has only padding."""
    inside = _inside(sizes, window)
    return np.maximum(inside.shape[-1] if include_padding else inside.sum(-1), np.ones(inside.shape[:-1]))


def average(x: Numbers, *, include_padding: bool, **window: Any) -> Numbers:
    found = each(wide(x), lambda v: taps(v, 0.0, **window))
    return found.sum(-1) / _counts(x.shape, include_padding, window)


def lp(x: Array, *, p: int, **window: Any) -> Array:
    magnitudes = np.abs(taps(x.astype(np.longdouble), 0, **window))
    return np.asarray((magnitudes**p).sum(-1) ** (1 / np.longdouble(p)), np.float64)


def maximum(x: Array, **window: Any) -> tuple[Array, Array]:
    """Return the maxima in x's type and the first index of each in the flattened x; -1 for padding only."""
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    elements = taps(x, lowest, **window)
    inside = np.broadcast_to(_inside(x.shape, window), elements.shape)
    first = elements.argmax(-1)[..., None]  # NumPy's argmax: NaN is the largest; the first of equal elements
    padding_won = ~np.take_along_axis(inside, first, -1)
    # all elements are the lowest number: the first one counts
    first = np.where(padding_won, inside.argmax(-1)[..., None], first)
    flat = taps(np.arange(x.size).reshape(x.shape), -1, **window)
    return np.take_along_axis(elements, first, -1)[..., 0], np.take_along_axis(flat, first, -1)[..., 0]


def average_grad(gradient: Array, sizes: Ints, *, include_padding: bool, **window: Any) -> Array:
    shares = np.asarray(gradient, np.float64) / _counts(sizes, include_padding, window)
    start, end = window["start"], window["end"]
    dx = np.zeros((*sizes[:2], *(size + s + e for size, s, e in zip(sizes[2:], start, end, strict=True))))
    for _, place in windows.taps(gradient.shape[2:], window["window"], window["strides"], window["dilations"]):
        dx[place] += shares
    keep = tuple(slice(s, s + size) for s, size in zip(start, sizes[2:], strict=True))
    return dx[(slice(None), slice(None), *keep)]


def maximum_grad(x: Array, gradient: Array, **window: Any) -> Array:
    _, indices = maximum(x, **window)
    dx = np.zeros(x.size)
    np.add.at(dx, indices[indices >= 0], gradient.astype(np.float64)[indices >= 0])
    return dx.reshape(x.shape)


def unpool(x: Array, indices: Array, sizes: Ints) -> Array:
    """Scatter x to indices; for equal indices the last element wins."""
    y = np.zeros(int(np.prod(sizes)), x.dtype)
    inside = indices.ravel() < y.size
    y[indices.ravel()[inside].astype(np.int64)] = x.ravel()[inside]
    return y.reshape(sizes)
