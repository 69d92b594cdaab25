"""FLOAT16 products on cooperative matrices, where the device has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from desktop import DESKTOP
from dml.compiler.features import Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass
from dml.runtime.writing import STEPS_PER_SECOND, SUBMISSION_SECONDS
from harness import assert_sums, run, tensor

KERNEL = "gemm/cooperative.comp"


def labels(device, desc):
    compiled = device.compile_operator(device.create_operator(desc))
    return [dispatch.label for dispatch in compiled.program.dispatches]


@pytest.mark.parametrize("ta, tb, layout", [(0, 0, "packed"), (1, 1, "packed"), (0, 1, "padded"), (1, 0, "reversed")])
@pytest.mark.parametrize("batch, m, k, n", [((), 40, 48, 56), ((2,), 33, 35, 37), ((2, 2), 16, 16, 72)])
def test_products(on_matrices, ta, tb, layout, batch, m, k, n):
    a, b, c, inputs = make("FLOAT16", batch, m, k, n, ta, tb, with_c=True)
    desc = describe(a, b, (*batch, m, n), ta, tb, c, 0.5, 2.0, layouts=(layout,) * 4)
    assert labels(on_matrices, desc)[-1] == KERNEL
    expected, terms = product(a, b, ta, tb, 0.5, c, 2.0)
    assert_sums(run(on_matrices, desc, inputs)["OutputTensor"], expected, terms, k)


@pytest.mark.parametrize("k", [1032, 1544])
def test_parts_of_k(on_matrices, k):
    a, b, c, inputs = make("FLOAT16", (), 24, k, 40, with_c=True)
    desc = describe(a, b, (24, 40), 0, 0, c, 1.0, 1.0, activation=dml.DML_ACTIVATION_RELU_OPERATOR_DESC())
    assert labels(on_matrices, desc) == [KERNEL, "gemm/parts.comp"]
    expected, terms = product(a, b, 0, 0, 1.0, c, 1.0)
    assert_sums(run(on_matrices, desc, inputs)["OutputTensor"], np.maximum(expected, 0.0), terms, k)


def test_infinities_and_nan_reach_their_rows_alone(on_matrices):
    a, b = np.ones((32, 40), np.float16), np.ones((40, 32), np.float16)
    a[3, 39], a[7, 0] = np.inf, np.nan
    result = run(on_matrices, describe(a, b, (32, 32)), {"ATensor": a, "BTensor": b})["OutputTensor"]
    expected = np.full((32, 32), 40.0)
    expected[3], expected[7] = np.inf, np.nan
    np.testing.assert_array_equal(result, expected)


def test_sums_are_kept_in_float32(on_matrices):
    """In FLOAT16, 2048 + 1 rounds to 2048: a sum of 4095 ones would stop there."""
    a, b = np.ones((16, 4095), np.float16), np.ones((4095, 16), np.float16)
    desc = describe(a, b, (16, 16), alpha=1 / 4095)
    result = run(on_matrices, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    np.testing.assert_array_equal(result, 1.0)


def test_a_large_product_is_one_submission():
    """Matrix units are so fast that the product is not split into submissions, at whose ends cores would idle."""
    halves = MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
    features = Features(float16=True, memory_model=True, cooperative_matrices=(halves,))
    matrix = tensor("FLOAT16", (4096, 4096))
    desc = dml.DML_GEMM_OPERATOR_DESC(matrix, matrix, None, matrix, 0, 0, 1.0, 0.0, None)
    (dispatch,) = compile_operator(desc, replace(DESKTOP, features=features)).dispatches
    assert dispatch.label == KERNEL
    assert dispatch.work <= SUBMISSION_SECONDS * STEPS_PER_SECOND[DeviceClass.DISCRETE]


def test_without_the_feature_the_portable_kernel(seen_as, on_matrices):
    a, b, _, _ = make("FLOAT16", (), 40, 48, 56)
    without = seen_as("subgroups", features=on_matrices.vulkan.target.features.without("cooperative_matrix"))
    assert labels(without, describe(a, b, (40, 56))) == ["gemm/shared.comp"]
