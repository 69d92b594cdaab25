"""Numbers that options give, in an operand's data type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.frontends.webnn.operands import MLOperandDescriptor
from dml.tensors import DML_SCALAR_UNION


def cast_number(value: float | np.number[Any], data_type: str) -> npt.NDArray[Any]:
    """One number in a data type, as the specification casts: nearest float; integers cut off and kept in range."""
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
    """The number as DirectML's descriptors take it."""
    return DML_SCALAR_UNION(Bytes=value.tobytes())
