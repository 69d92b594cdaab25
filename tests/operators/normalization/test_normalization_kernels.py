"""The normalization kernels for long rows, many rows and GPUs, against float64 NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from normalization_close import close, ones_at

import dml
from dml.conformance.references import normalization as reference
from harness import assert_exact, like, random, run, tensor

SIGMOID = dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(InputTensor=None, OutputTensor=None)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_one_long_row(device: Any, dtype: str) -> None:
    """A row too long for one workgroup: statistics and result are separate dispatches."""
    rng = np.random.default_rng(12)
    x = random(rng, dtype, (1, 2, 80000), 1, 5)
    scale, bias = random(rng, dtype, (1, 1, 1)), random(rng, dtype, (1, 1, 1))
    add = random(rng, dtype, x.shape)
    tensors = {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias, "FusedAddTensor": add}
    desc = dml.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(
        **{name: like(array) for name, array in tensors.items()}, OutputTensor=like(x), OutputMeanTensor=like(scale),
        OutputVarianceTensor=like(scale), Epsilon=1e-3, FusedActivation=SIGMOID,
    )  # fmt: skip
    compiled = device.compile_operator(device.create_operator(desc))
    assert len(compiled.program.dispatches) > 1
    results = compiled.dispatch(tensors)
    y, mean, variance = reference.batch_training(x, scale, bias, add, 1e-3)
    close(results["OutputTensor"], 1 / (1 + np.exp(-y)), 10)
    close(results["OutputMeanTensor"], mean, 5)
    close(results["OutputVarianceTensor"], variance, 5)


@pytest.mark.parametrize("shape, axes, layout", [
    ((3, 8), (1,), "packed"), ((5, 256), (1,), "packed"), ((2, 3, 8, 16), (2, 3), "nhwc"), ((40, 7), (0,), "packed"),
    ((2, 4, 3, 64), (1, 3), "padded"), ((300, 64), (1,), "packed"), ((2, 40000), (1,), "packed"),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_what_a_gpu_gets(
    as_discrete: Any, shape: tuple[int, ...], axes: tuple[int, ...], layout: str, dtype: str
) -> None:
    """On GPUs rows have more lanes, and workgroups several rows."""
    rng = np.random.default_rng(13)
    x = random(rng, dtype, shape, 3, 9)
    scale, bias = (
        random(rng, dtype, shape),
        random(rng, dtype, ones_at(shape, axes)),
    )
    tensors = {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias}
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        **{name: like(array, layout if name == "InputTensor" else "packed") for name, array in tensors.items()},
        OutputTensor=tensor(dtype, shape, layout), Axes=axes, NormalizeVariance=True, Epsilon=1e-2,
    )  # fmt: skip
    close(run(as_discrete, desc, tensors)["OutputTensor"], reference.mean_variance(x, axes, scale, bias, 1e-2), 40)


@pytest.mark.parametrize("rows", [256, 271])
@pytest.mark.parametrize("shape, axes, layout", [((16,), (1,), "packed"), ((5, 3), (1, 2), "padded")])
@pytest.mark.parametrize("given", ["common", "one of each"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_many_rows_with_parameters_in_common(
    device: Any, rows: int, shape: tuple[int, ...], axes: tuple[int, ...], layout: str, given: str, dtype: str
) -> None:
    """On CPU drivers an invocation takes several rows, the last invocation fewer."""
    rng = np.random.default_rng(15)
    x = random(rng, dtype, (rows, *shape), 3, 9)
    scale, bias = random(rng, dtype, (1, *shape)), random(rng, dtype, (1 if given == "common" else rows, *shape))
    tensors = {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias}
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        **{name: like(array, layout if name == "InputTensor" else "packed") for name, array in tensors.items()},
        OutputTensor=tensor(dtype, x.shape, layout), Axes=axes, NormalizeVariance=True, Epsilon=1e-2,
    )  # fmt: skip
    expected = reference.mean_variance(x, axes, scale, bias, 1e-2)
    close(run(device, desc, tensors)["OutputTensor"], expected, 40)


@pytest.mark.parametrize("shape, axes", [
    ((5, 256), (1,)), ((3, 1000), (1,)), ((4, 4096), (1,)), ((2, 5, 10, 8, 8), (2, 3, 4)), ((3, 40960), (1,)),
])  # fmt: skip
@pytest.mark.parametrize("axis", ["discrete", "subgroups"])
def test_halves_that_are_held_as_they_are(
    fast_halves: dml.Device,
    seen_as: Callable[..., dml.Device],
    axis: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
) -> None:
    """Packed FLOAT16 vectors, converted again on each pass, give the same results as elements converted once."""
    rng = np.random.default_rng(17)
    x = random(rng, "FLOAT16", shape, 3, 9)
    x.reshape(-1)[:3] = 0, 6e-8, -0.0
    scale, bias = (random(rng, "FLOAT16", ones_at(shape, axes)) for _ in range(2))
    tensors = {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias}
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        **{name: like(array) for name, array in tensors.items()}, OutputTensor=like(x), Axes=axes,
        NormalizeVariance=True, Epsilon=1e-2,
    )  # fmt: skip
    features = seen_as(axis).vulkan.target.features
    modes = fast_halves.vulkan.target.features.float16_exact
    found = {}
    for packed, each in ((0, features.without("float16_exact")), (1, replace(features, float16_exact=modes))):
        device = seen_as(axis, features=each)
        compiled = device.compile_operator(device.create_operator(desc))
        (dispatch,) = compiled.program.dispatches
        assert dict(dispatch.source.defines)["PACKED"] == str(packed)
        found[packed] = compiled.dispatch(tensors)["OutputTensor"]
    assert_exact(found[1], found[0])
