"""What an output must be, how far it may be off, and why so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Expected:
    """The values of one output tensor and their tolerance.

    values: in float64, or exact in the output's own integer type; the tensor's sizes. An element may differ by ``ulp``
    units in the last place of its own value in the output's data type, and by ``absolute`` besides (a number, or one
    per element). Both zero: equal, NaN to NaN. why: where the limit is from.
    """

    values: Array
    ulp: float = 0.0
    absolute: float | Array = 0.0
    why: str = "exact"

    @property
    def is_exact(self) -> bool:
        return self.ulp == 0 and not np.any(self.absolute)


def spacing(values: Array, kind: np.dtype[Any]) -> Array:
    """One unit in the last place of each value in a floating-point type; below the smallest normal, that one's."""
    info = np.finfo(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        magnitudes = np.clip(np.nan_to_num(np.abs(values), nan=1.0), float(info.tiny), float(info.max))
    exponents = np.floor(np.log2(magnitudes))
    exponents -= np.exp2(exponents) > magnitudes  # log2 rounds up just below a power of two
    return np.asarray(np.exp2(exponents - info.nmant), np.float64)


def sum_of_products(count: int, magnitudes: Array, kind: np.dtype[Any], values: Array) -> Array:
    """What a sum of ``count`` products in float32, in any order, may be off by, in the output's type.

    magnitudes: the sums of the products' magnitudes. Each product and each sum may be off by half an ulp of float32,
    and so may a few factors and addends beside them; a FLOAT16 result rounds once more.
    """
    allowed = (count + 6) * 2.0**-24 * np.abs(magnitudes) + 4 * 2.0**-24 * np.abs(values)
    if kind == np.float16:
        allowed = allowed + 2.0**-11 * np.abs(values) + 2.0**-25
    return np.asarray(allowed, np.float64)
