"""FOLD and UNFOLD."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pytest
from movement_cases import like, numbers, output, run

import dml
from harness import assert_exact, assert_ulp


def blocks_of(spatial, window, strides, dilations, start, end):
    return tuple(
        (n + a + b - d * (w - 1) - 1) // s + 1
        for n, w, s, d, a, b in zip(spatial, window, strides, dilations, start, end, strict=True)
    )


def attributes(window, strides, dilations, start, end):
    return {
        "WindowSizes": window,
        "Strides": strides,
        "Dilations": dilations,
        "StartPadding": start,
        "EndPadding": end,
    }


def unfold_of(x, *window, layout="packed", out_layout="packed"):
    batch, channels, *spatial = x.shape
    sizes = (batch, channels * prod(window[0]), prod(blocks_of(spatial, *window)))
    return dml.DML_UNFOLD_OPERATOR_DESC(
        InputTensor=like(x, layout), OutputTensor=output(like(x).DataType, sizes, out_layout), **attributes(*window)
    )


def fold_of(columns, sizes, *window, layout="packed", out_layout="packed"):
    return dml.DML_FOLD_OPERATOR_DESC(
        InputTensor=like(columns, layout),
        OutputTensor=output(like(columns).DataType, sizes, out_layout),
        **attributes(*window),
    )


def places(spatial, window, strides, dilations, start, end):
    """Yield (tap index, block index, position in the tensor, or None in the padding)."""
    blocks = blocks_of(spatial, window, strides, dilations, start, end)
    for t, tap in enumerate(itertools.product(*map(range, window))):
        for b, block in enumerate(itertools.product(*map(range, blocks))):
            at = tuple(k * s + w * d - a for k, s, w, d, a in zip(block, strides, tap, dilations, start, strict=True))
            inside = all(0 <= i < n for i, n in zip(at, spatial, strict=True))
            yield t, b, at if inside else None


def unfolded(x, *window):
    batch, channels, *spatial = x.shape
    taps, blocks = prod(window[0]), prod(blocks_of(spatial, *window))
    result = np.zeros((batch, channels, taps, blocks), x.dtype)
    for t, b, at in places(spatial, *window):
        if at is not None:
            result[:, :, t, b] = x[(slice(None), slice(None), *at)]
    return result.reshape(batch, channels * taps, blocks)


def folded(columns, sizes, *window):
    batch, channels, *spatial = sizes
    taps = prod(window[0])
    source = columns.astype(np.float64).reshape(batch, channels, taps, -1)
    result = np.zeros(sizes)
    for t, b, at in places(spatial, *window):
        if at is not None:
            result[(slice(None), slice(None), *at)] += source[:, :, t, b]
    return result


THREE = ((3, 3), (1, 1), (1, 1))


def test_unfold_page_examples(device):
    x = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)
    starts = np.array([0, 1, 2, 5, 6, 7, 10, 11, 12])
    expected = (starts[:, None] + starts[None, :]).astype(np.float32)[None]
    result = run(device, unfold_of(x, *THREE, (0, 0), (0, 0)), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, expected)
    expected = np.array([
        [0, 0, 0, 0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17],
        [0, 0, 0, 1, 2, 3, 6, 7, 8, 11, 12, 13, 16, 17, 18],
        [0, 0, 0, 2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19],
        [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22],
        [1, 2, 3, 6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23],
        [2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24],
        [5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 0, 0, 0],
        [6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23, 0, 0, 0],
        [7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0, 0, 0],
    ], np.float32)[None]  # fmt: skip
    result = run(device, unfold_of(x, *THREE, (1, 0), (1, 0)), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, expected)


@pytest.mark.parametrize(
    "sizes, padding, expected",
    [
        ((1, 9, 4), (0, 0), [[0, 5, 13, 9], [14, 38, 54, 32], [38, 86, 102, 56], [26, 57, 65, 35]]),
        ((1, 9, 8), (1, 0), [[26, 70, 102, 60], [78, 183, 231, 129], [84, 195, 243, 135], [82, 182, 214, 116]]),
        ((1, 18, 8), (1, 0),
         [[26, 70, 102, 60], [78, 183, 231, 129], [84, 195, 243, 135], [82, 182, 214, 116],
          [170, 358, 390, 204], [294, 615, 663, 345], [300, 627, 675, 351], [226, 470, 502, 260]]),
    ],
)  # fmt: skip
def test_fold_page_examples(device, sizes, padding, expected):
    columns = np.arange(prod(sizes), dtype=np.float32).reshape(sizes)
    expected = np.array(expected, np.float32).reshape(1, sizes[1] // 9, 4, 4)
    desc = fold_of(columns, expected.shape, *THREE, padding, padding)
    assert_exact(run(device, desc, {"InputTensor": columns})["OutputTensor"], expected)


WINDOWS = [
    # spatial sizes, window, strides, dilations, start and end padding
    ((9,), ((3,), (2,), (2,), (1,), (2,))),
    ((7, 6), ((2, 3), (3, 1), (2, 1), (0, 2), (1, 0))),
    ((4, 5, 3), ((2, 1, 3), (1, 2, 1), (1, 3, 1), (1, 0, 1), (0, 0, 1))),
    ((3, 2, 4, 2), ((2, 1, 2, 2), (1, 1, 2, 1), (1,) * 4, (0, 1, 0, 0), (0,) * 4)),
    ((2, 3, 2, 1, 3), ((1, 2, 2, 1, 2), (1, 1, 1, 1, 2), (1,) * 5, (0,) * 5, (0, 0, 1, 0, 1))),
    ((3, 2, 3, 2, 2, 3), ((2, 1, 2, 2, 1, 2), (1, 1, 2, 1, 1, 1), (1,) * 6, (0, 0, 1, 0, 0, 0), (0,) * 6)),
]


@pytest.mark.parametrize("spatial, window", WINDOWS)
@pytest.mark.parametrize(
    "dtype, layout, out_layout",
    [("FLOAT32", "packed", "packed"), ("FLOAT16", "packed", "packed"), ("FLOAT32", "reversed", "padded"),
     ("FLOAT16", "padded", "reversed")],
)  # fmt: skip
def test_unfold_and_fold(device, spatial, window, dtype, layout, out_layout):
    x = numbers(dtype, (2, 3, *spatial))
    desc = unfold_of(x, *window, layout=layout, out_layout=out_layout)
    columns = unfolded(x, *window)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], columns)
    columns = np.abs(numbers(dtype, columns.shape, 1))
    desc = fold_of(columns, x.shape, *window, layout=layout, out_layout=out_layout)
    result = run(device, desc, {"InputTensor": columns})["OutputTensor"]
    assert_ulp(result, folded(columns, x.shape, *window), 4, "a float32 sum of up to 8 positive numbers")
