"""Pooling in float64 NumPy, window by window. Tensors are {N, C, spatial...}."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = Sequence[int]


def out_sizes(sizes: Ints, window: Ints, strides: Ints, start: Ints, end: Ints, dilations: Ints) -> tuple[int, ...]:
    """{N, C, ...} -> the sizes after pooling."""
    spatial = [
        (size + s + e - d * (w - 1) - 1) // step + 1
        for size, w, step, s, e, d in zip(sizes[2:], window, strides, start, end, dilations, strict=True)
    ]
    return (*sizes[:2], *spatial)


def windows(
    sizes: Ints, window: Ints, strides: Ints, start: Ints, end: Ints, dilations: Ints
) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """(output position, the input positions under its window that are not padding), spatial coordinates only."""
    for out in np.ndindex(*out_sizes(sizes, window, strides, start, end, dilations)[2:]):
        inside = []
        for k in np.ndindex(*window):
            at = tuple(o * st + i * d - s for o, st, i, d, s in zip(out, strides, k, dilations, start, strict=True))
            if all(0 <= a < size for a, size in zip(at, sizes[2:], strict=True)):
                inside.append(at)
        yield out, inside


def _elements(x: Array, positions: list[tuple[int, ...]]) -> Array:
    """{N, C, positions}"""
    if not positions:
        return np.zeros((*x.shape[:2], 0), x.dtype)
    return np.stack([x[(slice(None), slice(None), *at)] for at in positions], axis=-1)


def average(x: Array, *, include_padding: bool, **window: Any) -> Array:
    y = np.zeros(out_sizes(x.shape, **window))
    for out, inside in windows(x.shape, **window):
        count = int(np.prod(window["window"])) if include_padding else max(len(inside), 1)
        y[(..., *out)] = _elements(x.astype(np.float64), inside).sum(-1) / count
    return y


def lp(x: Array, *, p: int, **window: Any) -> Array:
    y = np.zeros(out_sizes(x.shape, **window))
    for out, inside in windows(x.shape, **window):
        magnitudes = np.abs(_elements(x.astype(np.longdouble), inside))
        y[(..., *out)] = (magnitudes**p).sum(-1) ** (1 / np.longdouble(p))
    return y


def maximum(x: Array, **window: Any) -> tuple[Array, Array]:
    """The maxima in x's type and the first index of each, in all of x as one line; -1 where there is only padding."""
    sizes = out_sizes(x.shape, **window)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    y, indices = np.full(sizes, lowest, x.dtype), np.full(sizes, -1, np.int64)
    flat = np.arange(x.size).reshape(x.shape)
    for out, inside in windows(x.shape, **window):
        if inside:
            elements = _elements(x, inside)
            first = elements.argmax(-1)[..., None]  # NumPy's argmax: NaN is the largest, the first of equals
            y[(..., *out)] = np.take_along_axis(elements, first, -1)[..., 0]
            indices[(..., *out)] = np.take_along_axis(_elements(flat, inside), first, -1)[..., 0]
    return y, indices


def average_grad(gradient: Array, sizes: Ints, *, include_padding: bool, **window: Any) -> Array:
    dx = np.zeros(sizes)
    for out, inside in windows(sizes, **window):
        count = int(np.prod(window["window"])) if include_padding else len(inside)
        for at in inside:
            dx[(..., *at)] += gradient[(..., *out)].astype(np.float64) / count
    return dx


def maximum_grad(x: Array, gradient: Array, **window: Any) -> Array:
    _, indices = maximum(x, **window)
    dx = np.zeros(x.size)
    np.add.at(dx, indices[indices >= 0], gradient.astype(np.float64)[indices >= 0])
    return dx.reshape(x.shape)


def unpool(x: Array, indices: Array, sizes: Ints) -> Array:
    y = np.zeros(int(np.prod(sizes)), x.dtype)
    for value, index in zip(x.ravel(), indices.ravel(), strict=True):
        if int(index) < y.size:
            y[int(index)] = value
    return y.reshape(sizes)
