"""Pooling and regions of interest compared with ONNX Runtime, whose operators of the same names have the same
meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from harness import assert_exact, like, random, run, tensor
from onnx_peer import onnx_run

WINDOW = {"Strides": (2, 1), "WindowSize": (3, 2), "StartPadding": (1, 0), "EndPadding": (1, 1)}
ONNX_WINDOW = {"strides": [2, 1], "kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}


@pytest.mark.parametrize("include", [False, True])
def test_average(device: Any, include: bool) -> None:
    x = random(np.random.default_rng(1), "FLOAT32", (2, 3, 9, 8))
    (expected,) = onnx_run("AveragePool", {"x": x}, count_include_pad=int(include), **ONNX_WINDOW)
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(expected), IncludePadding=include, **WINDOW
    )
    np.testing.assert_allclose(run(device, desc, {"InputTensor": x})["OutputTensor"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_lp(device: Any, p: int) -> None:
    x = random(np.random.default_rng(2), "FLOAT32", (2, 3, 9, 8))
    (expected,) = onnx_run("LpPool", {"x": x}, p=p, **ONNX_WINDOW)
    desc = dml.DML_LP_POOLING_OPERATOR_DESC(InputTensor=like(x), OutputTensor=like(expected), P=p, **WINDOW)
    np.testing.assert_allclose(run(device, desc, {"InputTensor": x})["OutputTensor"], expected, rtol=1e-5)


@pytest.mark.parametrize("dilations", [(1, 1), (2, 3)])
def test_max_and_unpooling(device: Any, dilations: tuple[int, int]) -> None:
    x = np.round(random(np.random.default_rng(3), "FLOAT32", (2, 3, 9, 8)))
    expected, indices = onnx_run("MaxPool", {"x": x}, 2, dilations=list(dilations), **ONNX_WINDOW)
    desc: Any = dml.DML_MAX_POOLING2_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(expected), OutputIndicesTensor=tensor("UINT64", indices.shape),
        Dilations=dilations, **WINDOW,
    )  # fmt: skip
    results = run(device, desc, {"InputTensor": x})
    assert_exact(results["OutputTensor"], expected)
    assert_exact(results["OutputIndicesTensor"], indices.astype(np.uint64))
    shape = np.array(x.shape, np.int64)
    (restored,) = onnx_run("MaxUnpool", {"x": expected, "i": indices, "shape": shape}, kernel_shape=[3, 2])
    unsigned = indices.astype(np.uint64)
    desc = dml.DML_MAX_UNPOOLING_OPERATOR_DESC(
        InputTensor=like(expected), IndicesTensor=like(unsigned), OutputTensor=like(x)
    )
    result = run(device, desc, {"InputTensor": expected, "IndicesTensor": unsigned})["OutputTensor"]
    assert_exact(result, restored)


def test_roi_pooling(device: Any) -> None:
    x = random(np.random.default_rng(4), "FLOAT32", (2, 3, 9, 8))
    regions = np.array([[0, 1, 2, 12, 14], [1, 4, 0, 13, 9], [0, 5, 5, 5, 5]], np.float32)
    (expected,) = onnx_run("MaxRoiPool", {"x": x, "r": regions}, pooled_shape=[3, 2], spatial_scale=0.5)
    desc = dml.DML_ROI_POOLING_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions.reshape(1, 1, 3, 5)), OutputTensor=like(expected),
        SpatialScale=0.5, PooledSize=dml.DML_SIZE_2D(Width=2, Height=3),
    )  # fmt: skip
    result = run(device, desc, {"InputTensor": x, "ROITensor": regions.reshape(1, 1, 3, 5)})["OutputTensor"]
    assert_exact(result, expected)


@pytest.mark.parametrize("ratio", [0, 1, 3])
@pytest.mark.parametrize("mode", ["half_pixel", "output_half_pixel"])
def test_roi_align(device: Any, mode: str, ratio: int) -> None:
    """A sampling ratio of 0 samples at the density of the elements, rounded up."""
    rng = np.random.default_rng(5)
    x = random(rng, "FLOAT32", (2, 3, 9, 8))
    corners = rng.uniform(0, 5, (6, 2))
    regions = np.concatenate([corners, corners + rng.uniform(1.2, 9, (6, 2))], 1).astype(np.float32)
    batches = np.array([0, 1, 1, 0, 1, 0])
    inputs = {"x": x, "r": regions, "b": batches}
    (expected,) = onnx_run(
        "RoiAlign", inputs, coordinate_transformation_mode=mode, mode="avg", output_height=3, output_width=2,
        sampling_ratio=ratio, spatial_scale=0.9,
    )  # fmt: skip
    desc = dml.DML_ROI_ALIGN1_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions), BatchIndicesTensor=tensor("UINT32", (6,)),
        OutputTensor=like(expected), ReductionFunction=dml.DML_REDUCE_FUNCTION_AVERAGE,
        InterpolationMode=dml.DML_INTERPOLATION_MODE_LINEAR, SpatialScaleX=0.9, SpatialScaleY=0.9,
        InputPixelOffset=0.5 if mode == "half_pixel" else 0.0, OutputPixelOffset=-0.5, OutOfBoundsInputValue=0.0,
        MinimumSamplesPerOutput=max(ratio, 1), MaximumSamplesPerOutput=ratio or 2**32 - 1, AlignRegionsToCorners=False,
    )  # fmt: skip
    given = {"InputTensor": x, "ROITensor": regions, "BatchIndicesTensor": batches.astype(np.uint32)}
    np.testing.assert_allclose(run(device, desc, given)["OutputTensor"], expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("include", [False, True])
def test_quantized_average(device: Any, include: bool) -> None:
    rng = np.random.default_rng(6)
    x = random(rng, "UINT8", (2, 3, 9, 8), 0, 255)
    scales = np.array(0.031, np.float32), np.array(0.043, np.float32)
    zeros = np.array(9, np.uint8), np.array(31, np.uint8)
    inputs = {"x": x, "xs": scales[0], "xz": zeros[0], "ys": scales[1], "yz": zeros[1]}
    (expected,) = onnx_run(
        "QLinearAveragePool", inputs, domain="com.microsoft", count_include_pad=int(include), **ONNX_WINDOW
    )
    tensors = {
        "InputTensor": x, "InputScaleTensor": scales[0].reshape(1), "InputZeroPointTensor": zeros[0].reshape(1),
        "OutputScaleTensor": scales[1].reshape(1), "OutputZeroPointTensor": zeros[1].reshape(1),
    }  # fmt: skip
    desc = dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(
        **{name: like(array) for name, array in tensors.items()}, OutputTensor=like(expected), Dilations=(1, 1),
        IncludePadding=include, **WINDOW,
    )  # fmt: skip
    result = run(device, desc, tensors)["OutputTensor"]
    # ONNX Runtime rounds an average of rounded products: near a tie it may round the other way.
    assert np.max(np.abs(result.astype(int) - expected.astype(int))) <= 1
    assert np.mean(result != expected) < 0.02
