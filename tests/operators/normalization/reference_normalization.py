"""Normalizations in float64 NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def wide(x: Array | None) -> Any:
    return 0.0 if x is None else x.astype(np.float64)


def batch(x: Array, mean: Array, variance: Array, scale: Array, bias: Array, epsilon: float) -> Array:
    return wide(scale) * (wide(x) - wide(mean)) / np.sqrt(wide(variance) + epsilon) + wide(bias)


def axes_of(parameter: Array) -> tuple[int, ...]:
    return tuple(d for d, size in enumerate(parameter.shape) if size == 1)


def batch_training(
    x: Array, scale: Array, bias: Array, add: Array | None, epsilon: float
) -> tuple[Array, Array, Array]:
    """The result, the mean and the population variance."""
    axes = axes_of(scale)
    mean, variance = wide(x).mean(axes, keepdims=True), wide(x).var(axes, keepdims=True)
    return batch(x, mean, variance, scale, bias, epsilon) + wide(add), mean, variance


def batch_grad(
    x: Array, gradient: Array, mean: Array, variance: Array, scale: Array, epsilon: float, *, training: bool
) -> tuple[Array, Array, Array]:
    """The gradients of input, scale and bias."""
    axes = axes_of(mean)
    dy, centred, deviation = wide(gradient), wide(x) - wide(mean), np.sqrt(wide(variance) + epsilon)
    inner = dy
    if training:
        slope = (dy * centred).mean(axes, keepdims=True) / (wide(variance) + epsilon)
        inner = dy - dy.mean(axes, keepdims=True) - centred * slope
    return (
        wide(scale) / deviation * inner,
        (dy * centred / deviation).sum(axes, keepdims=True),
        dy.sum(axes, keepdims=True),
    )


def mean_variance(
    x: Array,
    axes: Sequence[int],
    scale: Array | None = None,
    bias: Array | None = None,
    epsilon: float = 1e-5,
    *,
    use_mean: bool = True,
    use_variance: bool = True,
) -> Array:
    axes = tuple(axes)
    y = wide(x)
    if use_mean:
        y = y - y.mean(axes, keepdims=True)
    if use_variance:
        y = y / np.sqrt((y * y).mean(axes, keepdims=True) + epsilon)
    return y * (1.0 if scale is None else wide(scale)) + wide(bias)


def local_sums(x: Array, size: int, across: bool, *, mirrored: bool = False) -> Array:
    """Sums over the local region: `size` elements per dimension, the odd one after the element (before: mirrored)."""
    before, after = (size - 1) // 2, size // 2
    if mirrored:
        before, after = after, before
    for axis in (1,) if across else (2, 3):
        parts = [
            x.take(range(max(0, i - before), min(x.shape[axis], i + after + 1)), axis).sum(axis)
            for i in range(x.shape[axis])
        ]
        x = np.stack(parts, axis)
    return x


def local_response(x: Array, size: int, alpha: float, beta: float, bias: float, across: bool) -> Array:
    return wide(x) / (bias + alpha / size * local_sums(wide(x) ** 2, size, across)) ** beta


def local_response_grad(
    x: Array, gradient: Array, size: int, alpha: float, beta: float, bias: float, across: bool
) -> Array:
    x, dy = wide(x), wide(gradient)
    base = bias + alpha / size * local_sums(x**2, size, across)
    pull = local_sums(dy * x * base ** (-beta - 1), size, across, mirrored=True)
    return dy * base**-beta - 2 * alpha / size * beta * x * pull


def close(result: Any, expected: Any, magnitude: float, ulps: float = 8) -> None:
    """Within some float32 ulps of the magnitude of the terms, and half an ulp of the result's own type."""
    error = ulps * magnitude * np.finfo(np.float32).eps
    np.testing.assert_allclose(result, expected, rtol=np.finfo(result.dtype).eps, atol=error)


def ones_at(shape: tuple[int, ...], axes: Any) -> tuple[int, ...]:
    return tuple(1 if d in axes else size for d, size in enumerate(shape))
