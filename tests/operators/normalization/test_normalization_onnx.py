"""Normalizations compared with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from harness import like, random, run
from onnx_peer import onnx_run


def close(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=5e-6)


def test_batch(device: Any) -> None:
    rng = np.random.default_rng(1)
    x = random(rng, "FLOAT32", (2, 3, 4, 5))
    scale, bias, mean, variance = (random(rng, "FLOAT32", (3,), 0.2, 2) for _ in range(4))
    (expected,) = onnx_run(
        "BatchNormalization", {"x": x, "s": scale, "b": bias, "m": mean, "v": variance}, epsilon=1e-3
    )
    parameters = {"Mean": mean, "Variance": variance, "Scale": scale, "Bias": bias}
    tensors = {"InputTensor": x, **{f"{name}Tensor": p.reshape(1, 3, 1, 1) for name, p in parameters.items()}}
    desc = dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC(
        **{name: like(array) for name, array in tensors.items()}, OutputTensor=like(x), Spatial=True, Epsilon=1e-3
    )
    close(run(device, desc, tensors)["OutputTensor"], expected)


def normalized(
    device: Any, x: Any, axes: tuple[int, ...], scale: Any = None, bias: Any = None, epsilon: float = 1e-5
) -> Any:
    tensors = {"InputTensor": x}
    if scale is not None:
        tensors.update(ScaleTensor=scale, BiasTensor=bias)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        **{name: like(array) for name, array in tensors.items()}, OutputTensor=like(x), Axes=axes,
        NormalizeVariance=True, Epsilon=epsilon,
    )  # fmt: skip
    return run(device, desc, tensors)["OutputTensor"]


def test_instance_layer_and_mean_variance(device: Any) -> None:
    rng = np.random.default_rng(2)
    x = random(rng, "FLOAT32", (2, 3, 4, 8), 1, 6)
    scale, bias = random(rng, "FLOAT32", (3,)), random(rng, "FLOAT32", (3,))
    (expected,) = onnx_run("InstanceNormalization", {"x": x, "s": scale, "b": bias}, epsilon=1e-5)
    close(normalized(device, x, (2, 3), scale.reshape(1, 3, 1, 1), bias.reshape(1, 3, 1, 1)), expected)
    scale, bias = random(rng, "FLOAT32", (4, 8)), random(rng, "FLOAT32", (4, 8))
    (expected,) = onnx_run("LayerNormalization", {"x": x, "s": scale, "b": bias}, axis=2, epsilon=1e-5)
    close(normalized(device, x, (2, 3), scale.reshape(1, 1, 4, 8), bias.reshape(1, 1, 4, 8)), expected)
    (expected,) = onnx_run("MeanVarianceNormalization", {"x": x}, axes=[0, 2, 3])
    close(normalized(device, x, (0, 2, 3), epsilon=1e-9), expected)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_local_response(device: Any, size: int) -> None:
    x = random(np.random.default_rng(3), "FLOAT32", (2, 7, 4, 5))
    attributes = {"alpha": 0.6, "beta": 0.75, "bias": 1.3}
    (expected,) = onnx_run("LRN", {"x": x}, size=size, **attributes)
    desc = dml.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=like(x), CrossChannel=True, LocalSize=size, Alpha=0.6, Beta=0.75, Bias=1.3
    )
    close(run(device, desc, {"InputTensor": x})["OutputTensor"], expected)


@pytest.mark.parametrize("p", [1, 2])
def test_lp(device: Any, p: int) -> None:
    x = random(np.random.default_rng(4), "FLOAT32", (2, 7, 4, 5))
    (expected,) = onnx_run("LpNormalization", {"x": x}, axis=1, p=p)
    desc = dml.DML_LP_NORMALIZATION_OPERATOR_DESC(InputTensor=like(x), OutputTensor=like(x), Axis=1, Epsilon=0.0, P=p)
    close(run(device, desc, {"InputTensor": x})["OutputTensor"], expected)
