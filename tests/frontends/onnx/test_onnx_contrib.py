"""ONNX Runtime's own operators, mostly of com.microsoft, compared with its CPU kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare

RNG = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def bytes_(*shape: int) -> Array:
    return RNG.integers(0, 255, shape, endpoint=True).astype(np.uint8)


def scalar(number: float, dtype: Any = np.float32) -> Array:
    return np.array(number, dtype)


CASES: list[tuple[str, dict[str, Array | None], int, dict[str, Any], float]] = [
    ("Gelu", {"x": floats(2, 5)}, 2, {}, 1e-6),
    ("BiasGelu", {"x": floats(2, 5), "b": floats(5)}, 2, {}, 1e-6),
    ("FastGelu", {"x": floats(2, 5), "b": floats(5)}, 2, {}, 1e-6),
    ("QuickGelu", {"x": floats(2, 5)}, 2, {"alpha": 1.5}, 1e-6),
    ("FusedMatMul", {"a": floats(2, 4, 3), "b": floats(2, 5, 4)}, 3, {"transA": 1, "transB": 1, "alpha": 0.5}, 1e-6),
    (
        "MatMulIntegerToFloat",
        {"a": bytes_(3, 4), "b": bytes_(4, 5), "as": scalar(0.02), "bs": scalar(0.03), "az": scalar(120, np.uint8),
         "bz": scalar(7, np.uint8), "bias": floats(5)},
        2, {}, 1e-5,
    ),
    (
        "SkipLayerNormalization",
        {"x": floats(2, 3, 8), "skip": floats(2, 3, 8), "g": floats(8), "beta": floats(8), "bias": floats(8)},
        3, {"epsilon": 1e-5}, 1e-5,
    ),
    (
        "SkipSimplifiedLayerNormalization",
        {"x": floats(2, 3, 8), "skip": floats(2, 3, 8), "g": floats(8)},
        3, {"epsilon": 1e-5}, 1e-5,
    ),
    (
        "QLinearAdd",
        {"a": bytes_(2, 6), "as": scalar(0.02), "az": scalar(100, np.uint8), "b": bytes_(2, 6), "bs": scalar(0.03),
         "bz": scalar(50, np.uint8), "ys": scalar(0.05), "yz": scalar(90, np.uint8)},
        2, {}, 1,
    ),
    (
        "MultiHeadAttention",
        {"q": floats(2, 3, 8), "k": floats(2, 4, 8), "v": floats(2, 4, 8)},
        3, {"num_heads": 2}, 1e-5,
    ),
    (
        "MultiHeadAttention",
        {"q": floats(2, 3, 8), "k": floats(2, 4, 8), "v": floats(2, 4, 8), "bias": floats(24),
         "mask": np.array([3, 4], np.int32)},
        3, {"num_heads": 2}, 1e-5,
    ),
    (
        "MultiHeadAttention",
        {"q": floats(2, 3, 8), "k": floats(2, 4, 8), "v": floats(2, 4, 8), "bias": None,
         "mask": np.array([[1, 0, 1, 1], [1, 1, 0, 1]], np.int32), "relative": floats(2, 2, 3, 4)},
        3, {"num_heads": 2, "scale": 0.25}, 1e-5,
    ),
    (
        "QLinearSigmoid",
        {"x": bytes_(2, 6), "xs": scalar(0.02), "xz": scalar(100, np.uint8), "ys": scalar(0.004),
         "yz": scalar(0, np.uint8)},
        2, {}, 1,
    ),
    (
        "QLinearConcat",
        {"ys": scalar(0.05), "yz": scalar(90, np.uint8), "a": bytes_(2, 3), "as": scalar(0.02),
         "az": scalar(100, np.uint8), "b": bytes_(2, 4), "bs": scalar(0.03), "bz": scalar(50, np.uint8)},
        2, {"axis": 1}, 1,
    ),
    (
        "QLinearAveragePool",
        {"x": bytes_(1, 2, 5, 5), "xs": scalar(0.02), "xz": scalar(100, np.uint8), "ys": scalar(0.03),
         "yz": scalar(50, np.uint8)},
        4, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}, 1,
    ),
    (
        "QLinearGlobalAveragePool",
        {"x": bytes_(1, 3, 3, 2), "xs": scalar(0.02), "xz": scalar(100, np.uint8), "ys": scalar(0.03),
         "yz": scalar(50, np.uint8)},
        4, {"channels_last": 1}, 1,
    ),
    (
        "DynamicQuantizeMatMul",
        {"a": floats(3, 4), "b": bytes_(4, 5), "bs": scalar(0.03), "bz": scalar(7, np.uint8), "bias": floats(5)},
        2, {}, 1e-4,
    ),
    ("Attention", {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24)}, 3, {"num_heads": 2}, 1e-5),
    (
        "DynamicQuantizeMatMul",
        {"a": floats(2, 3, 4), "b": bytes_(4, 5).view(np.int8), "bs": scalar(0.03), "bz": scalar(7, np.int8)},
        3, {}, 1e-4,
    ),
    (
        # b has seven bits: with eight, ONNX Runtime saturates sums of two products on processors without VNNI.
        "MatMulIntegerToFloat",
        {"a": bytes_(3, 4), "b": bytes_(4, 5).view(np.int8) >> 1, "as": scalar(0.02), "bs": scalar(0.03)},
        2, {}, 1e-5,
    ),
    (
        "ConvTransposeWithDynamicPads",
        {"x": floats(1, 2, 4, 4), "w": floats(2, 3, 3, 3), "p": np.array([1, 0, 1, 2], np.int64), "b": floats(3)},
        4, {"strides": [2, 2], "output_padding": [1, 0]}, 1e-5,
    ),
    (
        "FusedMatMul",
        {"a": floats(3, 2, 6, 4), "b": floats(4, 2, 6, 5)},
        4, {"transBatchA": 1, "transBatchB": 1}, 1e-6,
    ),
    (
        "FusedMatMul",
        {"a": floats(3, 2, 4), "b": floats(5, 2, 3)},
        3, {"transBatchA": 1, "transA": 1, "transBatchB": 1, "transB": 1}, 1e-6,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{op}-{len(inputs)}" for op, inputs, *_ in CASES])
def test_operator_agrees_with_onnxruntime(device: dml.Device, case: Any) -> None:
    op, inputs, rank, attributes, tolerance = case
    kinds = {"MatMulIntegerToFloat": np.float32, "QLinearConcat": np.uint8}  # types other than the first input's
    outputs = {"y": (rank, kinds.get(op, next(iter(inputs.values())).dtype))}
    model, given = node_model(op, inputs, outputs, **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), tolerance)


# Operators that ONNX Runtime adds to ONNX's domain.

BESIDE: list[tuple[str, dict[str, Array], int, dict[str, Any]]] = [
    ("Affine", {"x": floats(2, 3)}, 9, {"alpha": 2.0, "beta": 1.0}),
    ("Crop", {"x": floats(1, 2, 5, 6)}, 9, {"border": [1, 2, 1, 0]}),
    ("Crop", {"x": floats(1, 2, 5, 6)}, 9, {"border": [1, 2, 1, 0], "scale": [2, 3]}),
    ("ImageScaler", {"x": floats(1, 2, 5, 6)}, 9, {"scale": 3.0, "bias": [0.5, -2.0]}),
    ("LayerNormalization", {"x": floats(2, 3, 8), "g": floats(8), "b": floats(8)}, 13, {}),
    ("MeanVarianceNormalization", {"x": floats(2, 2, 3, 4)}, 8, {}),
    ("MeanVarianceNormalization", {"x": floats(2, 2, 3, 4)}, 8, {"across_channels": 1, "normalize_variance": 0}),
    ("ParametricSoftplus", {"x": floats(2, 3)}, 9, {"alpha": 2.0, "beta": 1.5}),
    ("ScaledTanh", {"x": floats(2, 3)}, 9, {"alpha": 2.0, "beta": 1.5}),
    ("SimplifiedLayerNormalization", {"x": floats(2, 3, 8), "g": floats(8)}, 17, {"epsilon": 1e-3}),
]


@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.parametrize("case", BESIDE, ids=[f"{op}-{index}" for index, (op, *_) in enumerate(BESIDE)])
def test_operator_of_onnxruntime(device: dml.Device, case: Any) -> None:
    op, inputs, version, attributes = case
    outputs = {"y": (inputs["x"].ndim, np.float32)}
    if op == "SimplifiedLayerNormalization":
        outputs["factor"] = (3, np.float32)
    model, given = node_model(op, inputs, outputs, domain="", version=version, **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


@pytest.mark.parametrize("mask", [None, np.array([[1, 1, 0], [0, 1, 0]], np.int32)], ids=["open", "masked"])
def test_embed_layer_normalization(device: dml.Device, mask: Array | None) -> None:
    ids = {"ids": np.array([[6, 0, 3], [2, 2, 5]], np.int32), "segments": np.array([[0, 0, 1], [1, 1, 0]], np.int32)}
    tables = {"words": floats(7, 8), "positions": floats(5, 8), "kinds": floats(2, 8)}
    inputs: dict[str, Array | None] = {**ids, **tables, "g": floats(8), "b": floats(8), "mask": mask}
    outputs = {"y": (3, np.float32), "counts": (1, np.int32), "sum": (3, np.float32)}
    model, given = node_model("EmbedLayerNormalization", inputs, outputs)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


def test_embed_layer_normalization_without_segments_with_positions(device: dml.Device) -> None:
    inputs: dict[str, Array | None] = {
        "ids": np.array([[6, 0, 3], [2, 2, 5]], np.int32), "segments": None, "words": floats(7, 8),
        "positions": floats(5, 8), "kinds": None, "g": floats(8), "b": floats(8), "mask": None,
        "at": np.array([[4, 0, 2]], np.int32),
    }  # fmt: skip
    outputs = {"y": (3, np.float32), "counts": (1, np.int32)}
    model, given = node_model("EmbedLayerNormalization", inputs, outputs, epsilon=1e-3)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


# Operators without a CPU kernel, compared with float64 arithmetic or with several ONNX operators.


def run(device: dml.Device, op: str, inputs: dict[str, Array | None], rank: int, **attributes: Any) -> Array:
    model, given = node_model(op, inputs, {"y": (rank, np.float32)}, **attributes)
    (found,) = prepare(model, device, fallback=False).run(given)
    return np.asarray(found)


def erf(x: Array) -> Array:
    return np.vectorize(math.erf)(x)


@pytest.mark.parametrize("activation", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_group_norm(device: dml.Device, last: int, activation: int) -> None:
    x, gamma, beta = floats(2, 6, 3, 5), floats(6), floats(6)
    grouped = x.astype(np.float64).reshape(2, 3, 2, 3, 5)
    shifted = grouped - grouped.mean((2, 3, 4), keepdims=True)
    normal = (shifted / np.sqrt(grouped.var((2, 3, 4), keepdims=True) + 1e-3)).reshape(x.shape)
    expected = normal * gamma[:, None, None] + beta[:, None, None]
    if activation:
        expected = expected / (1 + np.exp(-expected))
    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    inputs: dict[str, Array | None] = {"x": x.transpose(order).copy(), "g": gamma, "b": beta}
    more = {} if last else {"channels_last": 0}
    found = run(device, "GroupNorm", inputs, 4, groups=3, epsilon=1e-3, activation=activation, **more)
    np.testing.assert_allclose(found, expected.transpose(order), rtol=1e-5, atol=1e-5)


def test_bias_add(device: dml.Device) -> None:
    x, bias, skip = floats(2, 3, 4), floats(4), floats(2, 3, 4)
    found = run(device, "BiasAdd", {"x": x, "b": bias, "s": skip}, 3)
    np.testing.assert_allclose(found, x.astype(np.float64) + bias + skip, rtol=1e-6, atol=1e-6)


def test_bias_split_gelu(device: dml.Device) -> None:
    x, bias = floats(2, 3, 8), floats(8)
    left, right = np.split(x.astype(np.float64) + bias, 2, axis=2)
    found = run(device, "BiasSplitGelu", {"x": x, "b": bias}, 3)
    np.testing.assert_allclose(found, left * right * (1 + erf(right / math.sqrt(2))) / 2, rtol=1e-5, atol=1e-6)


def test_convolution_with_channels_last(device: dml.Device) -> None:
    x, weight, bias = floats(2, 5, 6, 4), floats(6, 3, 3, 2), floats(6)
    attributes = {"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 1]}
    channels_first = (0, 3, 1, 2)
    given = {"x": x.transpose(channels_first).copy(), "w": weight.transpose(channels_first).copy(), "b": bias}
    plain, _ = node_model("Conv", given, {"y": (4, np.float32)}, domain="", **attributes)
    (expected,) = in_onnxruntime(plain, given)
    found = run(device, "NhwcConv", {"x": x, "w": weight, "b": bias}, 4, **attributes)
    np.testing.assert_allclose(found, expected.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)


#: Activation -> its attributes and its function.
ACTIVATIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "Relu": ({}, lambda x: np.maximum(x, 0)),
    "LeakyRelu": ({"alpha": 0.2}, lambda x: np.where(x < 0, 0.2 * x, x)),
    "HardSigmoid": ({"alpha": 0.3, "beta": 0.4}, lambda x: np.clip(0.3 * x + 0.4, 0, 1)),
    "Softplus": ({}, lambda x: np.log1p(np.exp(x))),
    "Gelu": ({}, lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    "Softmax": ({"axis": 1}, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_product_with_an_activation(device: dml.Device, activation: str) -> None:
    a, b = floats(2, 4, 3), floats(2, 4, 5)
    attributes, function = ACTIVATIONS[activation]
    named = {f"activation_{name}": value for name, value in attributes.items()}
    found = run(
        device, "FusedMatMulActivation", {"a": a, "b": b}, 3, transA=1, alpha=2.0, activation=activation, **named
    )
    expected = function(2 * np.swapaxes(a.astype(np.float64), 1, 2) @ b)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_an_unknown_activation_is_named(device: dml.Device) -> None:
    with pytest.raises(dml.DMLError, match=r"^node FusedMatMulActivation: activation 'Cosh' is not mapped"):
        run(device, "FusedMatMulActivation", {"a": floats(2, 3), "b": floats(3, 2)}, 2, activation="Cosh")


#: Operator of the com.microsoft.dml domain -> ONNX's, its inputs, attributes and version.
FUSED: dict[str, tuple[str, dict[str, Array], dict[str, Any], int]] = {
    "DmlFusedAdd": ("Add", {"a": floats(2, 3), "b": floats(3)}, {}, 14),
    "DmlFusedBatchNormalization": (
        "BatchNormalization",
        {"x": floats(2, 3, 4), "s": floats(3), "b": floats(3), "m": floats(3), "v": floats(3) + 2}, {}, 9,
    ),
    "DmlFusedConv": ("Conv", {"x": floats(1, 2, 5, 5), "w": floats(3, 2, 3, 3), "b": floats(3)}, {"pads": [1] * 4}, 11),
    "DmlFusedConvTranspose": (
        "ConvTranspose", {"x": floats(1, 2, 4, 4), "w": floats(2, 3, 3, 3)}, {"strides": [2, 2]}, 11,
    ),
    "DmlFusedGemm": ("Gemm", {"a": floats(3, 4), "b": floats(5, 4), "c": floats(5)}, {"transB": 1, "alpha": 0.5}, 11),
    "DmlFusedInstanceNormalization": (
        "InstanceNormalization", {"x": floats(2, 3, 4, 5), "s": floats(3), "b": floats(3)}, {"epsilon": 1e-3}, 6,
    ),
    "DmlFusedMatMul": ("MatMul", {"a": floats(2, 3, 4), "b": floats(4, 5)}, {}, 13),
    "DmlFusedMeanVarianceNormalization": ("MeanVarianceNormalization", {"x": floats(2, 2, 3, 4)}, {}, 8),
    "DmlFusedSum": ("Sum", {"a": floats(2, 3), "b": floats(2, 3), "c": floats(3)}, {}, 13),
}  # fmt: skip


@pytest.mark.parametrize("op", FUSED)
def test_operator_with_an_activation(device: dml.Device, op: str) -> None:
    plain, inputs, attributes, version = FUSED[op]
    rank = max(array.ndim for array in inputs.values())
    model, given = node_model(plain, inputs, {"y": (rank, np.float32)}, domain="", version=version, **attributes)
    (exact,) = in_onnxruntime(model, given)
    found = run(
        device, op, dict(inputs), rank, domain="com.microsoft.dml", fused_activation="LeakyRelu", fused_alpha=0.2,
        fused_activation_domain="", fused_activation_since_version=6, **attributes,
    )  # fmt: skip
    np.testing.assert_allclose(found, np.where(exact < 0, 0.2 * exact, exact), rtol=1e-5, atol=1e-5)
