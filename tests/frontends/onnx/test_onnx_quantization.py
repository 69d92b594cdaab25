"""Quantization equals ONNX Runtime's bit by bit, with many ties among random inputs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare


def quantizable(dtype: str, mode: str, floats: Any) -> dict[str, Array]:
    """Return x, scale and zero point, with a scale for the tensor, per channel or per block of 16."""
    rng = np.random.default_rng(41)
    limits = np.iinfo(dtype)
    sizes = {"tensor": (), "axis": (6,), "blocks": (4, 6, 4)}[mode]
    scale = rng.uniform(0.01, 1, sizes).astype(floats)
    zero = rng.integers(max(limits.min, -3), 7, sizes).astype(dtype)
    each = {"tensor": scale, "axis": scale[..., None], "blocks": np.repeat(scale, 16, -1) if mode == "blocks" else 0}
    steps = rng.integers(2 * limits.min - 10, 2 * limits.max + 10, (4, 6, 64)) / 2
    return {"x": (steps * np.asarray(each[mode], np.float32)).astype(floats), "scale": scale, "zero": zero}


@pytest.mark.parametrize("floats", [np.float32, np.float16])
@pytest.mark.parametrize("mode", ["tensor", "axis", "blocks"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_quantize_linear_like_onnxruntime(device: dml.Device, dtype: str, mode: str, floats: Any) -> None:
    attributes = {"tensor": {}, "axis": {"axis": 1}, "blocks": {"axis": 2, "block_size": 16}}[mode]
    inputs = quantizable(dtype, mode, floats)
    model, given = node_model("QuantizeLinear", inputs, {"y": (3, dtype)}, domain="", version=21, **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 0)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_quantize_linear_to_four_bits_like_numpy(device: dml.Device, dtype: str) -> None:
    """NumPy is the reference: ONNX Runtime's Python API does not take arrays of 4-bit types."""
    rng = np.random.default_rng(42)
    kind, low, high = (ml_dtypes.int4, -8, 7) if dtype == "int4" else (ml_dtypes.uint4, 0, 15)
    scale = rng.uniform(0.01, 1, (4, 1)).astype(np.float32)
    x = (rng.integers(2 * low - 4, 2 * high + 4, (4, 250)) / 2 * scale).astype(np.float32)
    zero = rng.integers(0, 4, (4, 1))
    expected = np.clip(np.rint(x / scale) + zero, low, high)
    inputs = {"x": x, "scale": scale[:, 0], "zero": zero[:, 0].astype(kind)}
    model, given = node_model("QuantizeLinear", inputs, {"y": (2, kind)}, domain="", version=21, axis=0)
    (result,) = prepare(model, device).run(given)
    np.testing.assert_array_equal(result.astype(np.int8), expected)


QUANTIZED = [
    ("QLinearAdd", ((40, 50), 0.1, 5), ((40, 50), 0.3, 7), (0.2, 11)),
    ("QLinearAdd", ((40, 50), 0.25, 5), ((40, 50), 0.5, 7), (0.5, 11)),
    # Small results of terms up to 300: inexact additions would miss ties like 26.5
    ("QLinearAdd", ((256, 256), 0.05971349, 100), ((256, 256), 0.03053836, 0), (0.0352919, 0)),
    ("QLinearMatMul", ((64, 32), 0.02, 5), ((32, 64), 0.05, 7), (0.1, 11)),
    ("QLinearMatMul", ((64, 32), 0.25, 0), ((32, 64), 0.5, 0), (64, 0)),
    ("QLinearConv", ((1, 8, 12, 12), 0.1, 5), ((16, 8, 3, 3), 0.3, 0), (3, 11)),
    ("QLinearGlobalAveragePool", ((10, 20, 4, 4), 0.1, 5), (0.05, 7)),
]


@pytest.mark.parametrize("case", QUANTIZED, ids=lambda case: f"{case[0]}-{case[1][1]}")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantized_operators_like_onnxruntime(device: dml.Device, dtype: str, case: Any) -> None:
    op, *parts = case
    rng, limits = np.random.default_rng(43), np.iinfo(dtype)
    inputs: dict[str, Array | None] = {}
    for index, (*sizes, scale, zero) in enumerate(parts):
        if sizes:
            inputs[f"x{index}"] = rng.integers(limits.min, limits.max + 1, sizes[0]).astype(dtype)
        inputs[f"scale{index}"] = np.array(scale, np.float32)
        inputs[f"zero{index}"] = np.array(zero, dtype)
    domain = "" if op in ("QLinearMatMul", "QLinearConv") else "com.microsoft"
    model, given = node_model(op, inputs, {"y": (len(parts[0][0]), dtype)}, domain=domain)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 0)
