"""Convolutions in float64 NumPy, tap by tap: forward gathers from the padded input, backward scatters."""

from __future__ import annotations

import numpy as np

from dml.conformance.references.windows import Array, Ints, counts, taps


def _flip(w: Array, flipped: bool) -> Array:
    return w[(slice(None), slice(None), *(slice(None, None, -1),) * (w.ndim - 2))] if flipped else w


def forward(
    x: Array,
    w: Array,
    strides: Ints,
    dilations: Ints,
    start: Ints,
    end: Ints,
    groups: int = 1,
    flipped: bool = False,
    output_padding: Ints | None = None,
) -> Array:
    """Convolve x {n, c, ...} with w {o, c / groups, window} to {n, o, ...}; output padding appends zeros."""
    w = _flip(w, flipped)
    x = np.pad(x, [(0, 0), (0, 0), *zip(start, end, strict=True)])
    sizes = counts(x.shape[2:], w.shape[2:], strides, dilations)
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    result = np.zeros((x.shape[0], groups, w.shape[1], *sizes))
    for tap, place in taps(sizes, w.shape[3:], strides, dilations):
        result += np.einsum("ngc...,goc->ngo...", x[place], w[tap])
    result = result.reshape(x.shape[0], -1, *sizes)
    return np.pad(result, [(0, 0), (0, 0), *((0, p) for p in output_padding or (0,) * len(sizes))])


def backward(
    x: Array,
    w: Array,
    strides: Ints,
    dilations: Ints,
    start: Ints,
    end: Ints,
    groups: int = 1,
    flipped: bool = False,
    output_padding: Ints | None = None,
) -> Array:
    """Convolve x {n, c, ...} with w {c, o / groups, window} to {n, o, ...}: each element of x adds a window to the
    result."""
    w = _flip(w, flipped)
    window = w.shape[2:]
    output_padding = output_padding or (0,) * len(window)
    full = [(x.shape[2 + d] - 1) * strides[d] + (window[d] - 1) * dilations[d] + 1 for d in range(len(window))]
    inner = x.shape[2:]
    x = x.reshape(x.shape[0], groups, -1, *inner)
    w = w.reshape(groups, -1, *w.shape[1:])
    result = np.zeros((x.shape[0], groups, w.shape[2], *(f + p for f, p in zip(full, output_padding, strict=True))))
    for tap, place in taps(inner, window, strides, dilations):
        result[place] += np.einsum("ngc...,gco->ngo...", x, w[tap])
    keep = tuple(slice(s, f + p - e) for s, e, f, p in zip(start, end, full, output_padding, strict=True))
    return result[(slice(None),) * 3 + keep].reshape(x.shape[0], -1, *(k.stop - k.start for k in keep))
