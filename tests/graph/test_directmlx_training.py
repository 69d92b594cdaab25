"""DirectMLX's gradients, regions, quantized convolutions and filled tensors, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from expressions import evaluate

import dml
from dml.graph import operations as op
from dml.graph.builder import Tensor

Array = npt.NDArray[Any]
RNG = np.random.default_rng(12)


def near(found: Array, expected: Any) -> None:
    """Compare within the error of means of about a dozen float32 values around 1."""
    np.testing.assert_allclose(found, np.asarray(expected).reshape(found.shape), rtol=1e-5, atol=1e-5)


def test_filled_and_random_tensors(device: Any) -> None:
    state = np.arange(6, dtype=np.uint32)

    def make(t: Tensor) -> dict[str, Tensor]:
        graph = t.builder
        words, after = op.random_generator(t, (4,))
        more, _ = op.random_generator(after, (4,))
        whole, _ = op.random_generator(t, (8,))
        return {
            "constant": op.fill_value_constant(graph, (2, 3), -7, dml.DML_TENSOR_DATA_TYPE_INT64),
            "sequence": op.fill_value_sequence(graph, (2, 3), 1.5, 0.25),
            "words": words,
            "more": more,
            "whole": whole,
        }

    found = evaluate(device, {"state": state}, make)
    np.testing.assert_array_equal(found["constant"], np.full((2, 3), -7))
    np.testing.assert_array_equal(found["sequence"], 1.5 + np.arange(6).reshape(2, 3) / 4)
    np.testing.assert_array_equal(np.concatenate([found["words"], found["more"]]), found["whole"])
    assert len(set(found["whole"].tolist())) == 8


def test_coordinates_of_nonzero_elements(device: Any) -> None:
    x = (RNG.uniform(size=(1, 3, 4)) < 0.4).astype(np.uint8)

    def make(t: Tensor) -> dict[str, Tensor]:
        count, places = op.nonzero_coordinates(t)
        return {"count": count, "places": places}

    found = evaluate(device, {"x": x}, make)
    expected = np.argwhere(x[0])
    assert 0 < len(expected) == found["count"].item()
    np.testing.assert_array_equal(found["places"][: len(expected)], expected)


def test_gradients(device: Any) -> None:
    x = RNG.uniform(-2, 2, (2, 3, 4, 4)).astype(np.float32)
    g = RNG.uniform(-1, 1, x.shape).astype(np.float32)
    scale, bias = np.array([0.5, 1, 2], np.float32), np.array([1, 0, -1], np.float32)

    def make(t: Tensor, d: Tensor) -> dict[str, Tensor]:
        y, mean, variance = op.batch_normalization_training(t, scale, bias)
        fixed = op.batch_normalization_grad(t, d, mean, variance, scale)
        through = op.batch_normalization_training_grad(t, d, mean, variance, scale)
        return {
            "clip": op.clip_grad(t, d, -1.0, 0.5),
            "slice": op.slice_grad(d, (2, 3, 8, 5), (0, 0, 1, 0), (2, 3, 7, 4), (1, 1, 2, 1)),
            "resample": op.resample_grad(d, (2, 3, 2, 2), dml.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR),
            **dict(zip(("y", "mean", "variance"), (y, mean, variance), strict=True)),
            **{f"fixed {k}": tensor for k, tensor in enumerate(fixed)},
            **{f"through {k}": tensor for k, tensor in enumerate(through)},
        }

    found = evaluate(device, {"x": x, "g": g}, make)
    wide, slope = x.astype(np.float64), g.astype(np.float64)
    near(found["clip"], np.where((wide >= -1) & (wide <= 0.5), slope, 0))
    whole = np.zeros((2, 3, 8, 5))
    whole[:, :, 1:8:2, :4] = slope
    near(found["slice"], whole)
    near(found["resample"], slope.reshape(2, 3, 2, 2, 2, 2).sum((3, 5)))
    mean, variance = wide.mean((0, 2, 3), keepdims=True), wide.var((0, 2, 3), keepdims=True)
    unit = (wide - mean) / np.sqrt(variance + 1e-5)
    s = scale.astype(np.float64).reshape(1, 3, 1, 1)
    near(found["mean"], mean)
    near(found["variance"], variance)
    near(found["y"], unit * s + bias.reshape(1, 3, 1, 1))
    of_scale, of_bias = (slope * unit).sum((0, 2, 3)), slope.sum((0, 2, 3))
    near(found["fixed 0"], slope * s / np.sqrt(variance + 1e-5))
    count = wide[:, 0].size
    inner = slope - (of_bias.reshape(s.shape) + unit * of_scale.reshape(s.shape)) / count
    near(found["through 0"], inner * s / np.sqrt(variance + 1e-5))
    for kind in ("fixed", "through"):
        near(found[f"{kind} 1"], of_scale)
        near(found[f"{kind} 2"], of_bias)


def test_regions(device: Any) -> None:
    """Regions begin and end between pixels, so their samples are the pixels' centres."""
    x = RNG.uniform(-1, 1, (2, 1, 4, 6)).astype(np.float32)
    roi = np.array([[0, 0, 4, 4], [2, 0, 6, 4]], np.float32)
    images = np.array([0, 1], np.uint32)

    def make(t: Tensor) -> dict[str, Tensor]:
        y = op.roi_align(t, roi, images, 2, 2)
        image, regions = op.roi_align_grad(y, roi, images, batch_size=2, image_height=4, image_width=6)
        assert regions is None
        return {"y": y, "image": image}

    found = evaluate(device, {"x": x}, make)
    expected = np.stack([x[0, :, :, :4], x[1, :, :, 2:]]).reshape(2, 1, 2, 2, 2, 2).mean((3, 5))
    near(found["y"], expected)
    spread = expected.repeat(2, 2).repeat(2, 3) / 4
    image = np.zeros(x.shape)
    image[0, :, :, :4], image[1, :, :, 2:] = spread[0], spread[1]
    near(found["image"], image)


def test_convolutions_of_integers(device: Any) -> None:
    x, w = RNG.integers(0, 256, (1, 2, 5, 5), np.uint8), RNG.integers(-8, 8, (3, 2, 3, 3), np.int8)
    bias = RNG.integers(-99, 99, 3, np.int32)

    def make(t: Tensor) -> dict[str, Tensor]:
        return {
            "whole": op.convolution_integer(t, w, 128, start_padding=(1, 0), strides=(1, 2)),
            "again": op.quantized_linear_convolution(
                t, 0.5, w, 0.25, 16.0, bias, zero_point=128, output_zero_point=100
            ),
        }

    found = evaluate(device, {"x": x}, make)

    def convolved(padded: Array) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        return np.einsum("nchwij,kcij->nkhw", windows, w.astype(np.int64))

    offset = x.astype(np.int64) - 128
    whole = convolved(np.pad(offset, [(0, 0), (0, 0), (1, 0), (0, 0)]))[..., ::2]
    np.testing.assert_array_equal(found["whole"], whole)
    real = (convolved(offset) + bias.reshape(1, 3, 1, 1)) * 0.125
    # Ties may differ by one step: the operator may scale in another order
    expected = np.clip(np.round(real / 16) + 100, 0, 255)
    assert np.abs(found["again"].astype(int) - expected).max() <= 1


def test_images_scaled_and_moved(device: Any) -> None:
    x = RNG.uniform(-1, 1, (1, 3, 2, 4)).astype(np.float32)

    def make(t: Tensor) -> dict[str, Tensor]:
        corners = op.resample(
            t, (1, 3, 2, 7), scales=(1, 1, 1, 2), input_pixel_offsets=(0.0,) * 4, output_pixel_offsets=(0.0,) * 4
        )
        return {"scaled": op.value_scale_2d(t, 2.0, (0.5, 0.25, -1)), "corners": corners}

    found = evaluate(device, {"x": x}, make)
    near(found["scaled"], 2 * x + np.array([0.5, 0.25, -1]).reshape(1, 3, 1, 1))
    near(found["corners"][..., ::2], x)
    near(found["corners"][..., 1::2], (x[..., 1:] + x[..., :-1]) / 2)
