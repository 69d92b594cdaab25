"""Copies and expressions of transposed data, which GPUs transpose in shared memory: bit-exact, around the tile size."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from harness import assert_exact, random, run

TYPES = ["FLOAT32", "FLOAT16", "UINT8", "INT64", "UINT16"]


def transposition(kind, sizes, order):
    """Return an identity whose input is packed in another order of dimensions."""
    data_type = dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind}"]
    packed = dml.packed_strides([sizes[axis] for axis in order])
    strides = [0] * len(sizes)
    for place, axis in enumerate(order):
        strides[axis] = packed[place]
    seen = dml.DML_BUFFER_TENSOR_DESC(data_type, sizes, tuple(strides))
    made = dml.DML_BUFFER_TENSOR_DESC(data_type, sizes)
    return dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(InputTensor=seen, OutputTensor=made)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "sizes, order",
    [
        ((40, 64), (1, 0)),
        ((3, 33, 72), (0, 2, 1)),
        ((2, 20, 5, 32), (0, 2, 3, 1)),
        ((65, 3, 136), (2, 1, 0)),
        ((2, 136, 296), (0, 2, 1)),
    ],
)
def test_transposes(as_discrete, kind, sizes, order):
    desc = transposition(kind, sizes, order)
    compiled = as_discrete.compile_operator(as_discrete.create_operator(desc))
    per_vector = {"FLOAT32": 4, "FLOAT16": 8, "UINT16": 8}.get(kind, 0)
    moved = sizes[order[-1]], sizes[-1]  # sizes of the input's and of the output's contiguous dimension
    in_vectors = per_vector and not any(size % per_vector for size in moved)
    kernel = "elementwise/transpose_blocks.comp" if in_vectors else "elementwise/transpose.comp"
    assert [dispatch.label for dispatch in compiled.program.dispatches] == [kernel]
    x = random(np.random.default_rng(2), kind, sizes)
    assert_exact(run(as_discrete, desc, {"InputTensor": x})["OutputTensor"], x)


@pytest.mark.parametrize("sizes", [(48, 50), (48, 56)])
def test_an_expression_of_transposed_halves(as_discrete, sizes):
    desc = transposition("FLOAT16", sizes, (1, 0))
    scaled = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
        desc.InputTensor, desc.OutputTensor, dml.DML_SCALE_BIAS(Scale=2.0, Bias=1.0)
    )
    x = np.random.default_rng(3).integers(-100, 100, sizes).astype(np.float16)
    assert_exact(run(as_discrete, scaled, {"InputTensor": x})["OutputTensor"], 2 * x + 1)


def test_rows_that_share_words_are_not_turned(as_discrete):
    """Rows of an odd number of halves: some words contain elements of two rows."""
    x = random(np.random.default_rng(4), "FLOAT16", (40, 33))
    assert_exact(run(as_discrete, transposition("FLOAT16", (40, 33), (1, 0)), {"InputTensor": x})["OutputTensor"], x)
