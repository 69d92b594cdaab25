"""Operators on quantized tensors equal onnxruntime's bit by bit, except softmax, and none runs on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare

SIZES = (3, 40, 50)


def quantized(dtype: str, sizes: tuple[int, ...] = SIZES, seed: int = 61) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, sizes).astype(dtype)


def steps(name: str, dtype: str, scale: float, zero: int) -> dict[str, Array]:
    return {f"{name}_scale": np.array(scale, np.float32), f"{name}_zero": np.array(zero, dtype)}


def furthest(device: dml.Device, op: str, inputs: dict[str, Array], outputs: Any, **attributes: Any) -> int:
    """Return the largest difference from onnxruntime, in steps."""
    model, given = node_model(op, inputs, outputs, **attributes)
    (result,) = prepare(model, device, fallback=False).run(given)
    (expected,) = in_onnxruntime(model, given)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    return int(np.abs(result.astype(int) - expected.astype(int)).max())


@pytest.mark.parametrize("scale", [0.7, 4.0])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_products_of_broadcast_tensors(device: dml.Device, dtype: str, scale: float) -> None:
    """With a scale of 4 and factors in quarters and halves, one product in 32 is a tie."""
    inputs = {
        "a": quantized(dtype), **steps("a", dtype, 0.25, 5),
        "b": quantized(dtype, (40, 1), 62), **steps("b", dtype, 0.5, 7), **steps("y", dtype, scale, 11),
    }  # fmt: skip
    assert furthest(device, "QLinearMul", inputs, {"y": (3, dtype)}) == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_leaky_relu(device: dml.Device, dtype: str) -> None:
    inputs = {"x": quantized(dtype), **steps("x", dtype, 0.05, 20), **steps("y", dtype, 0.03, 5)}
    assert furthest(device, "QLinearLeakyRelu", inputs, {"y": (3, dtype)}, alpha=0.1) == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("axis", "opset"), [(-1, 13), (1, 13), (1, 11), (2, 12)])
def test_softmax(device: dml.Device, dtype: str, axis: int, opset: int) -> None:
    """onnxruntime sums exponentials from a table, so single numbers differ by a step."""
    inputs = {"x": quantized(dtype), **steps("x", dtype, 0.05, 20)}
    inputs |= steps("y", dtype, 1 / 256, -128 if dtype == "int8" else 0)
    assert furthest(device, "QLinearSoftmax", inputs, {"y": (3, dtype)}, axis=axis, opset=opset) <= 1


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_where(device: dml.Device, dtype: str) -> None:
    inputs = {
        "condition": quantized("uint8", (40, 50), 63) > 100,
        "a": quantized(dtype), **steps("a", dtype, 0.05, 20),
        "b": quantized(dtype, (50,), 64), **steps("b", dtype, 0.02, 10), **steps("y", dtype, 0.03, 5),
    }  # fmt: skip
    assert furthest(device, "QLinearWhere", inputs, {"y": (3, dtype)}) == 0


@pytest.mark.parametrize("keepdims", [0, 1])
def test_means(device: dml.Device, keepdims: int) -> None:
    """QLinearReduceMean compared with NumPy, since onnxruntime's CPU provider lacks it. Means over 50 elements are
    whole multiples of the output's step, 1/50."""
    x, zero = quantized("uint8"), 20
    inputs = {"x": x, **steps("x", "uint8", 1, zero), **steps("y", "uint8", 0.02, 30)}
    model, given = node_model("QLinearReduceMean", inputs, {"y": (2 + keepdims, "uint8")}, axes=[-1], keepdims=keepdims)
    (result,) = prepare(model, device, fallback=False).run(given)
    total = (x.astype(int) - zero).sum(-1, keepdims=bool(keepdims))
    np.testing.assert_allclose(result, np.clip(total + 30, 0, 255), atol=1)  # a mean may be rounded down


@pytest.mark.parametrize("last", [0, 1])
def test_convolutions_with_channels_last(device: dml.Device, last: int) -> None:
    """onnxruntime's optimizer rewrites ONNX's operator in this form.

    w has 7 bits: without VNNI, onnxruntime's sums of two products of bytes saturate at 16 bits.
    """
    sizes = (2, 9, 10, 8) if last else (2, 8, 9, 10)
    inputs = {
        "x": quantized("uint8", sizes), **steps("x", "uint8", 0.1, 5),
        "w": quantized("int8", (6, 4, 3, 3)) // np.int8(2), **steps("w", "int8", 0.3, 0), **steps("y", "uint8", 9, 11),
        "b": np.arange(-3, 3, dtype=np.int32) * 100,
    }  # fmt: skip
    constants = ("w", "w_scale", "w_zero", "x_scale", "x_zero", "y_scale", "y_zero", "b")
    options = {"pads": [1, 0, 1, 2], "strides": [2, 1], "group": 2, "channels_last": last, "constants": constants}
    assert furthest(device, "QLinearConv", inputs, {"y": (4, "uint8")}, **options) == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_maxima_with_channels_last(device: dml.Device, dtype: str) -> None:
    options = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    assert furthest(device, "NhwcMaxPool", {"x": quantized(dtype, (2, 9, 10, 5))}, {"y": (4, dtype)}, **options) == 0


def test_a_softmax_that_does_not_say_its_version_is_refused(device: dml.Device) -> None:
    inputs = {"x": quantized("uint8"), **steps("x", "uint8", 1, 0), **steps("y", "uint8", 1, 0)}
    model, given = node_model("QLinearSoftmax", inputs, {"y": (3, "uint8")})
    with pytest.raises(dml.DMLError, match="attribute 'opset' must be given"):
        prepare(model, device).run(given)
