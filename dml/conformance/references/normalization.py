"""Normalizations in float64 NumPy. With `Rounded` numbers, results have a bound of the float32 error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml.conformance.references.rounded import Numbers, joined, magnitude, power, root, wide


def batch(x: Numbers, mean: Numbers, variance: Numbers, scale: Numbers, bias: Numbers, epsilon: float) -> Numbers:
    return wide(scale) * (wide(x) - wide(mean)) / root(wide(variance) + epsilon) + wide(bias)


def axes_of(parameter: Any) -> tuple[int, ...]:
    return tuple(d for d, size in enumerate(parameter.shape) if size == 1)


def batch_training(
    x: Numbers, scale: Numbers, bias: Numbers, add: Numbers | None, epsilon: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the result, the mean and the population variance."""
    axes = axes_of(scale)
    mean, variance = wide(x).mean(axes, keepdims=True), wide(x).var(axes, keepdims=True)
    return batch(x, mean, variance, scale, bias, epsilon) + wide(add), mean, variance


def batch_grad(
    x: Numbers, gradient: Numbers, mean: Numbers, variance: Numbers, scale: Numbers, epsilon: float, *, training: bool
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the gradients of input, scale and bias."""
    axes = axes_of(mean)
    dy, centred, deviation = wide(gradient), wide(x) - wide(mean), root(wide(variance) + epsilon)
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
    x: Numbers,
    axes: Sequence[int],
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    epsilon: float = 1e-5,
    *,
    use_mean: bool = True,
    use_variance: bool = True,
) -> Numbers:
    axes = tuple(axes)
    y = wide(x)
    if use_mean:
        y = y - y.mean(axes, keepdims=True)
    if use_variance:
        y = y / root((y * y).mean(axes, keepdims=True) + epsilon)
    return y * (1.0 if scale is None else wide(scale)) + wide(bias)


def lp(x: Numbers, axis: int, epsilon: float, p: int) -> Numbers:
    """Divide x by its p-norm along the axis; p is 1 or 2."""
    if p == 1:
        return wide(x) / (magnitude(wide(x)).sum(axis, keepdims=True) + epsilon)
    return wide(x) / root((wide(x) * wide(x)).sum(axis, keepdims=True) + epsilon)


def local_sums(x: Numbers, size: int, across: bool, *, mirrored: bool = False) -> Numbers:
    """Return sums over the local region of `size` elements per dimension; of an even size, the extra element comes
    after the center (mirrored: before)."""
    before, after = (size - 1) // 2, size // 2
    if mirrored:
        before, after = after, before
    for axis in (1,) if across else (2, 3):
        count = x.shape[axis]
        parts = [
            x[(slice(None),) * axis + (slice(max(0, i - before), min(count, i + after + 1)),)].sum(axis, keepdims=True)
            for i in range(count)
        ]
        x = joined(parts, axis)
    return x


def local_response(x: Numbers, size: int, alpha: float, beta: float, bias: float, across: bool) -> Numbers:
    return wide(x) / power(bias + alpha / size * local_sums(wide(x) * wide(x), size, across), beta)


def local_response_grad(
    x: Numbers, gradient: Numbers, size: int, alpha: float, beta: float, bias: float, across: bool
) -> Numbers:
    x, dy = wide(x), wide(gradient)
    base = bias + alpha / size * local_sums(x * x, size, across)
    pull = local_sums(dy * x * power(base, -beta - 1), size, across, mirrored=True)
    return dy * power(base, -beta) - 2 * alpha / size * beta * x * pull
