"""Conversion of options' numbers to an operand's data type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.frontends.webnn.operands import MLOperandDescriptor
from dml.tensors import DML_SCALAR_UNION


def cast_number(value: float | np.number[Any], data_type: str) -> npt.NDArray[Any]:
    """Cast a number as the specification does: to the nearest float; to integers by truncation and saturation."""
    wanted = np.dtype(MLOperandDescriptor(data_type).numpy_dtype)
    if wanted.kind == "f":
        with np.errstate(over="ignore"):
            return np.asarray(value, np.float64).astype(wanted)
    limits = np.iinfo(wanted)
    if isinstance(value, float | np.floating):
        if math.isnan(value):
            value = 0
        elif math.isinf(value):
            value = limits.max if value > 0 else limits.min
    return np.asarray(min(max(int(value), limits.min), limits.max), wanted)


def scalar(value: npt.NDArray[Any]) -> DML_SCALAR_UNION:
    """Return the number as a DML_SCALAR_UNION."""
    return DML_SCALAR_UNION(Bytes=value.tobytes())
