"""Fourier transforms that are split in two steps, compared with NumPy's in float64."""

from __future__ import annotations

import numpy as np
import pytest
from models import Array, node_model

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.operators import spectrum

RNG = np.random.default_rng(29)


def transformed(device: dml.Device, x: Array, length: int | None, **attributes: int) -> Array:
    given = None if length is None else np.array(length, np.int64)
    inputs = {"x": x, "length": given, "axis": np.array(1, np.int64)}
    constants = ("axis",) if length is None else ("length", "axis")
    outputs = {"y": (3, np.float32)}
    model, feeds = node_model("DFT", inputs, outputs, domain="", version=20, constants=constants, **attributes)
    return np.asarray(prepare(model, device, fallback=False).run(feeds)[0])


def parts(x: Array) -> Array:
    return np.stack([x.real, x.imag], -1)


@pytest.mark.parametrize("length", [None, 16, 9], ids=["whole", "filled", "cut"])
@pytest.mark.parametrize("inverse", [0, 1])
def test_split_transforms(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, inverse: int, length: int | None
) -> None:
    """A length of 12 is split into 3 * 4, and 4 into 2 * 2."""
    monkeypatch.setattr(spectrum, "_LONG", 8)
    x = RNG.uniform(-1, 1, (2, 12, 2)).astype(np.float32)
    expected = (np.fft.ifft if inverse else np.fft.fft)(x[..., 0] + 1j * x[..., 1], length, axis=1)
    np.testing.assert_allclose(transformed(device, x, length, inverse=inverse), parts(expected), atol=1e-5)


def test_split_transform_of_reals_to_half_a_spectrum_and_back(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectrum, "_LONG", 8)
    x = RNG.uniform(-1, 1, (2, 12, 1)).astype(np.float32)
    half = transformed(device, x, None, onesided=1)
    np.testing.assert_allclose(half, parts(np.fft.rfft(x[..., 0], axis=1)), atol=1e-5)
    np.testing.assert_allclose(transformed(device, half, None, onesided=1, inverse=1), x, atol=1e-5)
    odd = transformed(device, half, 11, onesided=1, inverse=1)
    np.testing.assert_allclose(odd[..., 0], np.fft.irfft(half[..., 0] + 1j * half[..., 1], 11, axis=1), atol=1e-5)


def test_a_long_transform(device: dml.Device) -> None:
    x = RNG.uniform(-1, 1, (1, 2048, 1)).astype(np.float32)
    expected = parts(np.fft.fft(x[..., 0].astype(np.float64), axis=1))
    np.testing.assert_allclose(transformed(device, x, None), expected, atol=1e-3)


@pytest.mark.parametrize(
    "length, message", [(10007, "too large for one product"), (2**40, "have 1 to 16777216 samples")]
)
def test_a_length_that_is_none_is_named(device: dml.Device, length: int, message: str) -> None:
    """The prime 10007 cannot be split."""
    x = np.ones((1, 8000, 1), np.float32)
    with pytest.raises(dml.DMLError, match=message):
        transformed(device, x, length)
