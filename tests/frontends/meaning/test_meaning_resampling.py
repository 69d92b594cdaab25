"""Resizing in all formats: coordinates, nearest elements and weights."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.frontends.meaning.resampling import ROUNDINGS, ResizedAxis, nearest_elements, resampled, weights
from dml.graph.builder import Builder

COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)  # fmt: skip


def axis(size: int, output: int, mode: str = "half_pixel") -> ResizedAxis:
    return ResizedAxis(size, output, output / size, mode=mode)


@pytest.mark.parametrize("mode", COORDINATES)
@pytest.mark.parametrize(("size", "output"), [(3, 6), (7, 3), (4, 4), (5, 1), (1, 4)])
def test_offsets_and_step_give_the_coordinates(mode, size, output):
    """DirectML's formula with the computed scale and offsets gives the coordinates of each transformation mode."""
    one = axis(size, output, mode)
    if one.offsets is None:
        assert mode in ("half_pixel_symmetric", "tf_crop_and_resize")
        return
    own, other = one.offsets
    found = (np.arange(output) - other) / one.step - own
    expected = one.coordinates
    if size == 1 or output == 1:  # edges are repeated
        found, expected = np.clip(found, 0, size - 1), np.clip(expected, 0, size - 1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-8)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_elements_of_halves(rounding):
    """For the coordinates 0, 0.5, 1, 1.5, ... each rounding mode chooses its side."""
    found = nearest_elements(axis(4, 8, "asymmetric"), rounding)
    up = rounding in ("round_prefer_ceil", "ceil")
    assert found.tolist() == [min(3, (index + 1) // 2 if up else index // 2) for index in range(8)]


@pytest.mark.parametrize("cubic", [None, -0.75, -0.5])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
def test_weights_add_up_to_one(cubic, antialias, exclude):
    for size, output in ((7, 3), (3, 7), (1, 5), (5, 1)):
        found = weights(axis(size, output), "cubic" if cubic else "linear", antialias, exclude, cubic or 0.0)
        assert found.shape == (output, size)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_linear_weights_are_numpys_interpolation():
    one = axis(6, 11)
    x = np.random.default_rng(0).random(6)
    np.testing.assert_allclose(
        weights(one, "linear", False, False, 0.0) @ x, np.interp(one.coordinates, np.arange(6), x), rtol=1e-12
    )


def test_cubic_weights_reproduce_a_line():
    """Keys' kernel with -0.5 reproduces polynomials away from the edges."""
    one = axis(12, 18)
    places = one.coordinates
    inside = (places >= 1) & (places <= 9)
    np.testing.assert_allclose(
        (weights(one, "cubic", False, False, -0.5) @ np.arange(12.0))[inside], places[inside], rtol=1e-12
    )


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(("size", "output"), [(300, 131), (300, 400), (40, 33), (257, 16), (97, 1)])
def test_bands_of_weights_give_the_product_with_the_whole_matrix(device, size, output, mode, dimension):
    """Resizing by bands of nonzero weights equals a product with the whole matrix. The sizes give several bands, the
    last of them short or full, and a single band."""
    sizes = [3, 5, 7]
    sizes[dimension] = size
    x = np.random.default_rng(1).standard_normal(sizes).astype(np.float32)
    one = axis(size, output)
    builder = Builder(device)
    result = resampled(builder.input("x", x.shape, dml.data_type_of(x.dtype)), {dimension: one}, mode, antialias=True)
    found = builder.compile({"y": result}).dispatch({"x": x})["y"]
    matrix = weights(one, mode, True, False, -0.75)
    expected = np.moveaxis(np.tensordot(x.astype(np.float64), matrix, (dimension, 1)), -1, dimension)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
