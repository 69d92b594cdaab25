"""Depthwise convolutions on GPUs that read and store rows as vec4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from convolution_cases import BACKWARD, CONVOLUTION, build, check, of

import dml
from dml.compiler.operators.convolution import convolve
from dml.compiler.selection import convolution as selection
from harness import assert_sums, run

#: Sizes that do not fill tiles, and windows that reach into the padding before, around and after the columns.
FOURS = {
    "same": of(3, 1, 1, (9, 28), (3, 3), start=(1, 1), end=(1, 1)),
    "five": of(2, 1, 2, (6, 8), (5, 5), start=(2, 2), end=(2, 2)),
    "padded before": of(2, 1, 1, (7, 12), (3, 4), start=(0, 3), end=(1, 0)),
    "padded behind": of(2, 1, 1, (5, 20), (2, 3), start=(0, 0), end=(0, 2)),
    "one column": of(2, 1, 1, (5, 4), (3, 1), start=(1, 0), end=(1, 0)),
    "rows apart": of(2, 1, 1, (11, 16), (3, 3), strides=(2, 1), dilations=(1, 1), start=(1, 1), end=(1, 1)),
    "rows dilated": of(2, 1, 1, (11, 16), (3, 3), dilations=(3, 1), start=(3, 1), end=(3, 1)),
    "turned": of(2, 1, 1, (8, 8), (3, 3), start=(1, 1), end=(1, 1), mode=CONVOLUTION),
    "backward": of(2, 1, 1, (8, 8), (3, 3), start=(1, 1), end=(1, 1), direction=BACKWARD),
    "narrowed": of(2, 1, 1, (8, 12), (3, 3), start=(1, 0), end=(1, 0)),  # rows of 10, which is no multiple of four
    "volume": of(2, 1, 1, (4, 5, 12), (3, 3, 3), start=(1, 1, 1), end=(1, 1, 1)),
}


@pytest.fixture
def by_fours(seen_as, monkeypatch) -> dml.Device:
    """A discrete GPU that selects tiles of four columns wherever rows are multiples of four."""
    rule = selection.depthwise_tile

    def tile(target, sizes, bits, *, fours):
        found = rule(target, sizes, bits, fours=fours)
        return replace(found, rows=4, columns=4, fours=True) if fours else found

    monkeypatch.setattr(convolve, "depthwise_tile", tile)
    return dml.Device(seen_as("discrete").vulkan, dml.DML_FEATURE_LEVEL_6_4)


def fours_of(device: dml.Device, desc) -> list[str]:
    compiled = device.compile_operator(device.create_operator(desc))
    return [dict(d.source.defines).get("FOURS") for d in compiled.program.dispatches if "depthwise" in d.label]


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("name", FOURS)
def test_in_fours(by_fours, dtype, name):
    desc, *rest = build(dtype, 2, **FOURS[name])
    found = fours_of(by_fours, desc)
    assert found
    assert set(found) == {"0" if name == "narrowed" else "1"}
    check(by_fours, desc, *rest)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_activations(by_fours, dtype):
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    case = of(3, 1, 1, (9, 12), (3, 3), start=(1, 1), end=(1, 1))
    desc, arrays, expected, terms = build(dtype, 1, activation=relu, **case)
    assert fours_of(by_fours, desc) == ["1"]
    assert_sums(run(by_fours, desc, arrays)["OutputTensor"], np.maximum(expected, 0.0), terms, 9)
