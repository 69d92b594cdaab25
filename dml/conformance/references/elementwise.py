"""Element-wise operators on float64 and Python integers: a function for each that NumPy lacks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.references import whole
from dml.tensors import DML_SCALE_BIAS

Array = npt.NDArray[Any]

_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)
_trunc = np.frompyfunc(math.trunc, 1, 1)


def erf(x: Array) -> Array:
    return np.asarray(_erf(x), np.float64)


def erfc(x: Array) -> Array:
    return np.asarray(_erfc(x), np.float64)


def exact(array: Array) -> Array:
    """Convert floats to float64, integers to Python integers."""
    return array.astype(np.float64) if array.dtype.kind == "f" else whole.unbounded(array)


def scaled(x: Array, scale_bias: DML_SCALE_BIAS | None, kind: np.dtype[Any]) -> Array:
    """Return x * Scale + Bias for elements of a data type.

    float64 is computed in float64, other floats step by step in float32. Integers are exact if both factors are
    integral, else truncated.
    """
    if scale_bias is None:
        return x
    scale, bias = np.float32(scale_bias.Scale), np.float32(scale_bias.Bias)
    if kind.kind == "f":
        step = np.dtype(np.float64 if kind == np.float64 else np.float32)
        return np.asarray(x.astype(step) * np.asarray(scale, step) + np.asarray(bias, step), np.float64)
    return np.asarray(_trunc(x * float(scale) + float(bias)), object)


def sign(x: Array) -> Array:
    """-1, 0 or 1; 0 for NaN."""
    return np.where(x > 0, 1, np.where(x < 0, -1, 0))


def round_half_away(x: Array) -> Array:
    return np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x) + 0.5), x), x)


def round_to(x: Array, RoundingMode: int) -> Array:
    return np.asarray((np.rint, np.trunc, round_half_away)[RoundingMode](x))


def is_infinity(x: Array, InfinityMode: int) -> Array:
    return np.isinf(x) & (np.array(True), x > 0, x < 0)[InfinityMode]


def constant_power(x: Array, Exponent: float) -> Array:
    return np.power(x, np.full_like(x, Exponent))  # for a scalar 0.5 NumPy uses sqrt, which is wrong at -infinity


def power(x: Array, n: Array) -> Array:
    """Return x^n; for integers exact if the exponent is integral, else truncated."""
    if x.dtype != object:
        return np.power(x, n.astype(np.float64))
    if n.dtype == object:
        return np.asarray(whole.power(x, n))
    real = np.asarray(_trunc(np.round(np.power(x.astype(np.float64), n), 9)), object)
    is_whole = n == np.trunc(n)
    return np.where(is_whole, whole.power(x, np.asarray(_trunc(np.where(is_whole, n, 0)), object)), real)


def bit_count(bits: Array) -> Array:
    """Count the bits set in unsigned integers."""
    return np.asarray(np.unpackbits(np.ascontiguousarray(bits)[..., None].view(np.uint8), axis=-1).sum(-1, np.uint64))


def typed_limits(attributes: dict[str, Any], kind: np.dtype[Any]) -> dict[str, Any]:
    """Return Min and Max in the elements' type: floats rounded, integers truncated and limited to their range."""
    found = dict(attributes)
    of = found.pop("MinMaxDataType", None)
    for name in ("Min", "Max"):
        if name in found:
            value = found[name] if of is None else found[name].value(of)
            found[name] = float(kind.type(value)) if kind.kind == "f" else _kept(value, kind)
    return found


def _kept(value: float, kind: np.dtype[Any]) -> int:
    info = np.iinfo(kind)
    return int(min(max(value, int(info.min)), int(info.max)))


def clip(x: Array, Min: float, Max: float) -> Array:
    """max(Min, min(x, Max)); NaN stays NaN."""
    return np.maximum(Min, np.minimum(x, Max))


def clip_grad(x: Array, gradient: Array, Min: float, Max: float) -> Array:
    """The gradient where x is strictly between the limits; NaN is not clipped."""
    return np.where((x <= Min) | (x >= Max), 0, gradient)


def threshold(x: Array, Min: float) -> Array:
    return np.maximum(x, Min)


def select(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition != 0, a, b)
