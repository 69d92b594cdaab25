"""Float64 values with a bound of the float32 error: running error analysis.

References are written for plain arrays, and for Rounded ones where a limit is needed: the same lines then return the
expected value and its largest error, for any order of summation. Sums and products round to nearest; quotients, roots,
exponentials and powers have the errors of the functions in shaders/lib/math.glsl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.limits import Expected, Tight
from dml.tensors import DML_BUFFER_TENSOR_DESC

Array = npt.NDArray[Any]
#: Arrays of float64, or Rounded.
Numbers = Any
Axes = int | Sequence[int] | None

#: Half an ulp of float32, relative: the rounding error of a sum or a product.
HALF = 2.0**-24
#: Errors of other functions, in half ulps: twice those of dml.
_QUOTIENT, _ROOT, _EXPONENTIAL, _POWER = 3, 3, 6, 12
#: Results below this may be flushed to zero.
_TINY = 2.0**-126
#: Represents an unbounded error: products of two such errors are finite, and 0 times this is 0, where infinity would
#: give NaN.
_UNBOUNDED = 1e150


class Rounded:
    """Float64 values, and the largest error of float32 numbers in their place."""

    __slots__ = ("error", "value")
    __array_ufunc__ = None  # so that NumPy calls this class's reflected method if the left operand is an array

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value: Array = np.asarray(value, np.float64)
        bounded = np.minimum(np.asarray(error, np.float64), _UNBOUNDED)
        self.error: Array = np.broadcast_to(bounded, self.value.shape)

    @staticmethod
    def of(other: Any) -> Rounded:
        """Convert: arrays hold numbers that a device reads; a Python number is an attribute, which is rounded to
        float32."""
        if isinstance(other, Rounded):
            return other
        return Rounded(other, HALF * abs(other)) if isinstance(other, float) else Rounded(other)

    # --- shapes ---

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    def __getitem__(self, key: Any) -> Rounded:
        part = object.__new__(Rounded)  # these are views; their error is bounded already
        part.value, part.error = np.asarray(self.value[key]), np.asarray(self.error[key])
        return part

    def each(self, change: Callable[[Array], Array]) -> Rounded:
        """Apply a function that moves elements to both value and error."""
        return Rounded(change(self.value), change(np.array(self.error)))

    # --- arithmetic ---

    def _done(self, value: Array, carried: Array, halves: Any = 1) -> Rounded:
        with np.errstate(all="ignore"):
            return Rounded(value, carried + np.asarray(halves) * HALF * (np.abs(value) + carried) + _TINY)

    def __add__(self, other: Any) -> Rounded:
        o = self.of(other)
        return self._done(self.value + o.value, self.error + o.error)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Rounded:
        o = self.of(other)
        return self + Rounded(-o.value, o.error)

    def __rsub__(self, other: Any) -> Rounded:
        return self.of(other) - self

    def __mul__(self, other: Any) -> Rounded:
        o = self.of(other)
        carried = np.abs(self.value) * o.error + self.error * np.abs(o.value) + self.error * o.error
        return self._done(self.value * o.value, carried)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Rounded:
        o = self.of(other)
        with np.errstate(all="ignore"):
            least = np.abs(o.value) - o.error
            carried = (self.error + np.abs(self.value / o.value) * o.error) / np.where(least > 0, least, 0.0)
            carried = np.where(self.error + o.error == 0, 0.0, carried)
            return self._done(self.value / o.value, carried, _QUOTIENT)

    def __rtruediv__(self, other: Any) -> Rounded:
        return self.of(other) / self

    def __matmul__(self, other: Any) -> Rounded:
        o = self.of(other)
        count, most = self.shape[-1], np.abs(o.value) + o.error
        magnitude = np.abs(self.value)
        carried = magnitude @ o.error
        if self.error.any() or not np.isfinite(most).all():  # a recurrence multiplies by exact weights at each step
            carried = carried + self.error @ most
            magnitude = magnitude + self.error
        rounding = (count + 2) * HALF * (magnitude @ most)
        return Rounded(self.value @ o.value, carried + rounding + (count + 1) * _TINY)

    def __rmatmul__(self, other: Any) -> Rounded:
        return self.of(other) @ self

    def sum(self, axes: Axes = None, keepdims: bool = False) -> Rounded:
        """Sum in any order."""
        axis = tuple(axes) if isinstance(axes, Sequence) else axes
        value, carried = self.value.sum(axis, keepdims=keepdims), self.error.sum(axis, keepdims=keepdims)
        count = self.value.size // max(1, value.size)
        most = (np.abs(self.value) + self.error).sum(axis, keepdims=keepdims)
        return Rounded(value, carried + count * (HALF * most + _TINY))

    def mean(self, axes: Axes = None, keepdims: bool = False) -> Rounded:
        total = self.sum(axes, keepdims)
        return total / float(self.value.size // max(1, total.value.size))

    def var(self, axes: Axes = None, keepdims: bool = False) -> Rounded:
        """Return the population variance, from deviations from the mean."""
        centred = self - self.mean(axes, True)
        return (centred * centred).mean(axes, keepdims)

    def apply(self, function: Callable[[Array], Array], halves: Any = 4) -> Rounded:
        """Apply a function that is monotonic within each element's bounds. halves: its own error in half ulps."""
        with np.errstate(all="ignore"):
            value = function(self.value)
            carried = [np.abs(function(self.value + way * self.error) - value) for way in (-1, 1)]
            return self._done(value, np.maximum(*carried), halves)

    # --- the result ---

    def expected(self, tensor: DML_BUFFER_TENSOR_DESC, why: str, ulp: float = 0.0) -> Expected:
        """Return the expectation for a tensor's sizes and data type.

        ulp: the public limit for FLOAT32 results; the error bound is added to it, to allow for cancellation. A FLOAT16
        result is a rounded float32 one. The error counts twice, because Vulkan lets a device round to either neighbour.
        """
        values, error = (np.array(part).reshape(tensor.Sizes) for part in (self.value, 2 * self.error))
        if tensor.element_bits == 16:
            return Expected(values, 1.0, error, f"float32 arithmetic, rounded to FLOAT16; {why}")
        tight = Tight(1.0, error, "float32 arithmetic in any order, each operation to one of the two nearest numbers")
        return Expected(values, ulp, error, why, tight=tight if ulp > tight.ulp else None)


def rounded(inputs: Mapping[str, Any], *names: str) -> list[Any]:
    """Return the inputs of these fields as Rounded numbers; None for absent ones."""
    return [Rounded(inputs[name]) if name in inputs else None for name in names]


def wide(x: Array | Rounded | None) -> Numbers:
    """Convert to float64; an absent tensor becomes 0."""
    if x is None:
        return 0.0
    return x if isinstance(x, Rounded) else np.asarray(x, np.float64)


def root(x: Numbers) -> Numbers:
    return x.apply(np.sqrt, _ROOT) if isinstance(x, Rounded) else np.sqrt(x)


def exponential(x: Numbers) -> Numbers:
    return x.apply(np.exp, _EXPONENTIAL) if isinstance(x, Rounded) else np.exp(x)


def power(x: Numbers, exponent: float) -> Numbers:
    """Raise nonnegative numbers to a power."""
    if not isinstance(x, Rounded):
        return np.asarray(x) ** exponent
    return x.apply(lambda v: np.maximum(v, 0) ** exponent, _POWER)


def each(x: Numbers, change: Callable[[Array], Array]) -> Numbers:
    """Apply a function that moves elements: a slice, a transposition."""
    return x.each(change) if isinstance(x, Rounded) else change(x)


def magnitude(x: Numbers) -> Numbers:
    return Rounded(np.abs(x.value), x.error) if isinstance(x, Rounded) else np.abs(x)


def joined(parts: Sequence[Numbers], axis: int) -> Numbers:
    """Concatenate along an axis."""
    if not isinstance(parts[0], Rounded):
        return np.concatenate(parts, axis)
    return Rounded(*(np.concatenate([getattr(part, name) for part in parts], axis) for name in ("value", "error")))
