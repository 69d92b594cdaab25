"""Rules of the matrix products."""

from __future__ import annotations

from ..descriptors import (
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC,
    DML_GEMM_OPERATOR_DESC,
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
    DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC,
    OperatorDesc,
)
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


def per_row_or_column(check: Check, name: str, axis: int, count: int) -> None:
    """The scale or zero point has one element, or ``count`` along dimension ``axis`` (-2: rows, -1: columns).

    A tensor of one dimension holds its elements in that one. Reference: the integer matrix products' pages.
    """
    for field, tensor in check.tensors(name):
        at = max(axis, -tensor.rank) + tensor.rank
        others = tensor.Sizes[:at] + tensor.Sizes[at + 1 :]
        check.that(
            tensor.Sizes[at] in (1, count) and all(size == 1 for size in others),
            field, f"must have size 1, or {count} in dimension {at}, and size 1 in all others", tensor.Sizes,
        )  # fmt: skip


def _product(desc: OperatorDesc, check: Check) -> None:
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
            per_row_or_column(check, name, -2, m)
        elif name in ("BScaleTensor", "BZeroPointTensor"):
            per_row_or_column(check, name, -1, n)


rule(DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC)(_product)
rule(DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC)(_product)
rule(DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC)(_product)
