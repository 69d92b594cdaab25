"""Products of matrices."""

from __future__ import annotations

from typing import Any

from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.errors import DMLError
from dml.frontends.pydirectml.enumerations import (
    MatrixTransform,
)
from dml.frontends.pydirectml.expressions import Expression, one

from .common import FusedActivation, fused


def gemm(
    a: Expression,
    b: Expression,
    c: Expression | None = None,
    trans_a: Any = MatrixTransform.NONE,
    trans_b: Any = MatrixTransform.NONE,
    alpha: float = 1.0,
    beta: float = 1.0,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    if len(a.tensor.sizes) != 4 or len(b.tensor.sizes) != 4:
        raise DMLError(f"pydirectml.gemm: takes four dimensions, found {a.tensor.sizes} and {b.tensor.sizes}")
    rows = a.tensor.sizes[2 if trans_a == MatrixTransform.NONE else 3]
    columns = b.tensor.sizes[3 if trans_b == MatrixTransform.NONE else 2]
    return one(
        DML_GEMM_OPERATOR_DESC,
        a,
        (*a.tensor.sizes[:2], rows, columns),
        ATensor=a,
        BTensor=b,
        CTensor=c,
        TransA=int(trans_a),
        TransB=int(trans_b),
        Alpha=alpha,
        Beta=beta,
        FusedActivation=fused(fused_activation),
    )
