"""Resizing in all formats: coordinates, nearest elements and weights."""

from __future__ import annotations

import numpy as np
import pytest

from dml.frontends.meaning.resampling import ROUNDINGS, ResizedAxis, nearest_elements, weights

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
