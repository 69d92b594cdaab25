"""Resize: integers, interpolated as real numbers and rounded once, toward zero; sizes; regions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, in_onnxruntime, node_model
from onnx.reference import ReferenceEvaluator

import dml
from dml.frontends.onnx import prepare


def resize(x: Array, scales: list[float], **attributes: Any) -> tuple[Any, dict[str, Array]]:
    inputs = {"x": x, "roi": np.zeros(0, np.float32), "scales": np.array(scales, np.float32)}
    outputs = {"y": (x.ndim, x.dtype)}
    return node_model("Resize", inputs, outputs, domain="", version=13, constants=["roi", "scales"], **attributes)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("spatial", [(5, 7), (3, 4, 5)])
def test_whole_numbers_twice_as_large_are_onnxruntimes(
    device: dml.Device, dtype: str, spatial: tuple[int, ...]
) -> None:
    """Results must be equal: weights are quarters and their products, which float32 represents exactly."""
    x = np.random.default_rng(51).integers(-100 if dtype != "uint8" else 0, 101, (1, 2, *spatial)).astype(dtype)
    model, given = resize(x, [1, 1] + [2] * len(spatial), mode="linear")
    (result,) = prepare(model, device).run(given)
    np.testing.assert_array_equal(result, in_onnxruntime(model, given)[0])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_bytes_stay_in_their_range(device: dml.Device, mode: str) -> None:
    """Cubic weights overshoot at edges between 0 and 255; numbers near an integer may round to either side."""
    x = np.zeros((1, 1, 8, 8), np.uint8)
    x[..., 4:] = 255
    model, given = resize(x, [1, 1, 1.7, 1.7], mode=mode)
    (result,) = prepare(model, device).run(given)
    wide, floats = resize(x.astype(np.float32), [1, 1, 1.7, 1.7], mode=mode)
    expected = np.clip(in_onnxruntime(wide, floats)[0], 0, 255)
    assert {expected.min(), expected.max()} == {0, 255}
    assert (np.abs(result - expected) <= 1).all()


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("size", "scale", "output"), [(5, 2.6, 13), (3, 1.4, 4), (10, 1.1, 11), (7, 0.3, 2), (49, 1.3, 63)]
)
def test_sizes_are_products_of_float32(device: dml.Device, mode: str, size: int, scale: float, output: int) -> None:
    """5 times the float32 next to 2.6 is 12.9999995, and 13 in float32."""
    x = np.random.default_rng(5).standard_normal((1, 1, size, 4)).astype(np.float32)
    model, given = resize(x, [1, 1, scale, 1], mode=mode, coordinate_transformation_mode="asymmetric")
    (result,) = prepare(model, device).run(given)
    assert result.shape == (1, 1, output, 4)
    np.testing.assert_allclose(result, in_onnxruntime(model, given)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_regions_beyond_the_input_are_extrapolated(device: dml.Device, mode: str, antialias: int) -> None:
    """ONNX's text and its reference extrapolate with antialias, too; onnxruntime does not."""
    x = np.random.default_rng(6).standard_normal((1, 2, 6, 4)).astype(np.float32)
    inputs = {
        "x": x,
        "roi": np.array([0.48, -0.09, 0.81, 0.28], np.float32),
        "scales": np.array([2, 1], np.float32),
    }
    model, given = node_model(
        "Resize", inputs, {"y": (4, x.dtype)}, domain="", version=19, constants=["roi", "scales"], axes=[2, 3],
        mode=mode, antialias=antialias, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=2.5,
    )  # fmt: skip
    (result,) = prepare(model, device).run(given)
    (expected,) = ReferenceEvaluator(model).run(None, given)
    assert (result[..., 0] == 2.5).all()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
