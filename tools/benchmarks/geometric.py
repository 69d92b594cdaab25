"""The geometric mean of ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean; 1.0 if there are no ratios."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
