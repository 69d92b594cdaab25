"""GEMM against float64 NumPy: transposes, batches, C, scalars, fused activations."""

from __future__ import annotations

import numpy as np
import pytest
from gemm_cases import describe, make, product

import dml
from harness import assert_sums, run


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("ta", [0, 1])
@pytest.mark.parametrize("tb", [0, 1])
@pytest.mark.parametrize(
    "batch, m, k, n",
    [((), 5, 7, 9), ((3,), 1, 16, 40), ((2, 3), 17, 12, 1), ((2, 1), 36, 36, 68), ((), 33, 35, 34)],
)
def test_transposes_types_and_dimensions(device, dtype, ta, tb, batch, m, k, n):
    a, b, c, inputs = make(dtype, batch, m, k, n, ta, tb, with_c=(m + n) % 2 == 0)
    desc = describe(a, b, (*batch, m, n), ta, tb, c, alpha=0.75, beta=-1.5)
    expected, terms = product(a, b, ta, tb, 0.75, c, -1.5)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, k)


ACTIVATIONS = [
    (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(), lambda x: np.maximum(x, 0), 1),
    (dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), lambda x: 1 / (1 + np.exp(-x)), 1),
    (dml.DML_ACTIVATION_TANH_OPERATOR_DESC(), np.tanh, 1),
    (dml.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(Alpha=0.5), lambda x: np.where(x < 0, 0.5 * x, x), 1),
    (dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-1.0, Max=2.0), lambda x: np.clip(x, -1, 2), 1),
]


@pytest.mark.parametrize("activation, reference, slope", ACTIVATIONS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_fused_activation(device, activation, reference, slope, dtype):
    a, b, c, inputs = make(dtype, (), 6, 5, 12, with_c=True)
    desc = describe(a, b, (6, 12), c=c, alpha=0.25, beta=0.5, activation=activation)
    expected, terms = product(a, b, 0, 0, 0.25, c, 0.5)
    assert_sums(run(device, desc, inputs)["OutputTensor"], reference(expected), terms, 5, slope)


def test_infinities_and_nan_stay_in_their_rows(device):
    a, b, _, inputs = make("FLOAT32", (), 9, 6, 11)
    a[3, 2], a[5, 1] = np.inf, np.nan
    b[2, 4] = -1.0
    result = run(device, describe(a, b, (9, 11)), inputs)["OutputTensor"]
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b
    assert np.array_equal(np.isnan(result), np.isnan(expected))
    assert np.array_equal(np.isposinf(result), np.isposinf(expected))
    assert np.array_equal(np.isneginf(result), np.isneginf(expected))


def test_c_is_not_read_when_beta_is_zero(device):
    a, b, c, inputs = make("FLOAT32", (), 4, 4, 4, with_c=True)
    c[:] = np.nan
    expected, terms = product(a, b, 0, 0)
    desc = describe(a, b, (4, 4), c=c, beta=0.0)
    assert_sums(run(device, desc, inputs)["OutputTensor"], expected, terms, 4)


@pytest.mark.parametrize("axes", [None, (1,), (0, 2)])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_fused_softmax(device, axes, dtype):
    a, b, c, inputs = make(dtype, (2,), 6, 5, 9, with_c=True)
    if axes is None:
        activation = dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC()
    else:
        activation = dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=axes)
    desc = describe(a, b, (2, 6, 9), c=c, alpha=0.25, beta=1.0, activation=activation)
    sums, terms = product(a, b, 0, 0, 0.25, c, 1.0)
    over = (2,) if axes is None else axes
    expected = np.exp(sums - sums.max(over, keepdims=True))
    expected /= expected.sum(over, keepdims=True)
    result = run(device, desc, inputs)["OutputTensor"]
    # The absolute error of a sum is the relative error of its exponential; the exponential and the quotient add a few
    # ulp.
    relative = 2 * 11 * 2.0**-24 * terms.max() + 16 * 2.0**-24
    allowed = relative * expected + (2.0**-11 * expected + 2.0**-25 if dtype == "FLOAT16" else 1e-30)
    assert np.all(abs(result - expected) <= allowed)
