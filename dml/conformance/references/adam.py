"""A step of Adam in float64, and its error in float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Half an ulp of float32, relative.
_HALF = 2.0**-24


def step(
    x: Array, m: Array, v: Array, g: Array, t: float, rates: Mapping[str, float]
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Return (parameters, first moment, second moment), and a bound of the error of each: half an ulp per operation.

    The parameters' error has two parts: the error of the step's factors, and that of the first moment, a sum that may
    cancel.
    """
    b1, b2, rate, epsilon = (rates[name] for name in ("Beta1", "Beta2", "LearningRate", "Epsilon"))
    with np.errstate(all="ignore"):
        first = b1 * m + (1 - b1) * g
        first_off = 4 * _HALF * (np.abs(b1 * m) + np.abs((1 - b1) * g))
        second = b2 * v + (1 - b2) * g * g
        second_off = 6 * _HALF * second
        factor = rate * np.sqrt(1 - np.float64(b2) ** t) / (1 - np.float64(b1) ** t) / (np.sqrt(second) + epsilon)
        moved = x - factor * first
        moved_off = 2 * _HALF * np.abs(x) + np.abs(factor) * (first_off + 16 * _HALF * np.abs(first))
    return (moved, first, second), (moved_off, first_off, second_off)
