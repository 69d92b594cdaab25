"""GEMM's rules about sizes."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError


def tensor(*sizes, **more):
    return dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes, **more)


def gemm(a, b, out, ta=0, tb=0, **more):
    return dml.DML_GEMM_OPERATOR_DESC(
        ATensor=a, BTensor=b, OutputTensor=out, TransA=ta, TransB=tb, Alpha=1.0, Beta=1.0, **more
    )


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("ta", "tb"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_accepts_transposes_and_batches(batch, ta, tb):
    a = (7, 4) if ta else (4, 7)
    b = (5, 7) if tb else (7, 5)
    out = tensor(*batch, 4, 5)
    dml.validate(gemm(tensor(*batch, *a), tensor(*batch, *b), out, ta, tb))
    dml.validate(gemm(tensor(*batch, *a), tensor(*batch, *b), out, ta, tb, CTensor=out))
    if a != b[::-1]:
        with pytest.raises(DMLError, match="GEMM"):
            dml.validate(gemm(tensor(*batch, *a), tensor(*batch, *b), out, 1 - ta, tb))


def test_c_broadcasts_by_its_strides():
    c = tensor(1, 1, 4, 5, Strides=(0, 0, 0, 1))
    dml.validate(gemm(tensor(1, 1, 4, 7), tensor(1, 1, 7, 5), tensor(1, 1, 4, 5), CTensor=c))


@pytest.mark.parametrize(
    ("a", "b", "out", "message"),
    [
        ((4, 7), (6, 5), (4, 5), r"GEMM\.BTensor: must have 7 rows after TransB .*found 6"),
        ((4, 7), (7, 5), (4, 6), r"GEMM\.OutputTensor: must have sizes \(4, 5\)"),
        ((2, 4, 7), (3, 7, 5), (2, 4, 5), r"GEMM\.BTensor: must have the batch sizes \(2,\) of ATensor"),
        ((2, 4, 7), (2, 7, 5), (1, 4, 5), r"GEMM\.OutputTensor: must have sizes \(2, 4, 5\)"),
        ((7,), (7,), (1,), r"GEMM\.ATensor\.DimensionCount: must be 2 to 4"),
    ],
)
def test_refuses(a, b, out, message):
    with pytest.raises(DMLError, match=message):
        dml.validate(gemm(tensor(*a), tensor(*b), tensor(*out)))


def test_needs_four_dimensions_before_4_0():
    desc = gemm(tensor(4, 7), tensor(7, 5), tensor(4, 5))
    dml.validate(desc, dml.DML_FEATURE_LEVEL_4_0)
    with pytest.raises(DMLError, match="must be 4 at feature level 3_1"):
        dml.validate(desc, dml.DML_FEATURE_LEVEL_3_1)
