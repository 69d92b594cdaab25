"""Products of matrices."""

from __future__ import annotations

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.graph.builder import Operand, Tensor


@checked
def gemm(
    a: Tensor,
    b: Operand,
    c: Operand | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """alpha * A B + beta * C: {..., M, K} by {..., K, N}; C broadcasts. Tensors of rank 2 to 4, of equal rank."""
    b = a.builder.like(b, a)
    m = a.sizes[-1 if transpose_a else -2]
    n = b.sizes[-2 if transpose_b else -1]
    sizes = (*a.sizes[:-2], m, n)
    return a.builder.one(
        DML_GEMM_OPERATOR_DESC,
        sizes,
        ATensor=a,
        BTensor=b,
        CTensor=None if c is None else a.builder.like(c, a).broadcast(sizes),
        TransA=enums.DML_MATRIX_TRANSFORM(int(transpose_a)),
        TransB=enums.DML_MATRIX_TRANSFORM(int(transpose_b)),
        Alpha=alpha,
        Beta=beta,
        FusedActivation=activation,
    )
