"""CONVOLUTION with taps that only ever read padding: wide dilations, and padding wider than the input."""

from __future__ import annotations

import pytest
from convolution_cases import CONVOLUTION, CORRELATION, build, products

from dml.compiler.operators.convolution.windows import windowed_sums
from harness import assert_sums

#: Sizes, strides, dilations, start padding, end padding; and the number of the 3 x 3 taps that remain.
CASES = [
    ((9, 9), (1, 1), (9, 9), (9, 9), (9, 9), 1),
    ((9, 9), (1, 1), (8, 8), (8, 8), (8, 8), 9),
    ((7, 10), (1, 1), (12, 2), (12, 2), (12, 2), 3),
    ((6, 6), (1, 1), (6, 6), (0, 0), (12, 12), 1),  # only the first tap reads the input
    ((6, 6), (1, 1), (6, 6), (12, 12), (0, 0), 1),  # only the last tap reads the input
    ((6, 5), (2, 2), (7, 7), (7, 7), (7, 7), 1),
    ((4, 4), (1, 1), (2, 2), (20, 20), (20, 20), 9),  # the border of the output reads padding only
]


@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("channels", [(1, 20, 24), (2, 3, 5), (6, 1, 1)])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_values(device, case, channels, dtype, mode):
    sizes, strides, dilations, start, end, _ = case
    groups, inputs, outputs = channels
    desc, arrays, expected, terms = build(
        dtype, 2, groups, inputs, outputs, sizes, (3, 3), mode=mode, strides=strides, dilations=dilations,
        start=start, end=end,
    )  # fmt: skip
    compiled = device.compile_operator(device.create_operator(desc))
    assert_sums(compiled.dispatch(arrays)["OutputTensor"], expected, terms, products(desc))


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_only_taps_that_meet_the_input_are_computed(device, case, monkeypatch):
    seen = []

    def watched(convolution):
        found = windowed_sums(convolution)
        seen.extend(sums.windows.taps for sums in found)
        return found

    monkeypatch.setattr("dml.compiler.operators.convolution.convolve.windowed_sums", watched)
    sizes, strides, dilations, start, end, left = case
    desc, *_ = build(
        "FLOAT32", 1, 1, 7, 9, sizes, (3, 3), strides=strides, dilations=dilations, start=start, end=end
    )  # fmt: skip
    device.compile_operator(device.create_operator(desc))
    [(_, high, wide)] = seen
    assert high * wide == left
