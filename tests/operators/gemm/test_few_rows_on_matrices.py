"""FLOAT16 products of few rows on cooperative matrices, where the device has them."""

from __future__ import annotations

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from harness import assert_sums, run

KERNEL = "gemm/few_matrix.comp"


def labels(device, desc):
    compiled = device.compile_operator(device.create_operator(desc))
    return [dispatch.label for dispatch in compiled.program.dispatches]


CASES = [
    (1, (), 8, 64, 64), (1, (), 3, 8, 72), (1, (2,), 5, 200, 40), (1, (2, 3), 2, 1096, 24),
    (0, (), 8, 64, 64), (0, (), 6, 8, 72), (0, (2,), 5, 200, 40), (0, (2, 3), 7, 1096, 24),
]  # fmt: skip


@pytest.mark.parametrize("tb, batch, m, k, n", CASES)
def test_products(on_matrices, tb, batch, m, k, n):
    """b contiguous along k or along n; k fills whole tiles, part of one, or gives some subgroups more tiles than
    others."""
    a, b, c, inputs = make("FLOAT16", batch, m, k, n, 0, tb, with_c=True)
    desc = describe(a, b, (*batch, m, n), 0, tb, c, 0.5, 2.0, activation=dml.DML_ACTIVATION_RELU_OPERATOR_DESC())
    assert labels(on_matrices, desc) == [KERNEL]
    expected, terms = product(a, b, 0, tb, 0.5, c, 2.0)
    assert_sums(run(on_matrices, desc, inputs)["OutputTensor"], np.maximum(expected, 0.0), terms, k)


@pytest.mark.parametrize("tb", [0, 1])
def test_infinities_and_nan_reach_their_rows_alone(on_matrices, tb):
    a, b = np.ones((5, 72), np.float16), np.ones((24, 72) if tb else (72, 24), np.float16)
    a[1, 71], a[4, 0] = np.inf, np.nan
    desc = describe(a, b, (5, 24), 0, tb)
    assert labels(on_matrices, desc) == [KERNEL]
    result = run(on_matrices, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    expected = np.full((5, 24), 72.0)
    expected[1], expected[4] = np.inf, np.nan
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("m, k, n, tb", [(9, 64, 64, 1), (4, 60, 64, 1), (4, 64, 64, 0)])
def test_products_for_other_kernels(on_matrices, m, k, n, tb):
    """Cases of other kernels: more rows than a matrix has, k no multiple of eight, and very few rows with b contiguous
    along n."""
    a, b, _, inputs = make("FLOAT16", (), m, k, n, 0, tb)
    desc = describe(a, b, (m, n), 0, tb)
    assert KERNEL not in labels(on_matrices, desc)
    expected, terms = product(a, b, 0, tb, 1.0)
    assert_sums(run(on_matrices, desc, inputs)["OutputTensor"], expected, terms, k)


def test_without_the_feature_the_portable_kernel(seen_as, on_matrices):
    a, b, _, _ = make("FLOAT16", (), 4, 64, 64, 0, 1)
    without = seen_as("subgroups", features=on_matrices.vulkan.target.features.without("cooperative_matrix"))
    assert labels(without, describe(a, b, (4, 64), 0, 1)) == ["gemm/vector.comp"]
