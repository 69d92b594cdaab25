"""Linear quantization: each step of the reference's equations in float32, halves to even, as in NumPy and ONNX
Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.references.whole import unbounded
from dml.conformance.values import integer_range

Array = npt.NDArray[Any]


def _single(array: Array) -> Array:
    return array.astype(np.float32)


def whole_numbers(array: Array) -> Array:
    """Convert integers of up to 32 bits, 4-bit types too, exactly to float64."""
    return unbounded(array).astype(np.float64)


def quantized(x: Array, scale: Array, zero_point: Array | None, kind: np.dtype[Any]) -> Array:
    """clamp(round(x / scale) + zero point) in an integer type; NaN is the zero point."""
    with np.errstate(all="ignore"):
        level = np.rint(_single(x) / _single(scale)).astype(np.float64)
    level = np.where(np.isnan(level), 0, level) + (0 if zero_point is None else whole_numbers(zero_point))
    return limited(level, kind)


def limited(level: Array, kind: np.dtype[Any]) -> Array:
    """Limit integral numbers to an integer type's range; 4-bit types too."""
    low, high = integer_range(kind)
    return np.clip(level, low, high).astype(np.int16).astype(kind)


def difference(x: Array, zero_point: Array | None) -> Array:
    """Return x minus its zero point, exactly."""
    return whole_numbers(x) - (0 if zero_point is None else whole_numbers(zero_point))


def dequantized(x: Array, scale: Array, zero_point: Array | None) -> Array:
    """(x - zero point) * scale in float64."""
    with np.errstate(all="ignore"):
        return difference(x, zero_point) * scale.astype(np.float64)


def spread(blocks: Array, sizes: Sequence[int]) -> Array:
    """Repeat each block's value for its elements."""
    for axis, size in enumerate(sizes):
        blocks = np.repeat(blocks, size // blocks.shape[axis], axis)
    return blocks


def dynamically(x: Array, kind: np.dtype[Any]) -> tuple[Array, np.float32, Array]:
    """Quantize over the range of the elements and 0; return (quantized, scale, zero point)."""
    low, high = integer_range(kind)
    least, greatest = np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))
    scale = (greatest - least) / np.float32(high - low) if greatest != least else np.float32(1)
    zero_point = np.clip(np.rint(np.float32(low) - least / scale), low, high)
    level = np.rint(_single(x) / scale) + zero_point
    return limited(level, kind), scale, np.asarray(zero_point)
