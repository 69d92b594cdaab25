"""GEMM of tensors with gaps, reversed dimensions and broadcasts."""

from __future__ import annotations

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from harness import LAYOUTS, assert_sums, random, run, tensor


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("sizes", [(6, 10, 7), (36, 33, 40)])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", ["padded", "nhwc"])
def test_layouts(device, dtype, sizes, layout, other):
    m, k, n = sizes
    a, b, c, inputs = make(dtype, (2, 3), m, k, n, with_c=True)
    desc = describe(a, b, (2, 3, m, n), c=c, alpha=1.0, beta=1.0, layouts=(layout, other, layout, other))
    expected, terms = product(a, b, 0, 0, 1.0, c, 1.0)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("strides", [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0), (0, 35, 0, 1), (35, 0, 7, 1)])
def test_c_broadcasts_by_strides(device, strides):
    a, b, _, inputs = make("FLOAT32", (2, 3), 5, 4, 7)
    full = np.random.default_rng(1).uniform(-4, 4, 200).astype(np.float32)
    sizes = (2, 3, 5, 7)
    where = sum(np.indices(sizes)[d] * strides[d] for d in range(4))
    c = full[where]
    desc = describe(a, b, sizes, beta=2.0).replace(
        CTensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes, strides)
    )
    expected, terms = product(a, b, 0, 0, 1.0, c, 2.0)
    assert_sums(run(device, desc, {**inputs, "CTensor": c})["OutputTensor"], expected, terms, 4)


@pytest.mark.parametrize("m", [3, 40])
def test_a_and_b_broadcast_over_the_batch(device, m):
    rng = np.random.default_rng(2)
    a, b = random(rng, "FLOAT32", (m, 12)), random(rng, "FLOAT32", (12, 36))
    four = (4, 2)
    desc = describe(a, b, (m, 36)).replace(
        ATensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (*four, m, 12), (0, 0, 12, 1)),
        BTensor=dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (*four, 12, 36), (0, 0, 36, 1)),
        OutputTensor=tensor("FLOAT32", (*four, m, 36)),
    )
    inputs = {"ATensor": np.broadcast_to(a, (*four, m, 12)), "BTensor": np.broadcast_to(b, (*four, 12, 36))}
    expected, terms = product(a, b, 0, 0)
    result = run(device, desc, inputs)["OutputTensor"]
    assert_sums(result, np.broadcast_to(expected, result.shape), terms, 12)
