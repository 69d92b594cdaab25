"""Operators of ONNX Runtime's own domain, com.microsoft, against its CPU kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, model_of
from onnx import helper

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
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{op}-{len(inputs)}" for op, inputs, *_ in CASES])
def test_operator_agrees_with_onnxruntime(device: dml.Device, case: Any) -> None:
    op, inputs, rank, attributes, tolerance = case
    names = [name if array is not None else "" for name, array in inputs.items()]
    given = {name: array for name, array in inputs.items() if array is not None}
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attributes)
    model = model_of([node], given, ["y"], 17, domains={"com.microsoft": 1}, ranks={"y": rank})
    kinds = {"MatMulIntegerToFloat": np.float32, "QLinearConcat": np.uint8}
    if op in kinds:  # not the type of the first input
        model.graph.output[0].type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(kinds[op]))
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), tolerance)
