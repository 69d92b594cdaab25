"""Products of matrices."""

from __future__ import annotations

from math import prod

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import broadcast_sizes

__all__ = ["gemm"]


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
    """Return alpha * A B + beta * C: {..., M, K} by {..., K, N}; C broadcasts to the product.

    The dimensions before the matrices broadcast as in NumPy, up to eight dimensions in all.
    """
    b = a.builder.like(b, a)
    if min(a.rank, b.rank) < 2:
        raise DMLError(f"gemm: takes tensors of at least two dimensions, found sizes {a.sizes} and {b.sizes}")
    batch = broadcast_sizes(a.sizes[:-2], b.sizes[:-2])
    m = a.sizes[-1 if transpose_a else -2]
    n = b.sizes[-2 if transpose_b else -1]
    sizes = (*batch, m, n)
    product = a.builder.one(
        DML_GEMM_OPERATOR_DESC,
        _flat_sizes(sizes),
        ATensor=_batched(a, batch),
        BTensor=_batched(b, batch),
        CTensor=None if c is None else _batched(a.builder.like(c, a).broadcast(sizes), batch),
        TransA=enums.DML_MATRIX_TRANSFORM(int(transpose_a)),
        TransB=enums.DML_MATRIX_TRANSFORM(int(transpose_b)),
        Alpha=alpha,
        Beta=beta,
        FusedActivation=activation,
    )
    return product if len(batch) <= 2 else product.packed().view(sizes)


def _flat_sizes(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Merge the dimensions before the matrices if there are more than the two that the operator takes."""
    return sizes if len(sizes) <= 4 else (prod(sizes[:-2]), *sizes[-2:])


def _batched(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Return the matrices broadcast to the batch sizes."""
    whole = x.broadcast((*batch, *x.sizes[-2:]))
    return whole if len(batch) <= 2 else whole.reshape(*_flat_sizes(whole.sizes))
