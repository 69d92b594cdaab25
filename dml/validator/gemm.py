"""Rules of the matrix products."""

from __future__ import annotations

from ..descriptors import DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, DML_GEMM_OPERATOR_DESC
from ..enums import DML_MATRIX_TRANSFORM
from .base import Check, rule


def matrix(sizes: tuple[int, ...], transform: DML_MATRIX_TRANSFORM) -> tuple[int, int]:
    """Rows and columns of the matrices in a tensor of these sizes, after the transform."""
    rows, columns = sizes[-2:]
    transposed = transform == DML_MATRIX_TRANSFORM.DML_MATRIX_TRANSFORM_TRANSPOSE
    return (columns, rows) if transposed else (rows, columns)


@rule(DML_GEMM_OPERATOR_DESC)
def gemm(desc: DML_GEMM_OPERATOR_DESC, check: Check) -> None:
    """{batch, channel, M, K} x {batch, channel, K, N} = {batch, channel, M, N}; C broadcasts by its strides."""
    m, k = matrix(desc.ATensor.Sizes, desc.TransA)
    k_of_b, n = matrix(desc.BTensor.Sizes, desc.TransB)
    check.that(k_of_b == k, "BTensor", f"must have {k} rows after TransB (as ATensor has columns after TransA)", k_of_b)
    batch = desc.ATensor.Sizes[:-2]
    check.that(desc.BTensor.Sizes[:-2] == batch, "BTensor", f"must have the batch sizes {batch} of ATensor")
    check.sizes("OutputTensor", (*batch, m, n), why="batch, M, N")
    check.fused_activation()
    if isinstance(desc.FusedActivation, DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        axes, rank = desc.FusedActivation.Axes, desc.OutputTensor.rank
        check.that(
            all(axis < rank for axis in axes) and len(set(axes)) == len(axes),
            "FusedActivation.Axes", f"must be different dimensions of OutputTensor, from 0 to {rank - 1}", axes,
        )  # fmt: skip
