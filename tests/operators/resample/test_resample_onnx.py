"""RESAMPLE1 and RESAMPLE3 compared with ONNX Runtime's Resize."""

from __future__ import annotations

import numpy as np
import pytest
from test_resample_values import SUM, forward, positive, resample_of

from harness import assert_exact, assert_ulp
from onnx_peer import onnx_run


def resize(x, scales, **attributes):
    inputs = {"x": x, "roi": np.zeros(0, np.float32), "scales": np.array(scales, np.float32)}
    return onnx_run("Resize", inputs, coordinate_transformation_mode="half_pixel", **attributes)[0]


@pytest.mark.parametrize("scales", [(1, 1, 2, 3), (1, 1, 0.5, 1.5), (1, 1, 1.25, 0.75)])
def test_linear(device, scales):
    x = positive("FLOAT32", (2, 3, 8, 12))
    expected = resize(x, scales, mode="linear")
    assert_ulp(forward(device, resample_of(1, x, expected.shape, scales), x), expected, 32, f"both: {SUM}")


@pytest.mark.parametrize("scales", [(1, 1, 2, 3), (1, 1, 0.5, 1.5), (1, 1, 2.5, 0.25)])
@pytest.mark.parametrize(
    "nearest, version, shift, direction",
    [("round_prefer_ceil", 1, 0.0, "DECREASING"), ("floor", 2, 0.0, "DECREASING"), ("ceil", 2, 0.0, "INCREASING"),
     ("round_prefer_floor", 2, 0.5, "INCREASING")],
)  # fmt: skip
def test_nearest(device, scales, nearest, version, shift, direction):
    """ONNX's nearest_mode round_prefer_ceil is RESAMPLE1's rounding; its other modes take an offset of half a pixel, a
    direction of rounding, or both."""
    x = positive("FLOAT32", (2, 3, 8, 12))
    expected = resize(x, scales, mode="nearest", nearest_mode=nearest)
    a = tuple(0.5 + (shift if scale != 1 else 0) for scale in scales)
    desc = resample_of(version, x, expected.shape, scales, "NEAREST_NEIGHBOR", a, direction=direction)
    assert_exact(forward(device, desc, x), expected)


@pytest.mark.parametrize("dtype", ["UINT8", "INT8"])
def test_8_bit_results_are_whole_parts(device, dtype):
    x = (positive("FLOAT32", (1, 1, 6, 8)) - (60 if dtype == "INT8" else 0)).astype(dtype.lower())
    expected = resize(x, (1, 1, 2, 2), mode="linear")
    assert_exact(forward(device, resample_of(1, x, expected.shape, (1, 1, 2, 2)), x), expected)


def test_antialiasing(device):
    x = positive("FLOAT32", (1, 2, 17, 33))
    expected = resize(x, (1, 1, 0.3, 0.25), mode="linear", antialias=1)
    desc = resample_of(3, x, expected.shape, (1, 1, 0.3, 0.25), wide=True)
    assert_ulp(forward(device, desc, x), expected, 32, f"both: {SUM}")
