"""Resampling as the reference defines it: coordinates in float32, weights and sums in float64, one dimension at a
time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = Sequence[float]


def coordinates(outputs: int, scale: float, input_offset: float, output_offset: float) -> Array:
    """Solve OutputX = (InputX + InputPixelOffset) * Scale + OutputPixelOffset for InputX in float32."""
    f = np.float32
    return np.asarray((np.arange(outputs).astype(f) - f(output_offset)) / f(scale) - f(input_offset))


def matrix(
    inputs: int,
    outputs: int,
    scale: float,
    input_offset: float = 0.5,
    output_offset: float = -0.5,
    mode: str = "LINEAR",
    rounding: str = "half_up",
    wide: bool = False,
) -> Array:
    """Return {outputs, inputs}: the weight of each input in each output.

    rounding: half_up, floor or ceil, for NEAREST_NEIGHBOR. wide: LINEAR is antialiased.
    """
    result = np.zeros((outputs, inputs))
    for o, x in enumerate(coordinates(outputs, scale, input_offset, output_offset)):
        if mode == "NEAREST_NEIGHBOR":
            half = np.float32(0.5)
            i = {"half_up": np.floor(x + half), "floor": np.floor(x), "ceil": np.ceil(x)}[rounding]
            result[o, int(np.clip(i, 0, inputs - 1))] = 1
            continue
        stretch = 1 / float(np.float32(scale)) if wide and 1 / np.float32(scale) > 2 else 1.0
        center = float(x)
        taps = range(int(np.floor(center - stretch)), int(np.ceil(center + stretch)) + 1)
        weights = np.array([max(0.0, 1 - abs(i - center) / stretch) for i in taps])
        for i, weight in zip(taps, weights / weights.sum(), strict=True):
            result[o, min(max(i, 0), inputs - 1)] += weight
    return result


def matrices(
    sizes: Sequence[int],
    outputs: Sequence[int],
    scales: Floats,
    input_offsets: Floats | None = None,
    output_offsets: Floats | None = None,
    **how: Any,
) -> list[Array]:
    """Return the matrix of each dimension. how: mode, rounding and wide, as for `matrix`."""
    rank = len(sizes)
    offsets = zip(input_offsets or (0.5,) * rank, output_offsets or (-0.5,) * rank, strict=True)
    return [matrix(n, m, s, a, b, **how) for n, m, s, (a, b) in zip(sizes, outputs, scales, offsets, strict=True)]


def resampled(x: Array, weights: Sequence[Array]) -> Array:
    """Multiply each dimension of the tensor by its matrix, in float64."""
    result: Array = x.astype(np.float64)
    for axis, weight in enumerate(weights):
        result = np.moveaxis(np.tensordot(weight, result, (1, axis)), 0, axis)
    return result


def nearest(x: Array, weights: Sequence[Array]) -> Array:
    """Resample by matrices that select one element each: copies bits, NaN and infinities included."""
    return np.asarray(x[np.ix_(*(np.argmax(weight, axis=1) for weight in weights))])
