"""REVERSE_SUBSEQUENCES' rules about sizes."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError
from dml.shapes import with_size

U32, U64 = dml.DML_TENSOR_DATA_TYPE_UINT32, dml.DML_TENSOR_DATA_TYPE_UINT64


def reverse(sizes, lengths, axis, lengths_of=U32, out=None):
    tensor, of = dml.DML_BUFFER_TENSOR_DESC, dml.DML_TENSOR_DATA_TYPE_INT8
    return dml.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(
        tensor(of, sizes), tensor(lengths_of, lengths), tensor(of, out or sizes), axis
    )


@pytest.mark.parametrize("rank", range(1, 9))
def test_accepts_every_axis_of_every_rank(rank):
    sizes = tuple(range(2, 2 + rank))
    for axis in range(rank):
        lengths = with_size(sizes, axis, 1)
        dml.validate(reverse(sizes, lengths, axis))
        dml.validate(reverse(sizes, lengths, axis, lengths_of=U64))


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (
            reverse((2, 3), (2, 1), 2),
            r"REVERSE_SUBSEQUENCES\.Axis: must be a dimension of InputTensor, from 0 to 1, found 2",
        ),
        (
            reverse((2, 3), (2, 3), 1),
            r"SequenceLengthsTensor: must have sizes \(2, 1\) \(1 along Axis\), found \(2, 3\)",
        ),
        (reverse((2, 3), (2, 1), 0), r"SequenceLengthsTensor: must have sizes \(1, 3\)"),
        (reverse((2, 3), (2,), 1), r"dimension count of"),
        (reverse((2, 3), (2, 1), 1, out=(2, 4)), r"OutputTensor: must have sizes \(2, 3\)"),
        (reverse((2, 3), (2, 1), 1, lengths_of=dml.DML_TENSOR_DATA_TYPE_INT32), r"SequenceLengthsTensor\.DataType"),
    ],
)
def test_refuses(desc, message):
    with pytest.raises(DMLError, match=message):
        dml.validate(desc)
