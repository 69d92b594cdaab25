"""Expected outputs, their error bounds, and the reasons for these.

Most operators have two limits. The public one is required of any implementation (by WebNN's tests). The tight one is
the error bound of our kernels on every conforming Vulkan device: it follows from their arithmetic and Vulkan's
precision requirements (a sum, difference or product is one of the two nearest numbers; shaders/lib/math.glsl corrects
quotients and computes other functions from these operations). A result between the two limits is loose: correct for a
user, but a hint of a driver fault.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Tight(NamedTuple):
    """The error bound of our kernels on any conforming device, as Expected's ulp and absolute, and the reason."""

    ulp: float
    absolute: float | Array
    why: str


@dataclass(frozen=True)
class Expected:
    """The values of one output tensor and their tolerance.

    values: in float64, or exact in the output's own integer type; the tensor's sizes. An element may differ by ``ulp``
    units in the last place of its own value in the output's data type, and additionally by ``absolute`` (a number, or
    one per element). Both zero: equal, NaN to NaN. why: the source of the limit. undefined: elements that the operator
    leaves undefined; None if it defines all. tight: a smaller bound that our kernels keep; None if none is known.
    moved: the operator copies elements unchanged, so that zeros must keep their signs and subnormals their values (NaNs
    may have other bits).
    """

    values: Array
    ulp: float = 0.0
    absolute: float | Array = 0.0
    why: str = "exact"
    undefined: Array | None = None
    tight: Tight | None = None
    moved: bool = False

    @property
    def is_exact(self) -> bool:
        return self.ulp == 0 and not np.any(self.absolute)


def spacing(values: Array, kind: np.dtype[Any]) -> Array:
    """Return one unit in the last place of each value in a floating-point type; that of the smallest normal number
    below it."""
    info = np.finfo(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        magnitudes = np.clip(np.nan_to_num(np.abs(values), nan=1.0), float(info.tiny), float(info.max))
    exponents = np.floor(np.log2(magnitudes))
    exponents -= np.exp2(exponents) > magnitudes  # log2 rounds up just below a power of two
    return np.asarray(np.exp2(exponents - info.nmant), np.float64)


def sum_of_products(count: int, magnitudes: Array, kind: np.dtype[Any], values: Array) -> Array:
    """Return the error bound of a sum of ``count`` float32 products, in any order, in the output's type.

    magnitudes: sums of the products' magnitudes. Each product and each sum may be wrong by half an ulp of float32, or
    be flushed to zero if it is subnormal. The bound leaves room for a few further operations. A FLOAT16 result is
    rounded once more.
    """
    allowed = (count + 6) * 2.0**-24 * np.abs(magnitudes) + 4 * 2.0**-24 * np.abs(values) + (2 * count + 6) * 2.0**-126
    if kind == np.float16:
        allowed = allowed + 2.0**-11 * np.abs(values) + 2.0**-25
    return np.asarray(allowed, np.float64)


@dataclass(frozen=True)
class Limit:
    """An operator's error bounds by data type: FLOAT32 first, then FLOAT16 (FLOAT64: as FLOAT32).

    ulp, absolute: as in Expected; a FLOAT16 result is rounded once from float32. why: their source. tight: as in
    Expected.
    """

    ulp: tuple[float, float] = (0.0, 0.0)
    absolute: tuple[float, float] = (0.0, 0.0)
    why: str = "exact"
    tight: Limit | None = None

    def expected(self, values: Array, kind: np.dtype[Any], absolute: float | Array = 0.0) -> Expected:
        """Return the expectation for values of a data type; integers are exact. absolute: an additional error."""
        if kind.kind != "f":
            return Expected(values)
        half = int(kind == np.float16)
        kept = self.tight
        tight = None if kept is None else Tight(kept.ulp[half], kept.absolute[half] + absolute, kept.why)
        return Expected(values, self.ulp[half], self.absolute[half] + absolute, self.why, tight=tight)

    def keeping(self, tight: Limit) -> Limit:
        """Return this limit together with a tight one."""
        return replace(self, tight=tight)

    def and_then(self, other: Limit) -> Limit:
        """Return the limit of two consecutive steps."""
        combined = self._and_then(other)
        if self.tight is None and other.tight is None:
            return combined
        return combined.keeping((self.tight or self)._and_then(other.tight or other))

    def _and_then(self, other: Limit) -> Limit:
        ulp = (self.ulp[0] + other.ulp[0], self.ulp[1] + other.ulp[1])
        absolute = (self.absolute[0] + other.absolute[0], self.absolute[1] + other.absolute[1])
        return Limit(ulp, absolute, f"{self.why}, and {other.why}")


def webnn(single: float, half: float) -> Limit:
    """Return a limit of the W3C's WebNN tests, in ulp of FLOAT32 and of FLOAT16."""
    return Limit((single, half), why=f"WebNN: {single:g} ulp ({half:g} of FLOAT16)")


def webnn_absolute(single: float, half: float) -> Limit:
    """Return an absolute limit of the W3C's WebNN tests. They compare with rounded values: one ulp more."""
    return Limit(
        (1, 1), (single, half), f"WebNN: 1/{1 / single:g} absolute (1/{1 / half:g} of FLOAT16), and one rounding"
    )


#: Where WebNN has no limit: shaders/lib/math.glsl keeps 4 ulp on every device, and FLOAT16 rounds once.
LIBRARY = Limit((4, 0.51), why="the shader library's promise: 4 ulp of float32")
#: A library function with a product or two, each correctly or faithfully rounded, or flushed to zero where it is
#: subnormal; a later factor is at most 4.
AROUND_LIBRARY = Limit(
    (6, 0.51), (2.0**-124, 0.0), "a function of the shader library to 4 ulp of float32, and two products"
)
#: One operation of IEEE 754, rounded to nearest or, as Vulkan allows, to the other neighbor.
ROUNDED = Limit((1, 1), why="one rounding")
EXACT = Limit()
