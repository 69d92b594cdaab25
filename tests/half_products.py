"""A product that shows whether its sums are computed in FLOAT16: 2048 and seven ones, which FLOAT16 rounds away.

The zeros after them fill a slab of gemm/shared.comp: what is left of k after the last slab is added in FLOAT32.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import dml
from harness import tensor

ALLOW = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION
#: Each element of the result: the FLOAT32 sum, 2055, rounded to FLOAT16; and the sum in FLOAT16.
IN_FLOAT, IN_HALVES = np.float16(2056), np.float16(2048)
SIZE = STEPS = 32


def inputs() -> dict[str, npt.NDArray[np.float16]]:
    a, b = np.zeros((1, 1, SIZE, STEPS), np.float16), np.ones((1, 1, STEPS, SIZE), np.float16)
    a[..., 0], a[..., 1:8] = 2048, 1
    return {"ATensor": a, "BTensor": b}


def desc() -> dml.OperatorDesc:
    a, b, y = (tensor("FLOAT16", sizes) for sizes in ((1, 1, SIZE, STEPS), (1, 1, STEPS, SIZE), (1, 1, SIZE, SIZE)))
    none = dml.DML_MATRIX_TRANSFORM_NONE
    return dml.DML_GEMM_OPERATOR_DESC(a, b, None, y, none, none, 1, 0, None)
