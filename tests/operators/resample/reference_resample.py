"""Resampling from the pages' words: coordinates in float32, weights and sums in float64, one dimension at a time."""

from __future__ import annotations

import numpy as np


def coordinates(outputs, scale, input_offset, output_offset):
    """OutputX = (InputX + InputPixelOffset) * Scale + OutputPixelOffset, solved for InputX in float32."""
    f = np.float32
    return (np.arange(outputs).astype(f) - f(output_offset)) / f(scale) - f(input_offset)


def matrix(inputs, outputs, scale, input_offset=0.5, output_offset=-0.5, mode="LINEAR", rounding="half_up", wide=False):
    """{outputs, inputs}: how much each input weighs in each output."""
    result = np.zeros((outputs, inputs))
    for o, x in enumerate(coordinates(outputs, scale, input_offset, output_offset)):
        if mode == "NEAREST_NEIGHBOR":
            half = np.float32(0.5)
            i = {"half_up": np.floor(x + half), "floor": np.floor(x), "ceil": np.ceil(x)}[rounding]
            result[o, int(np.clip(i, 0, inputs - 1))] = 1
            continue
        stretch = 1 / np.float64(np.float32(scale)) if wide and 1 / np.float32(scale) > 2 else 1.0
        x = float(x)
        taps = range(int(np.floor(x - stretch)), int(np.ceil(x + stretch)) + 1)
        weights = np.array([max(0.0, 1 - abs(i - x) / stretch) for i in taps])
        for i, weight in zip(taps, weights / weights.sum(), strict=True):
            result[o, min(max(i, 0), inputs - 1)] += weight
    return result


def matrices(sizes, outputs, scales, input_offsets=None, output_offsets=None, **how):
    rank = len(sizes)
    offsets = zip(input_offsets or (0.5,) * rank, output_offsets or (-0.5,) * rank, strict=True)
    return [matrix(n, m, s, a, b, **how) for n, m, s, (a, b) in zip(sizes, outputs, scales, offsets, strict=True)]


def resampled(x, weights):
    result = x.astype(np.float64)
    for axis, weight in enumerate(weights):
        result = np.moveaxis(np.tensordot(weight, result, (1, axis)), 0, axis)
    return result


def gradient(grad, weights):
    return resampled(grad, [weight.T for weight in weights])
