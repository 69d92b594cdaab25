"""Descriptions that MATRIX_MULTIPLY_INTEGER refuses."""

from __future__ import annotations

import pytest

import dml
from harness import tensor


def integer_desc(a=(4, 6), b=(6, 5), out=(4, 5), **more):
    return dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=tensor("INT8", a), BTensor=tensor("INT8", b), OutputTensor=tensor("INT32", out), **more
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"b": (7, 5)}, "BTensor: must have 6 rows"),
        ({"a": (2, 4, 6), "b": (3, 6, 5), "out": (2, 4, 5)}, "BTensor: must have the batch sizes"),
        ({"out": (4, 6)}, "OutputTensor: must have sizes"),
        ({"AZeroPointTensor": tensor("INT8", (1, 4))}, "AZeroPointTensor: must have size 1, or 4 in dimension 0"),
        ({"AZeroPointTensor": tensor("INT8", (3,))}, "AZeroPointTensor: must have size 1, or 4 in dimension 0"),
        ({"BZeroPointTensor": tensor("INT8", (5, 1))}, "BZeroPointTensor: must have size 1, or 5 in dimension 1"),
        ({"AZeroPointTensor": tensor("UINT8", (1,))}, "AZeroPointTensor|ATensor"),
    ],
)
def test_refuses(changes, message):
    dml.validate(integer_desc())
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(integer_desc(**changes))
