"""Comparison of a result with its expectation: the worst element, the number of wrong ones, the distribution of
errors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.limits import Expected, spacing

Array = npt.NDArray[Any]

#: Upper bounds of the histogram's bins, as shares of the allowed error. Further bins hold exact and wrong elements.
SHARES = (1 / 8, 1 / 4, 1 / 2, 1.0)


#: Larger errors are shown as "over 2^24": float32 has 24 bits of precision.
_MOST_ULP = 2.0**24


def ulp_text(ulp: float) -> str:
    """Format a number of units in the last place for people."""
    return f"{ulp:.4g}" if ulp < _MOST_ULP else "over 2^24"


@dataclass(frozen=True)
class Mismatch:
    """The worst element of a tensor beyond its limit."""

    index: tuple[int, ...]
    found: str
    expected: str
    differing: int
    elements: int
    ulp: float | None
    allowed_ulp: float

    def __str__(self) -> str:
        far = "" if self.ulp is None else f", {ulp_text(self.ulp)} ulp off, allowed {ulp_text(self.allowed_ulp)}"
        index = ", ".join(map(str, self.index))
        many = f"{self.differing} of {self.elements} elements differ"
        return f"at [{index}]: found {self.found}, expected {self.expected}{far}; {many}"


@dataclass(frozen=True)
class Comparison:
    """A tensor compared with its expectation.

    loose: the worst element beyond the tight limit, if none is beyond the public one; its allowed_ulp is the tight
    limit's. tight_share: the largest error relative to the tight limit, None without one. share: the largest error
    relative to the allowed one; None if exact. worst_ulp, ulp_limit: the error of the element with that share in units
    in the last place (None for a wrong NaN or infinity), and its limit. histogram: elements by share, see SHARES.
    """

    elements: int
    worst_ulp: float | None
    share: float | None
    ulp_limit: float
    why: str
    histogram: tuple[int, ...]
    mismatch: Mismatch | None
    loose: Mismatch | None = None
    tight_share: float | None = None
    tight_why: str | None = None


def compare(found: Array, expected: Expected, flushed: Expected | None = None) -> Comparison:
    """Compare a tensor. flushed: the expectation if subnormal inputs count as zeros, which Vulkan allows; a result may
    match either expectation."""
    if found.shape != expected.values.shape:
        raise ValueError(f"found sizes {found.shape}, the reference has {expected.values.shape}")
    error, allowed, unit = _errors(found, expected)
    tight = _tight(expected, allowed, unit)
    if flushed is not None and not expected.moved:
        other, other_allowed, other_unit = _errors(found, flushed)
        better = (error > allowed) & (other <= other_allowed)
        error, allowed = np.where(better, other, error), np.where(better, other_allowed, allowed)
        unit = np.where(better, other_unit, unit)
        tight = np.where(better, _tight(flushed, other_allowed, other_unit), tight)
    wrong = error > allowed
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ulp = np.where(error == 0, 0.0, error / unit)
        shares = np.where(error == 0, 0.0, error / allowed)
        limits = allowed / unit
    by = np.where(wrong, ulp + 1, 0) if wrong.any() else ulp if expected.is_exact else shares
    # If all elements are exact, report the one with the strictest limit.
    place = int(np.argmax(by) if np.any(by) else np.argmin(limits)) if found.size else 0
    position = np.unravel_index(place, found.shape) if found.size else ()

    def worst_of(bad: Array, place: Any, limit: Array) -> Mismatch:
        far = float(ulp[place])
        return Mismatch(
            tuple(int(i) for i in place),
            _shown(found[place]),
            _shown(expected.values[place], found.dtype),
            int(np.count_nonzero(bad)),
            found.size,
            far if np.isfinite(far) else None,
            float(limit[place]),
        )

    mismatch = worst_of(wrong, position, limits) if wrong.any() else None
    loose, tight_share = None, None
    if expected.tight is not None and found.size:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            of_tight = np.where(error == 0, 0.0, error / tight)
            beyond = error > tight
        tight_share = float(min(np.max(of_tight), 1e9))
        if mismatch is None and beyond.any():
            farthest = np.unravel_index(int(np.argmax(np.where(beyond, of_tight, 0))), found.shape)
            loose = worst_of(beyond, farthest, np.asarray(tight / unit))
    worst = float(ulp[position]) if found.size else 0.0
    return Comparison(
        found.size,
        worst if np.isfinite(worst) else None,
        None if expected.is_exact else float(min(np.max(shares, initial=0.0), 1e9)),
        float(limits[position]) if found.size else 0.0,
        expected.why,
        _histogram(error, shares, wrong),
        mismatch,
        loose,
        tight_share,
        None if expected.tight is None else expected.tight.why,
    )


def bounds(expected: Expected, kind: np.dtype[Any]) -> tuple[Array, Array, Array]:
    """Return the expected values in a data type, and each element's least and greatest allowed value in float64.

    The bounds of elements that the operator leaves undefined are infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(expected.values).astype(kind)
    _, allowed, _ = _errors(values, expected)
    middle = np.asarray(values if expected.is_exact else expected.values).astype(np.float64)
    low, high = middle - allowed, middle + allowed
    if expected.undefined is not None:
        low, high = np.where(expected.undefined, -np.inf, low), np.where(expected.undefined, np.inf, high)
    return values, low, high


def _tight(expected: Expected, allowed: Array, unit: Array) -> Array:
    """Return each element's tight limit; the public one if none is known or if that is smaller."""
    if expected.tight is None:
        return allowed
    kept = expected.tight.ulp * unit + np.nan_to_num(expected.tight.absolute)
    return np.minimum(np.nan_to_num(kept), allowed)


def _histogram(error: Array, shares: Array, wrong: Array) -> tuple[int, ...]:
    right = ~wrong & (error > 0)
    edges = (0.0, *SHARES)
    between = [
        int(np.count_nonzero(right & (shares > low) & (shares <= high))) for low, high in itertools.pairwise(edges)
    ]
    return (int(np.count_nonzero(error == 0)), *between, int(np.count_nonzero(wrong)))


def _errors(found: Array, expected: Expected) -> tuple[Array, Array, Array]:
    """Return each element's error, allowed error, and unit in the last place; a wrong NaN has an infinite error."""
    if expected.undefined is not None:
        found = np.where(expected.undefined, expected.values.astype(found.dtype), found)
    return _float_errors(found, expected) if found.dtype.kind == "f" else _integer_errors(found, expected)


def _integer_errors(found: Array, expected: Expected) -> tuple[Array, Array, Array]:
    ones = np.ones(found.shape)
    wanted = expected.values
    if found.dtype.name in ("int4", "uint4"):  # NumPy cannot subtract them
        found, wanted = found.astype(np.int8), wanted.astype(np.int8)
    off = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    if expected.is_exact:  # 64-bit integers may differ where their float64 values do not
        return np.where(found == wanted, 0.0, np.maximum(off, 1.0)), np.zeros(found.shape), ones
    return off, (expected.ulp + np.asarray(expected.absolute, np.float64)) * ones, ones


def _float_errors(found: Array, expected: Expected) -> tuple[Array, Array, Array]:
    kind = found.dtype
    info = np.finfo(kind)
    wanted = np.asarray(expected.values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = wanted.astype(kind)
        unit = spacing(rounded, kind)
        allowed = np.broadcast_to(np.nan_to_num(expected.ulp * unit + expected.absolute), found.shape)
        # Where a finite number is expected, an infinity counts as the first power of two beyond the type's range.
        beyond = 2.0 ** np.ceil(np.log2(float(info.max)))
        result = found.astype(np.float64)
        result = np.where(np.isinf(result) & np.isfinite(wanted), np.copysign(beyond, result), result)
        error = np.abs(result - (rounded.astype(np.float64) if expected.is_exact else wanted))
        error = np.where(np.isnan(error), np.inf, error)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        # Vulkan lets a device flush numbers below the smallest normal one.
        flushed = (found == 0) & (np.abs(wanted) < float(info.tiny))
    error = np.where((same & (error > allowed)) | flushed, 0.0, error)
    if expected.moved:
        copied = (_bits(found) == _bits(rounded)) | (np.isnan(found) & np.isnan(rounded))
        error = np.where(copied, 0.0, np.maximum(np.abs(error), unit))
    return error, allowed, unit


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


def _shown(value: Any, kind: np.dtype[Any] | None = None) -> str:
    """Format a number with all digits; an expectation rounded to the type and, if that differs, exactly."""
    if isinstance(value, np.floating) and kind is not None and kind.kind == "f":
        with np.errstate(over="ignore"):
            rounded = value.astype(kind)
        return (
            f"{rounded!s}" if float(rounded) == float(value) or not np.isfinite(value) else f"{rounded!s} ({value!s})"
        )
    return f"{value!s}"
