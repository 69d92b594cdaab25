"""CONVOLUTION against float64 NumPy, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_cases import BACKWARD, CASES, CONVOLUTION, CORRELATION, FORWARD, build, check, products

import dml
from harness import assert_sums, run


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.parametrize("mode, dtype", [(CORRELATION, "FLOAT32"), (CONVOLUTION, "FLOAT16")])
def test_attributes(device, case, direction, mode, dtype):
    check(device, *build(dtype, 2, direction=direction, mode=mode, bias=mode == CORRELATION, **case))


@pytest.mark.parametrize("strides, padding, output_padding", [
    ((2, 2), (1, 1), (1, 1)), ((3, 2), (0, 1), (2, 0)), ((4, 1), (0, 0), (3, 0)), ((5, 5), (0, 0), (0, 0)),
])  # fmt: skip
@pytest.mark.parametrize("dilations", [(1, 1), (2, 3)])
def test_transposed_with_output_padding(device, strides, padding, output_padding, dilations):
    check(device, *build("FLOAT32", 1, 2, 3, 4, (4, 5), (3, 3), BACKWARD, strides=strides, dilations=dilations,
                         start=padding, end=padding, output_padding=output_padding))  # fmt: skip


def test_output_padding_of_a_forward_convolution_holds_the_bias(device):
    case = build("FLOAT32", 1, 1, 3, 4, (6, 7), (3, 3), start=(1, 1), end=(1, 1), output_padding=(2, 1))
    check(device, *case)
    _, arrays, expected, _ = case
    assert np.all(expected[0, :, -1, -1] == arrays["BiasTensor"].ravel())


def test_transposed_crops_by_its_padding(device):
    check(device, *build("FLOAT32", 1, 1, 4, 4, (5, 6), (4, 4), BACKWARD, strides=(2, 2), start=(3, 2), end=(1, 3)))


@pytest.mark.parametrize("window", [(3, 3), (1, 1), (1, 40)], ids=["direct", "product", "general"])
@pytest.mark.parametrize(
    "activation, reference_of",
    [
        (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(), lambda x: np.maximum(x, 0)),
        (dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-2.0, Max=3.0), lambda x: np.clip(x, -2, 3)),
    ],
    ids=["relu", "clip"],
)
def test_fused_activation(device, window, activation, reference_of):
    desc, arrays, expected, terms = build("FLOAT32", 1, 1, 4, 8, (6, 48), window, activation=activation)
    result = run(device, desc, arrays)["OutputTensor"]
    assert_sums(result, reference_of(expected), terms, products(desc))
    assert len(np.unique(result)) > 10
