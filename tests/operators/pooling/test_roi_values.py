"""Regions of interest against float64 NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from dml.conformance.references.regions import Sampling, pool
from harness import assert_exact, like, random, run, tensor

LINEAR, NEAREST = dml.DML_INTERPOLATION_MODE_LINEAR, dml.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR
AVERAGE, MAX = dml.DML_REDUCE_FUNCTION_AVERAGE, dml.DML_REDUCE_FUNCTION_MAX

#: Regions inside, reaching out on each side, wholly outside, inverted, empty, tiny. No sample is exactly on an element,
#: where slopes jump.
REGIONS = np.array(
    [[0.7, 1.2, 5.3, 6.1], [-2.37, -1.71, 3.12, 2.24], [4.2, 3.3, 12.6, 9.9], [20, 20, 30, 30],
     [5.1, 6.2, 1.4, 0.9], [2.6, 3.3, 2.6, 3.3], [3.12, 2.21, 3.37, 2.43]],
    np.float32,
)  # fmt: skip
BATCHES = np.array([0, 1, 1, 0, 1, 0, 1], np.uint32)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("layout", ["packed", "nhwc"])
def test_roi_pooling(device: Any, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(1)
    x = random(rng, dtype, (2, 3, 9, 8))
    regions = np.array(
        [
            [0, 0, 0, 15, 17],
            [1, 2, 3, 9, 4],
            [1, -6, -4, 30, 9],
            [0, 5, 5, 5, 5],
            [1, 40, 40, 50, 50],
            [0, 1, 3, 13, 9],
        ],
        x.dtype,
    )
    desc = dml.DML_ROI_POOLING_OPERATOR_DESC(
        InputTensor=like(x, layout),
        ROITensor=like(regions.reshape(1, 1, -1, 5)),
        OutputTensor=tensor(dtype, (len(regions), 3, 3, 4), layout),
        SpatialScale=0.5,
        PooledSize=dml.DML_SIZE_2D(Width=4, Height=3),
    )
    inputs = {"InputTensor": x, "ROITensor": regions.reshape(1, 1, -1, 5)}
    assert_exact(run(device, desc, inputs)["OutputTensor"], pool(x, regions, 0.5, 3, 4))


def test_roi_pooling_of_a_large_cell(device: Any) -> None:
    """A workgroup shares a cell of 90,000 elements; NaN stays NaN."""
    x = random(np.random.default_rng(2), "FLOAT32", (1, 2, 300, 300))
    x[0, 1, 299, 298] = np.nan
    regions = np.array([[[[0, 0, 0, 299, 299]]]], np.float32)
    desc = dml.DML_ROI_POOLING_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions), OutputTensor=tensor("FLOAT32", (1, 2, 1, 1)),
        SpatialScale=1.0, PooledSize=dml.DML_SIZE_2D(1, 1),
    )  # fmt: skip
    result = run(device, desc, {"InputTensor": x, "ROITensor": regions})["OutputTensor"]
    assert_exact(result, x.max((2, 3), keepdims=True))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_roi_pooling_of_cells_that_share_words(device: Any, dtype: str) -> None:
    """Cells of 40,000 elements: two in one invocation would exceed a CPU driver's loop limit."""
    x = random(np.random.default_rng(2), dtype, (1, 3, 200, 200))
    x[:, :, 199, 199] = 7
    regions = np.array([[[[0, 0, 0, 199, 199]]]], x.dtype)
    desc = dml.DML_ROI_POOLING_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions), OutputTensor=tensor(dtype, (1, 3, 1, 1)),
        SpatialScale=1.0, PooledSize=dml.DML_SIZE_2D(1, 1),
    )  # fmt: skip
    result = run(device, desc, {"InputTensor": x, "ROITensor": regions})["OutputTensor"]
    assert_exact(result, np.full((1, 3, 1, 1), 7, x.dtype))


def attributes(sampling: Sampling, *, old: bool = False, grad: bool = False) -> dict[str, Any]:
    """Return the sampling as fields of ROI_ALIGN1; with ``old`` of ROI_ALIGN, with ``grad`` of ROI_ALIGN_GRAD."""
    found: dict[str, Any] = {
        "ReductionFunction": AVERAGE if sampling.mean else MAX,
        "InterpolationMode": NEAREST if sampling.nearest else LINEAR,
        "SpatialScaleX": sampling.scale_x,
        "SpatialScaleY": sampling.scale_y,
        "MinimumSamplesPerOutput": sampling.minimum,
        "MaximumSamplesPerOutput": sampling.maximum,
    }
    if not grad:
        found["OutOfBoundsInputValue"] = sampling.outside
    if not old:
        found["InputPixelOffset"] = sampling.input_offset
        found["OutputPixelOffset"] = sampling.output_offset
        found["AlignRegionsToCorners"] = sampling.align
    return found


SAMPLINGS = {
    "average": Sampling(),
    "maximum": Sampling(mean=False, minimum=2, maximum=3),
    "nearest": Sampling(nearest=True, scale_x=1.03, scale_y=0.97),
    "nearest maximum": Sampling(mean=False, nearest=True, maximum=2, scale_x=1.03),
    "scaled": Sampling(scale_x=0.75, scale_y=1.25, outside=-3.5, minimum=2, maximum=2),
    "corners": Sampling(input_offset=0.0, output_offset=0.0, align=True, outside=2.0),
    "aligned centres": Sampling(align=True, minimum=1, maximum=1),
    "top left": Sampling(input_offset=0.0, output_offset=0.0, mean=False, maximum=4),
}


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("dtype, index, rank, layout", [
    ("FLOAT32", "UINT32", 0, "packed"), ("FLOAT32", "UINT64", 1, "nhwc"), ("FLOAT16", "UINT32", 2, "padded"),
])  # fmt: skip
def test_roi_align(device: Any, name: str, dtype: str, index: str, rank: int, layout: str) -> None:
    sampling = SAMPLINGS[name]
    old = (sampling.input_offset, sampling.output_offset, sampling.align) == (0.5, -0.5, False) and rank != 1
    x = random(np.random.default_rng(3), dtype, (2, 2, 7, 8))
    regions, batches = REGIONS.astype(x.dtype), BATCHES.astype({"UINT32": np.uint32, "UINT64": np.uint64}[index])
    inputs = {
        "InputTensor": x,
        "ROITensor": regions.reshape(*[1] * rank, -1, 4),
        "BatchIndicesTensor": batches.reshape(*[1] * rank, -1),
    }
    operator = dml.DML_ROI_ALIGN_OPERATOR_DESC if old else dml.DML_ROI_ALIGN1_OPERATOR_DESC
    desc = operator(
        InputTensor=like(x, layout),
        ROITensor=like(inputs["ROITensor"], "reversed" if rank == 0 else "packed"),
        BatchIndicesTensor=like(inputs["BatchIndicesTensor"]),
        OutputTensor=tensor(dtype, (len(regions), 2, 3, 2), layout),
        **attributes(sampling, old=old),
    )
    result = run(device, desc, inputs)["OutputTensor"]
    expected = sampling.align_regions(x, regions, BATCHES, 3, 2)
    # Coordinates up to 12 have an error of about 1e-6, times a slope of at most 8.
    np.testing.assert_allclose(result, expected, rtol=np.finfo(result.dtype).eps, atol=2e-5)


def test_roi_align_reads_special_values_only_where_they_weigh(device: Any) -> None:
    x = np.array([[[[1, np.inf, 3, np.nan]]]], np.float32)
    regions = np.array([[0, 0, 1, 1], [1, 0, 2, 1], [2, 0, 3, 1], [3, 0, 4, 1]], np.float32)
    desc = dml.DML_ROI_ALIGN_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions), BatchIndicesTensor=tensor("UINT32", (4,)),
        OutputTensor=tensor("FLOAT32", (4, 1, 1, 1)), **attributes(Sampling(), old=True),
    )  # fmt: skip
    inputs = {"InputTensor": x, "ROITensor": regions, "BatchIndicesTensor": np.zeros(4, np.uint32)}
    assert_exact(run(device, desc, inputs)["OutputTensor"], x.reshape(4, 1, 1, 1))


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize(
    "wanted, dtype", [("both", "FLOAT32"), ("both", "FLOAT16"), ("image", "FLOAT32"), ("regions", "FLOAT32")]
)
def test_roi_align_grad(device: Any, name: str, wanted: str, dtype: str) -> None:
    sampling = SAMPLINGS[name]
    rng = np.random.default_rng(4)
    x, gradient = random(rng, dtype, (2, 2, 7, 8)), random(rng, dtype, (len(REGIONS), 2, 3, 2))
    regions = REGIONS.astype(x.dtype)
    inputs = {"InputGradientTensor": gradient, "ROITensor": regions, "BatchIndicesTensor": BATCHES}
    tensors: dict[str, Any] = {}
    if wanted != "image" or not sampling.mean:
        inputs["InputTensor"] = x
        tensors["InputTensor"] = like(x, "padded")
    if wanted != "regions":
        tensors["OutputGradientTensor"] = tensor(dtype, x.shape, "nhwc")
    if wanted != "image":
        tensors["OutputROIGradientTensor"] = like(regions, "padded")
    desc = dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient, "reversed"),
        ROITensor=like(regions),
        BatchIndicesTensor=like(BATCHES),
        **tensors,
        **attributes(sampling, grad=True),
    )
    results = run(device, desc, inputs)
    dx, edges = sampling.grad(x, gradient, regions, BATCHES)
    eps = np.finfo(gradient.dtype).eps
    if wanted != "regions":
        np.testing.assert_allclose(results["OutputGradientTensor"], dx, rtol=eps, atol=2e-5)
    if wanted != "image":
        # Slopes of up to 8 times gradients of up to 4, a dozen of them, with weights of about 1e-6 error.
        np.testing.assert_allclose(results["OutputROIGradientTensor"], edges, rtol=eps, atol=4e-4)


def test_roi_align_grad_example(device: Any) -> None:
    """The example of dml_roi_align_grad_operator_desc, forward and backward."""
    regions = np.array([[0, 0, 2, 2], [2, 0, 4, 2], [0, 2, 2, 4], [2, 2, 4, 4]], np.float32)
    batches = np.zeros(4, np.uint32)
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    sampling = Sampling(nearest=True, minimum=1, maximum=1)
    forward = dml.DML_ROI_ALIGN1_OPERATOR_DESC(
        InputTensor=like(x), ROITensor=like(regions), BatchIndicesTensor=like(batches),
        OutputTensor=tensor("FLOAT32", (4, 1, 1, 3)), **attributes(sampling),
    )  # fmt: skip
    shared = {"ROITensor": regions, "BatchIndicesTensor": batches}
    result = run(device, forward, {"InputTensor": x, **shared})["OutputTensor"]
    expected = np.array([[1, 1, 2], [3, 3, 4], [9, 9, 10], [11, 11, 12]], np.float32).reshape(4, 1, 1, 3)
    assert_exact(result, expected)
    gradient = np.arange(1, 13, dtype=np.float32).reshape(4, 1, 1, 3)
    backward = dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient), ROITensor=like(regions), BatchIndicesTensor=like(batches),
        OutputGradientTensor=like(x), **attributes(sampling, grad=True),
    )  # fmt: skip
    result = run(device, backward, {"InputGradientTensor": gradient, **shared})["OutputGradientTensor"]
    expected = np.array([[3, 3, 9, 6], [0, 0, 0, 0], [15, 9, 21, 12], [0, 0, 0, 0]], np.float32)
    assert_exact(result, expected.reshape(1, 1, 4, 4))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_gradients_of_many_regions(device: Any, dtype: str) -> None:
    """More regions than one dispatch takes on a CPU driver: later dispatches continue the sums."""
    rng = np.random.default_rng(5)
    count = 700
    corners = np.round(rng.uniform(0, 4, (count, 4)) * 8) / 8
    regions, batches = corners.astype(np.float32 if dtype == "FLOAT32" else np.float16), np.zeros(count, np.uint32)
    gradient = random(rng, dtype, (count, 1, 9, 9))
    sampling = Sampling(minimum=1, maximum=1)
    desc = dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient), ROITensor=like(regions), BatchIndicesTensor=like(batches),
        OutputGradientTensor=tensor(dtype, (1, 1, 4, 4)), **attributes(sampling, grad=True),
    )  # fmt: skip
    inputs = {"InputGradientTensor": gradient, "ROITensor": regions, "BatchIndicesTensor": batches}
    result = run(device, desc, inputs)["OutputGradientTensor"]
    dx, _ = sampling.grad(np.zeros((1, 1, 4, 4)), gradient, regions, batches)
    np.testing.assert_allclose(result, dx, rtol=1e-5 + np.finfo(result.dtype).eps, atol=2e-3)


#: Regions far larger than the input, many samples per element, or both: a loop over samples would be too long.
MANY = {
    "large region": (Sampling(outside=2.0), [-3010.3, 1.2, 5200.9, 6.1]),
    "large region, maximum": (Sampling(mean=False, outside=-9.0), [-310.3, 700.2, 420.9, -806.1]),
    "large region, nearest": (Sampling(nearest=True, scale_x=1.01), [5200.9, -450.3, -3010.3, 401.7]),
    "dense": (Sampling(minimum=701, outside=0.5), [1.3, -2.2, 6.1, 9.7]),
    "dense maximum": (Sampling(mean=False, minimum=700, outside=-0.5), [6.1, 1.3, -0.2, 7.7]),
    "dense nearest maximum": (Sampling(mean=False, nearest=True, minimum=512), [1.25, 7.0, 6.25, -2.0]),
    "dense nearest": (Sampling(nearest=True, minimum=640), [0.25, 1.5, 6.25, 9.5]),
    "dense corners": (Sampling(minimum=601, align=True, outside=1.0), [0.4, 1.3, 7.8, 6.4]),
    "empty": (Sampling(minimum=500), [2.6, 3.3, 2.6, 3.3]),
}


def roi_align(device: Any, x: Any, region: Any, pooled: tuple[int, int], sampling: Sampling) -> Any:
    """Run one region of an image {1, 1, H, W}."""
    inputs = {"InputTensor": x, "ROITensor": region.reshape(1, 4), "BatchIndicesTensor": np.zeros(1, np.uint32)}
    desc = dml.DML_ROI_ALIGN1_OPERATOR_DESC(
        **{name: like(array) for name, array in inputs.items()},
        OutputTensor=tensor(dml.data_type_of(x.dtype), (1, 1, *pooled)),
        **attributes(sampling),
    )
    return run(device, desc, inputs)["OutputTensor"][0, 0]


def roi_align_grad(device: Any, x: Any, gradient: Any, region: Any, sampling: Sampling) -> Any:
    inputs = {
        "InputTensor": x,
        "InputGradientTensor": gradient,
        "ROITensor": region.reshape(1, 4),
        "BatchIndicesTensor": np.zeros(1, np.uint32),
    }
    desc = dml.DML_ROI_ALIGN_GRAD_OPERATOR_DESC(
        **{name: like(array) for name, array in inputs.items()},
        OutputGradientTensor=like(x),
        OutputROIGradientTensor=like(inputs["ROITensor"]),
        **attributes(sampling, grad=True),
    )
    results = run(device, desc, inputs)
    return results["OutputGradientTensor"][0, 0], results["OutputROIGradientTensor"][0]


@pytest.mark.parametrize("name", MANY)
def test_many_samples(device: Any, name: str) -> None:
    sampling, corners = MANY[name]
    rng = np.random.default_rng(6)
    x, gradient = random(rng, "FLOAT32", (1, 1, 7, 8)), random(rng, "FLOAT32", (1, 1, 2, 3))
    region = np.array(corners, np.float32)
    result = roi_align(device, x, region, (2, 3), sampling)
    regions, batches = region.reshape(1, 4), np.zeros(1, np.uint32)
    expected = sampling.align_regions(x, regions, batches, 2, 3)[0, 0]
    # Coordinates have errors of some ulp of the region's size: samples may cross an edge, or move along a slope of 8.
    size = float(np.abs(region).max())
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6 * size)

    dx, edges = sampling.grad(x, gradient, regions, batches)
    found, found_edges = roi_align_grad(device, x, gradient, region, sampling)
    np.testing.assert_allclose(found, dx[0, 0], rtol=1e-6, atol=1e-5 + 1e-6 * size)
    np.testing.assert_allclose(found_edges, edges[0], rtol=1e-5, atol=1e-4 + 1e-6 * size)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("mean", [True, False])
def test_an_output_of_a_whole_image(device: Any, dtype: str, mean: bool) -> None:
    """One output samples 90,000 positions, more than a CPU driver loops over in one dispatch."""
    x = random(np.random.default_rng(7), dtype, (1, 1, 300, 310))
    x[0, 0, 299, 309] = 100  # the last sample reads this element
    sampling, region = Sampling(mean=mean), np.array([0, 0, 310, 300], x.dtype)
    result = roi_align(device, x, region, (1, 1), sampling)
    expected = x.astype(np.float64).mean() if mean else 100.0
    np.testing.assert_allclose(result, [[expected]], rtol=np.finfo(x.dtype).eps, atol=1e-6)

    found, edges = roi_align_grad(device, x, np.ones((1, 1, 1, 1), x.dtype), region, sampling)
    share = np.full(x.shape[2:], 1 / (300 * 310)) if mean else (x[0, 0] == 100).astype(np.float64)
    np.testing.assert_allclose(found, share, rtol=np.finfo(x.dtype).eps, atol=1e-7)
    np.testing.assert_array_equal(edges, np.zeros(4))  # every sample is exactly on an element


@pytest.mark.parametrize("mean", [True, False])
def test_an_output_of_many_columns(device: Any, mean: bool) -> None:
    """14,000 columns with several samples in each take more than one dispatch."""
    x = np.zeros((1, 1, 1, 14000), np.float32)
    x[..., -1400:] = 10
    sampling = Sampling(mean=mean, minimum=3 * 14000, maximum=3 * 14000)
    result = roi_align(device, x, np.array([0, 0, 14000, 1], np.float32), (1, 1), sampling)
    np.testing.assert_allclose(result, [[1.0 if mean else 10.0]], rtol=2e-5)


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("samples", [2**20 + 1, 2**32 - 1])
def test_more_samples_than_numbers(device: Any, mean: bool, samples: int) -> None:
    """Billions of samples along both axes: the mean is the integral, the maximum is over the region's elements and
    corners."""
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4) ** 2
    region = np.array([0.75, 0.5, 3.25, 2.5], np.float32)
    sampling = Sampling(mean=mean, minimum=samples, maximum=samples)
    result = roi_align(device, x, region, (1, 2), sampling)
    # The region, shifted by half an element: columns 0.25 to 1.5 and 1.5 to 2.75, rows 0 to 2; and each element's
    # integral weight.
    down = np.array([0.25, 0.5, 0.25])
    first = [0.75 * 0.375, 0.75 * 0.625 + 0.5 * 0.75, 0.5 * 0.25, 0]
    second = [0, 0.5 * 0.25, 0.5 * 0.75 + 0.75 * 0.625, 0.75 * 0.375]
    across = np.array([first, second]) / 1.25
    expected = down @ x[0, 0] @ across.T if mean else np.array([(81 + 100) / 2, 100 + 0.75 * 21])
    np.testing.assert_allclose(result, expected.reshape(1, 2), rtol=1e-5)
