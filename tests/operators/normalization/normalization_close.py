"""The tolerance of the normalization tests."""

from __future__ import annotations

from typing import Any

import numpy as np


def close(result: Any, expected: Any, magnitude: float) -> None:
    """Assert an error within 8 float32 ulps of the terms' magnitude, plus half an ulp of the result's own type."""
    error = 8 * magnitude * np.finfo(np.float32).eps
    np.testing.assert_allclose(result, expected, rtol=np.finfo(result.dtype).eps, atol=error)


def ones_at(shape: tuple[int, ...], axes: Any) -> tuple[int, ...]:
    return tuple(1 if d in axes else size for d, size in enumerate(shape))
