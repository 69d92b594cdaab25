"""Rules of the matrix products."""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_MATRIX_TRANSFORM
from .base import Check, rule


def matrix(sizes: tuple[int, ...], transform: DML_MATRIX_TRANSFORM) -> tuple[int, int]:
    """Return the rows and columns of a tensor's matrices after the transform."""
    rows, columns = sizes[-2:]
    transposed = transform == DML_MATRIX_TRANSFORM.DML_MATRIX_TRANSFORM_TRANSPOSE
    return (columns, rows) if transposed else (rows, columns)


@rule(d.DML_GEMM_OPERATOR_DESC)
def gemm(desc: d.DML_GEMM_OPERATOR_DESC, check: Check) -> None:
    """Require {batch, channel, M, K} x {batch, channel, K, N} = {batch, channel, M, N}; C broadcasts by its strides."""
    m, k = matrix(desc.ATensor.Sizes, desc.TransA)
    k_of_b, n = matrix(desc.BTensor.Sizes, desc.TransB)
    check.that(k_of_b == k, "BTensor", f"must have {k} rows after TransB (as ATensor has columns after TransA)", k_of_b)
    batch = desc.ATensor.Sizes[:-2]
    check.that(desc.BTensor.Sizes[:-2] == batch, "BTensor", f"must have the batch sizes {batch} of ATensor")
    check.sizes("OutputTensor", (*batch, m, n), why="batch, M, N")
    check.fused_activation()
    if isinstance(desc.FusedActivation, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        axes, rank = desc.FusedActivation.Axes, desc.OutputTensor.rank
        check.that(
            all(axis < rank for axis in axes) and len(set(axes)) == len(axes),
            "FusedActivation.Axes", f"must be different dimensions of OutputTensor, from 0 to {rank - 1}", axes,
        )  # fmt: skip


@rule(d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC)
@rule(d.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC)
@rule(d.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC)
def integer_product(desc: d.OperatorDesc, check: Check) -> None:
    """Require scales and zero points that are one for the tensor, or one for each row of A or column of B."""
    a, b = check.tensor("ATensor"), check.tensor("BTensor")
    assert a is not None
    assert b is not None
    (m, k), (k_of_b, n) = a.Sizes[-2:], b.Sizes[-2:]
    batch = a.Sizes[:-2]
    check.that(k_of_b == k, "BTensor", f"must have {k} rows (as ATensor has columns)", b.Sizes)
    check.that(b.Sizes[:-2] == batch, "BTensor", f"must have the batch sizes {batch} of ATensor", b.Sizes)
    check.sizes("OutputTensor", (*batch, m, n), why="batch, M, N")
    for name in (info.name for info in desc.fields_info):
        if name in ("AScaleTensor", "AZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"):
            check.one_or_along(name, -2, m)
        elif name in ("BScaleTensor", "BZeroPointTensor"):
            check.one_or_along(name, -1, n)
