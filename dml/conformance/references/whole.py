"""Integers of any size: arrays of Python integers, which cannot overflow, and their conversion to data types."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def unbounded(array: Array) -> Array:
    """Convert an integer array to Python integers; 4-bit types too."""
    return (array.astype(np.int8) if array.dtype.itemsize == 1 and array.dtype.kind == "V" else array).astype(object)


def bits_of(kind: np.dtype[Any]) -> int:
    """Return the width of an integer type."""
    return 4 if kind.name in ("int4", "uint4") else kind.itemsize * 8


def wrapped(values: Array, kind: np.dtype[Any]) -> Array:
    """Return the values modulo 2^bits, in an integer type."""
    bits = bits_of(kind)
    low = np.array(values, object) & ((1 << bits) - 1)
    if not kind.name.startswith("u"):
        low = np.where(low >> (bits - 1) != 0, low - (1 << bits), low)
    return (low.astype(np.int8) if bits == 4 else low).astype(kind)


def _by_element(function: Any, inputs: int) -> Any:
    return np.frompyfunc(function, inputs, 1)


def _quotient(a: int, b: int) -> int:
    if b == 0:
        return -1
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def _power(x: int, n: int) -> int:
    if n >= 0:
        return pow(x, n, 1 << 64)  # the caller wraps the result to fewer bits
    return {0: -1, 1: 1, -1: 1 if n % 2 == 0 else -1}.get(x, 0)


#: a / b toward zero; all ones for b = 0, as Direct3D's udiv.
quotient = _by_element(_quotient, 2)
#: a - b (a / b): the sign of a; all ones for b = 0.
remainder = _by_element(lambda a, b: -1 if b == 0 else a - b * _quotient(a, b), 2)
#: The remainder with the sign of b; all ones for b = 0.
modulus = _by_element(lambda a, b: -1 if b == 0 else a % b, 2)
#: x^n modulo 2^64; a negative power as 1 / x^-n divides.
power = _by_element(_power, 2)
#: (a + b) / 2, rounded toward zero.
mean = _by_element(lambda a, b: _quotient(a + b, 2), 2)
#: Shifts insert zeros: a shift by the type's width or more gives 0.
shifted_left = _by_element(lambda a, n: a << n if n < 64 else 0, 2)
shifted_right = _by_element(lambda a, n: a >> n if n < 64 else 0, 2)
