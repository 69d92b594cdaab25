"""FLOAT16 convolutions on cooperative matrices, where the device has them."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_cases import BACKWARD, build, check, of

from dml.compiler.selection import convolution

KERNEL = "convolution/implicit_matrix.comp"

CASES = [
    of(1, 32, 40, (9, 11), (3, 3), start=(1, 1), end=(1, 1)),
    of(1, 16, 20, (8, 8), (3, 3), start=(1, 1), end=(1, 1), dilations=(3, 2)),
    of(2, 16, 36, (7, 10), (3, 2), strides=(2, 1), start=(0, 1)),
    of(1, 3, 17, (15, 13), (7, 7), strides=(2, 2), start=(3, 3), end=(3, 3)),
    of(1, 24, 130, (6, 6), (1, 1), strides=(1, 2)),
    of(1, 16, 13, (3, 4, 5), (2, 3, 2), start=(1, 0, 1)),
    of(1, 16, 16, (5, 6), (3, 3), strides=(2, 2), direction=BACKWARD),
    of(1, 32, 130, (7, 9), (3, 3), start=(1, 1), end=(1, 1)),
]


def labels(device, desc):
    compiled = device.compile_operator(device.create_operator(desc))
    return [dispatch.label for dispatch in compiled.program.dispatches]


@pytest.mark.parametrize("layout", ["packed", "nhwc", "padded"])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_convolutions(on_matrices, layout, case):
    built = build("FLOAT16", 2, layout=layout, **case)
    assert KERNEL in labels(on_matrices, built[0])
    check(on_matrices, *built)


def test_channels_are_put_last_where_many_read_them(on_matrices):
    """x is copied to channels last if its channels are not contiguous and many output channels read it."""
    for layout, kernels in (("packed", 3), ("nhwc", 2)):
        desc, *_ = build("FLOAT16", 2, layout=layout, **CASES[-1])
        assert len(labels(on_matrices, desc)) == kernels
    few, *_ = build("FLOAT16", 2, layout="packed", **CASES[0])
    assert len(labels(on_matrices, few)) == 2


@pytest.mark.parametrize("case", [CASES[-1], CASES[3], CASES[4]])
def test_the_largest_tile(monkeypatch, on_matrices, case):
    """Selection usually takes the largest tile only for large results; here a single tile suffices."""
    tiles = [(*tile, 1) for *tile, _ in convolution.MATRIX_TILES]
    monkeypatch.setattr(convolution, "MATRIX_TILES", tiles)
    built = build("FLOAT16", 2, **case)
    compiled = on_matrices.compile_operator(on_matrices.create_operator(built[0]))
    assert compiled.program.dispatches[-1].label == KERNEL
    check(on_matrices, *built)


def test_sums_are_kept_in_float32(on_matrices):
    """In FLOAT16, 2048 + 1 rounds to 2048: a sum of ones would stop there."""
    desc, arrays, *_ = build("FLOAT16", 1, 1, 512, 16, (4, 4), (3, 3), bias=False)
    ones = {name: np.ones_like(array) for name, array in arrays.items()}
    assert KERNEL in labels(on_matrices, desc)
    result = on_matrices.compile_operator(on_matrices.create_operator(desc)).dispatch(ones)["OutputTensor"]
    np.testing.assert_array_equal(result, 4608)


def test_without_the_feature_the_portable_kernel(seen_as, on_matrices):
    built = build("FLOAT16", 1, **CASES[0])
    without = seen_as("subgroups", features=on_matrices.vulkan.target.features.without("cooperative_matrix"))
    assert "convolution/implicit.comp" in labels(without, built[0])


def test_without_a_table(monkeypatch, on_matrices):
    """Without the offset table, as for large windows that exceed it, results are the same."""
    monkeypatch.setattr("dml.compiler.selection.convolution._LARGEST_TABLE", 0)
    for case in (CASES[3], CASES[4]):
        built = build("FLOAT16", 2, **case)
        assert KERNEL in labels(on_matrices, built[0])
        check(on_matrices, *built)
