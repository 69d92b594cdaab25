"""Normalizations and their gradients against float64 NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from normalization_close import close, ones_at

import dml
from dml.conformance.references import normalization as reference
from harness import like, random, run, tensor

SHAPES = [(7,), (3, 8), (2, 3, 4), (2, 3, 4, 5), (2, 2, 3, 2, 4), (2, 1, 2, 3, 1, 2), (1, 2, 2, 1, 2, 2, 3),
          (2, 1, 2, 1, 2, 2, 1, 3)]  # fmt: skip
RELU = dml.DML_ACTIVATION_RELU_OPERATOR_DESC(InputTensor=None, OutputTensor=None)
SIGMOID = dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(InputTensor=None, OutputTensor=None)
ACTIVATIONS: dict[Any, Any] = {
    None: lambda x: x,
    RELU: lambda x: np.maximum(x, 0),
    SIGMOID: lambda x: 1 / (1 + np.exp(-x)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype, layout, activation", [
    ("FLOAT32", "packed", None), ("FLOAT32", "padded", SIGMOID), ("FLOAT16", "reversed", RELU),
])  # fmt: skip
def test_batch(device: Any, shape: tuple[int, ...], dtype: str, layout: str, activation: Any) -> None:
    """Each parameter has its own sizes: per channel, all sizes, or one element."""
    rng = np.random.default_rng(1)
    x = random(rng, dtype, shape)
    kept = ones_at(shape, [d for d in range(len(shape)) if d != 1])
    mean, variance = random(rng, dtype, kept), random(rng, dtype, kept, 0.1, 3)
    scale, bias = random(rng, dtype, shape), random(rng, dtype, (1,) * len(shape))
    tensors = {
        "InputTensor": x,
        "MeanTensor": mean,
        "VarianceTensor": variance,
        "ScaleTensor": scale,
        "BiasTensor": bias,
    }
    desc = dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC(
        **{name: like(array, layout if name in ("InputTensor", "ScaleTensor") else "packed")
           for name, array in tensors.items()},
        OutputTensor=tensor(dtype, shape, layout), Spatial=True, Epsilon=1e-3, FusedActivation=activation,
    )  # fmt: skip
    expected = ACTIVATIONS[activation](reference.batch(x, mean, variance, scale, bias, 1e-3))
    close(run(device, desc, tensors)["OutputTensor"], expected, 40)


def test_batch_with_owned_parameters(device: Any) -> None:
    """Parameters that DirectML owns are combined once, at initialization."""
    rng = np.random.default_rng(2)
    x = random(rng, "FLOAT32", (2, 3, 4, 4))
    parameters = {
        f"{name}Tensor": random(rng, "FLOAT32", (1, 3, 1, 1), 0.5, 2) for name in ("Mean", "Variance", "Scale", "Bias")
    }
    owned = dml.DML_TENSOR_FLAG_OWNED_BY_DML
    desc = dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x), **{name: like(array, Flags=owned) for name, array in parameters.items()},
        OutputTensor=like(x), Spatial=True, Epsilon=1e-5,
    )  # fmt: skip
    compiled = device.compile_operator(device.create_operator(desc))
    expected = reference.batch(
        x, *(parameters[f"{name}Tensor"] for name in ("Mean", "Variance", "Scale", "Bias")), 1e-5
    )
    close(compiled.dispatch({"InputTensor": x, **parameters})["OutputTensor"], expected, 20)
    again = compiled.dispatch({"InputTensor": x + 1})["OutputTensor"]
    shift = parameters["ScaleTensor"] / np.sqrt(parameters["VarianceTensor"] + 1e-5)
    close(again, expected + shift, 20)


@pytest.mark.parametrize("shape, kept", [
    ((6, 5), (1,)), ((4, 3, 5, 6), (1,)), ((4, 3, 5, 6), ()), ((3, 4, 5, 2), (1, 2, 3)), ((2, 3, 4), (0, 1, 2)),
    ((2, 2, 3, 4, 1, 2), (1, 3)), ((9,), ()), ((1, 3, 2, 1), (1,)),
])  # fmt: skip
@pytest.mark.parametrize("dtype, layout, add, activation", [
    ("FLOAT32", "packed", True, None), ("FLOAT32", "reversed", False, SIGMOID), ("FLOAT16", "padded", True, RELU),
])  # fmt: skip
def test_batch_training(
    device: Any, shape: tuple[int, ...], kept: tuple[int, ...], dtype: str, layout: str, add: bool, activation: Any
) -> None:
    rng = np.random.default_rng(3)
    x = random(rng, dtype, shape, 1, 5)
    small = ones_at(shape, [d for d in range(len(shape)) if d not in kept])
    tensors = {"InputTensor": x, "ScaleTensor": random(rng, dtype, small), "BiasTensor": random(rng, dtype, small)}
    if add:
        tensors["FusedAddTensor"] = random(rng, dtype, shape)
    desc = dml.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(
        **{name: like(array, layout if array.shape == shape else "packed") for name, array in tensors.items()},
        OutputTensor=tensor(dtype, shape, layout), OutputMeanTensor=tensor(dtype, small, layout),
        OutputVarianceTensor=tensor(dtype, small), Epsilon=1e-3, FusedActivation=activation,
    )  # fmt: skip
    results = run(device, desc, tensors)
    y, mean, variance = reference.batch_training(
        x, tensors["ScaleTensor"], tensors["BiasTensor"], tensors.get("FusedAddTensor"), 1e-3
    )
    # With few or equal elements, the division by a root near that of epsilon magnifies the rounding errors.
    close(results["OutputTensor"], ACTIVATIONS[activation](y), 60)
    close(results["OutputMeanTensor"], mean, 5)
    close(results["OutputVarianceTensor"], variance, 5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape, kept", [
    ((6, 5), (1,)), ((4, 3, 5, 6), (1,)), ((4, 3, 5, 6), ()), ((3, 4, 5, 2), (1, 2, 3)), ((2, 3, 4), (0, 1, 2)),
    ((2, 2, 3, 4, 1, 2), (1, 3)), ((9,), ()), ((1, 3, 2, 1), (1,)),
])  # fmt: skip
@pytest.mark.parametrize("dtype, layout", [("FLOAT32", "packed"), ("FLOAT32", "reversed"), ("FLOAT16", "padded")])
def test_batch_gradients(
    device: Any, training: bool, shape: tuple[int, ...], kept: tuple[int, ...], dtype: str, layout: str
) -> None:
    rng = np.random.default_rng(4)
    x, gradient = random(rng, dtype, shape, 1, 5), random(rng, dtype, shape)
    small = ones_at(shape, [d for d in range(len(shape)) if d not in kept])
    axes = tuple(d for d in range(len(shape)) if small[d] == 1)
    mean = x.astype(np.float64).mean(axes, keepdims=True).astype(x.dtype)
    variance = (x.astype(np.float64).var(axes, keepdims=True) + 0.5).astype(x.dtype)
    tensors = {
        "InputTensor": x, "InputGradientTensor": gradient, "MeanTensor": mean, "VarianceTensor": variance,
        "ScaleTensor": random(rng, dtype, small),
    }  # fmt: skip
    operator = (
        dml.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC
        if training
        else dml.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC
    )
    desc = operator(
        **{name: like(array, layout) for name, array in tensors.items()},
        OutputGradientTensor=tensor(dtype, shape, layout), OutputScaleGradientTensor=tensor(dtype, small),
        OutputBiasGradientTensor=tensor(dtype, small, layout), Epsilon=1e-3,
    )  # fmt: skip
    results = run(device, desc, tensors)
    expected = reference.batch_grad(x, gradient, mean, variance, tensors["ScaleTensor"], 1e-3, training=training)
    count = x.size // max(1, mean.size)
    close(results["OutputGradientTensor"], expected[0], 60)
    close(results["OutputScaleGradientTensor"], expected[1], 4 * count)
    close(results["OutputBiasGradientTensor"], expected[2], 4 * count)


@pytest.mark.parametrize("training", [False, True])
def test_batch_gradients_with_strides_of_sizes_of_one(device: Any, training: bool) -> None:
    """Strides along a statistic's dimensions of size 1 are ignored, even if the gradient's order differs."""
    rng = np.random.default_rng(14)
    x, gradient = random(rng, "FLOAT32", (1, 5, 8, 2, 1)), random(rng, "FLOAT32", (1, 5, 1, 2, 1))
    gradient = np.broadcast_to(gradient, x.shape)
    mean, scale = random(rng, "FLOAT32", (1, 5, 1, 1, 1)), random(rng, "FLOAT32", (1, 5, 1, 1, 1))
    variance = random(rng, "FLOAT32", (1, 5, 1, 1, 1), 0.5, 2)
    small = like(mean)
    operator = (
        dml.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC
        if training
        else dml.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC
    )
    desc = operator(
        InputTensor=like(x),
        InputGradientTensor=dml.DML_BUFFER_TENSOR_DESC(small.DataType, x.shape, (640, 128, 0, 1, 1)),
        MeanTensor=dml.DML_BUFFER_TENSOR_DESC(small.DataType, mean.shape, (4, 7, 38, 1, 4)),
        VarianceTensor=small, ScaleTensor=small, OutputGradientTensor=like(x), OutputScaleGradientTensor=small,
        OutputBiasGradientTensor=small, Epsilon=1e-3,
    )  # fmt: skip
    tensors = {"InputTensor": x, "InputGradientTensor": gradient, "MeanTensor": mean, "VarianceTensor": variance}
    results = run(device, desc, {**tensors, "ScaleTensor": scale})
    expected = reference.batch_grad(x, gradient, mean, variance, scale, 1e-3, training=training)
    fields = ("OutputGradientTensor", "OutputScaleGradientTensor", "OutputBiasGradientTensor")
    for field, values in zip(fields, expected, strict=True):
        close(results[field], values, 64)


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("variance", [False, True])
@pytest.mark.parametrize("dtype, layout", [("FLOAT32", "packed"), ("FLOAT32", "nhwc"), ("FLOAT16", "padded")])
def test_mean_variance(device: Any, across: bool, variance: bool, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(5)
    x = random(rng, dtype, (2, 3, 8, 5), 3, 9)
    scale, bias = random(rng, dtype, (1, 3, 1, 1)), random(rng, dtype, (2, 1, 8, 1))
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x, layout), ScaleTensor=like(scale), BiasTensor=like(bias), OutputTensor=like(x, layout),
        CrossChannel=across, NormalizeVariance=variance, Epsilon=1e-5, FusedActivation=RELU,
    )  # fmt: skip
    axes = (1, 2, 3) if across else (2, 3)
    expected = reference.mean_variance(x, axes, scale, bias, use_variance=variance)
    result = run(device, desc, {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias})["OutputTensor"]
    close(result, np.maximum(expected, 0), 20)


AXES = [((7,), (0,)), ((3, 8), (1,)), ((8, 3), (0,)), ((2, 3, 4), (0, 2)), ((2, 3, 4, 8), (1, 3)),
        ((2, 3, 4, 5), (3, 2)), ((2, 3, 4, 5), ()), ((2, 2, 3, 2, 4), (0, 1, 2, 3, 4)), ((2, 1, 2, 3, 1, 2), (1, 3, 4)),
        ((1, 2, 2, 1, 2, 2, 3), (6,)), ((2, 1, 2, 1, 2, 2, 1, 8), (2, 4, 7))]  # fmt: skip


@pytest.mark.parametrize("shape, axes", AXES)
@pytest.mark.parametrize("dtype, layout, given", [
    ("FLOAT32", "packed", "both"), ("FLOAT32", "reversed", "none"), ("FLOAT16", "packed", "scale"),
    ("FLOAT16", "padded", "bias"),
])  # fmt: skip
def test_mean_variance_over_axes(
    device: Any, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, layout: str, given: str
) -> None:
    rng = np.random.default_rng(6)
    x = random(rng, dtype, shape, 3, 9)
    last = ones_at(shape, range(len(shape) - 1))
    tensors = {"InputTensor": x}
    if given in ("both", "scale"):
        tensors["ScaleTensor"] = random(rng, dtype, shape if given == "scale" else last)
    if given in ("both", "bias"):
        tensors["BiasTensor"] = random(rng, dtype, last)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        **{name: like(array, layout if name == "InputTensor" else "packed") for name, array in tensors.items()},
        OutputTensor=tensor(dtype, shape, layout), Axes=axes, NormalizeVariance=True, Epsilon=1e-2,
    )  # fmt: skip
    expected = reference.mean_variance(x, axes, tensors.get("ScaleTensor"), tensors.get("BiasTensor"), 1e-2)
    close(run(device, desc, tensors)["OutputTensor"], expected, 40)


@pytest.mark.parametrize("use_mean", [False, True])
@pytest.mark.parametrize("use_variance", [False, True])
@pytest.mark.parametrize("dtype, layout", [("FLOAT32", "packed"), ("FLOAT16", "nhwc")])
@pytest.mark.parametrize("shape, axes", [((2, 4, 3, 8), (1, 3)), ((3, 700, 2, 3), (1,))])
def test_mean_variance_of_either(
    device: Any, use_mean: bool, use_variance: bool, dtype: str, layout: str, shape: tuple[int, ...],
    axes: tuple[int, ...],
) -> None:  # fmt: skip
    rng = np.random.default_rng(7)
    x = random(rng, dtype, shape, -1, 5)
    scale, bias = random(rng, dtype, (1, shape[1], 1, 1)), random(rng, dtype, (1, 1, 1, shape[3]))
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC(
        InputTensor=like(x, layout), ScaleTensor=like(scale), BiasTensor=like(bias), OutputTensor=like(x, layout),
        Axes=axes, UseMean=use_mean, UseVariance=use_variance, Epsilon=1e-5, FusedActivation=SIGMOID,
    )  # fmt: skip
    expected = reference.mean_variance(x, axes, scale, bias, use_mean=use_mean, use_variance=use_variance)
    result = run(device, desc, {"InputTensor": x, "ScaleTensor": scale, "BiasTensor": bias})["OutputTensor"]
    close(result, 1 / (1 + np.exp(-expected)), 10)


@pytest.mark.parametrize("shape, axes", [
    ((3, 40000), (1,)), ((40000, 3), (0,)), ((2, 70, 600), (0, 2)), ((300, 256), (1,)), ((1, 200000), (1,)),
    ((4, 8, 8, 16, 16), (2, 3, 4)),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_a_large_mean_costs_no_digits(device: Any, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    """Statistics of many elements whose mean is a thousand times their deviation: sums of squares would lose all
    digits."""
    rng = np.random.default_rng(8)
    offset = 1000 if dtype == "FLOAT32" else 30
    x = (rng.normal(0, 1, shape) + offset).astype(dml.numpy_dtype(tensor(dtype, (1,)).DataType))
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), Axes=axes, NormalizeVariance=True, Epsilon=1e-5
    )
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    # The mean is rounded to float32: half an ulp of the offset, and a few more in its sum.
    np.testing.assert_allclose(
        result, reference.mean_variance(x, axes), rtol=2 * np.finfo(result.dtype).eps, atol=offset * 4e-7
    )


def test_mean_variance_lets_specials_through(device: Any) -> None:
    x = np.array([[1, 2, 3, 6], [1, np.inf, 3, 4], [np.nan, 2, 3, 4], [5, 5, 5, 5]], np.float32)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), Axes=(1,), NormalizeVariance=True, Epsilon=1e-5
    )
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    assert np.isnan(result[1:3]).all()
    np.testing.assert_allclose(result[0], reference.mean_variance(x[:1], (1,))[0], rtol=1e-6)
    np.testing.assert_array_equal(result[3], np.zeros(4))


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 8, 2**31])
@pytest.mark.parametrize("dtype, layout", [("FLOAT32", "packed"), ("FLOAT16", "nhwc")])
def test_local_response(device: Any, across: bool, size: int, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(9)
    x, gradient = random(rng, dtype, (2, 7, 5, 6)), random(rng, dtype, (2, 7, 5, 6))
    attributes = {"CrossChannel": across, "LocalSize": size, "Alpha": 0.7, "Beta": 0.75, "Bias": 1.5}
    desc: Any = dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x, layout), OutputTensor=like(x, layout), **attributes
    )
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    close(result, reference.local_response(x, size, 0.7, 0.75, 1.5, across), 4)
    desc = dml.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC(
        InputTensor=like(x, layout),
        InputGradientTensor=like(gradient),
        OutputGradientTensor=like(x, layout),
        **attributes,
    )
    result = run(device, desc, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    close(result, reference.local_response_grad(x, gradient, size, 0.7, 0.75, 1.5, across), 40)


def test_local_response_with_a_large_region(device: Any) -> None:
    """Regions of 625 elements, each shared by a workgroup."""
    rng = np.random.default_rng(10)
    x, gradient = random(rng, "FLOAT32", (1, 2, 20, 30)), random(rng, "FLOAT32", (1, 2, 20, 30))
    attributes = {"CrossChannel": False, "LocalSize": 25, "Alpha": 0.01, "Beta": 0.5, "Bias": 1.0}
    desc: Any = dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), **attributes
    )
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    close(result, reference.local_response(x, 25, 0.01, 0.5, 1.0, False), 4)
    desc = dml.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC(
        InputTensor=like(x), InputGradientTensor=like(gradient), OutputGradientTensor=like(x), **attributes
    )
    result = run(device, desc, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    close(result, reference.local_response_grad(x, gradient, 25, 0.01, 0.5, 1.0, False), 40)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    "shape, axis", [((7,), 0), ((3, 8), 1), ((2, 5, 3), 1), ((2, 3, 4, 5), 0), ((2, 1, 2, 1, 2, 2, 1, 8), 7)]
)
@pytest.mark.parametrize("dtype, layout", [("FLOAT32", "packed"), ("FLOAT16", "reversed")])
def test_lp(device: Any, p: int, shape: tuple[int, ...], axis: int, dtype: str, layout: str) -> None:
    x = random(np.random.default_rng(11), dtype, shape)
    desc = dml.DML_LP_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x, layout), OutputTensor=tensor(dtype, shape, layout), Axis=axis, Epsilon=1e-3, P=p
    )
    total = (np.abs(x.astype(np.float64)) ** p).sum(axis, keepdims=True) + 1e-3
    close(run(device, desc, {"InputTensor": x})["OutputTensor"], x / total ** (1 / p), 1)


@pytest.mark.parametrize("axis", [0, 1])
def test_lp_of_squares_out_of_range(device: Any, axis: int) -> None:
    """Rows and columns of 1e-30, 1 and 1e30: float32 represents only the square of the middle one."""
    x = random(np.random.default_rng(13), "FLOAT32", (3, 3), 0.5, 2)
    magnitudes = np.array([1e-30, 1, 1e30], np.float32)
    x *= magnitudes if axis == 0 else magnitudes[:, None]
    desc = dml.DML_LP_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), Axis=axis, Epsilon=0.0, P=2
    )
    norm = np.linalg.norm(x.astype(np.float64), axis=axis, keepdims=True)
    close(run(device, desc, {"InputTensor": x})["OutputTensor"], x / norm, 1)


def test_lp_of_zeros_is_zero(device: Any) -> None:
    x = np.zeros((2, 3), np.float32)
    desc = dml.DML_LP_NORMALIZATION_OPERATOR_DESC(InputTensor=like(x), OutputTensor=like(x), Axis=1, Epsilon=1e-5, P=2)
    np.testing.assert_array_equal(run(device, desc, {"InputTensor": x})["OutputTensor"], x)
