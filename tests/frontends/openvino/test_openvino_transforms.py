"""Einsum, Fourier transforms and GridSample of OpenVINO's IR, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

o = pytest.importorskip("openvino.opset13", reason="the openvino package is a test dependency (extra `test`)")
o1, o9 = (pytest.importorskip(f"openvino.opset{n}") for n in (1, 9))


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bjk->bki", [(2, 3, 4), (2, 4, 5)]),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("ab,cd->abcd", [(2, 3), (4, 5)]),
        ("i,i->", [(5,), (5,)]),
        ("ij->j", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("abc->ca", [(2, 3, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("b...ij,b...jk->b...ik", [(2, 3, 4, 5), (2, 3, 5, 6)]),
        ("ij,jk", [(2, 3), (3, 4)]),
    ],
)
def test_einsum(device, tmp_path, equation, shapes):
    both(device, tmp_path, lambda *x: o.einsum(list(x), equation), *(random(*shape) for shape in shapes))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_products_of_integers(device, tmp_path, kind):
    """BigBird's random masks are products of integers."""
    a, b = (np.random.default_rng(5).integers(-9, 9, sizes).astype(kind) for sizes in ((2, 3, 4), (2, 4, 5)))

    def make(a, b):
        turned = o.transpose(a, np.int64([0, 2, 1]))
        return [
            o.einsum([a, b], "bij,bjk->bki"), o.einsum([a, b], "bij,bkl->bijl"),
            o.matmul(a, b, False, False), o.matmul(turned, b, True, False),
        ]  # fmt: skip

    both(device, tmp_path, make, a, b)


@pytest.mark.parametrize("kind", ["dft", "idft"])
def test_fourier_transforms(device, tmp_path, kind):
    """One axis, several axes, and signals that are truncated or padded with zeros."""
    transform = getattr(o9, kind)

    def make(a):
        return [
            transform(a, np.array([1])), transform(a, np.array([0, 2])), transform(a, np.array([-1, 0])),
            transform(a, np.array([1, 2]), np.array([4, 9])), transform(a, np.array([0]), np.array([-1])),
        ]  # fmt: skip

    both(device, tmp_path, make, random(3, 6, 7, 2))


def test_fourier_transforms_of_real_numbers(device, tmp_path):
    def make(a):
        return [
            o9.rdft(a, np.array([2])), o9.rdft(a, np.array([0, 1])), o9.rdft(a, np.array([1, 2]), np.array([4, 5])),
        ]  # fmt: skip

    both(device, tmp_path, make, random(3, 6, 7))


def test_fourier_transforms_to_real_numbers(device, tmp_path):
    """Only spectra of real signals are tested: runtimes treat others differently."""
    x = np.random.default_rng(4).standard_normal((3, 8, 6))
    even, odd = np.fft.rfft(x, axis=2), np.fft.rfft2(x[:, :, :5], axes=(1, 2))
    pairs = [np.stack([one.real, one.imag], -1).astype(np.float32) for one in (even, odd)]

    def make(a, b):
        return [o9.irdft(a, np.array([2])), o9.irdft(b, np.array([1, 2]), np.array([8, 5]))]

    both(device, tmp_path, make, *pairs)


def test_a_fourier_transform_and_its_inverse_along_a_first_axis(device, tmp_path):
    def make(a):
        turned = o.transpose(a, np.array([1, 0, 2]))  # not contiguous
        return [o9.irdft(o9.rdft(turned, np.array([0])), np.array([0])), o9.rdft(turned, np.array([1]))]

    both(device, tmp_path, make, random(3, 8, 5))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_grid_sample(device, tmp_path, mode, padding, corners):
    """Sampling points inside the image and far outside it."""
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    grid = np.random.default_rng(2).uniform(-1.9, 1.9, (2, 4, 5, 2)).astype(np.float32)
    both(device, tmp_path, lambda a, b: o.grid_sample(a, b, attributes), random(2, 3, 5, 6), grid)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "linear", "linear_onnx", "cubic"])
def test_the_first_interpolation(device, tmp_path, mode, corners):
    """Enlarge both axes, shrink both, or enlarge one and shrink the other."""
    base = {"mode": mode, "align_corners": corners, "antialias": False, "pads_begin": [0], "pads_end": [0]}

    def make(a):
        return [
            o1.interpolate(a, o.constant(np.array(sizes)), base | {"axes": np.array([2, 3])})
            for sizes in ([7, 9], [2, 3], [3, 10])
        ]

    both(device, tmp_path, make, random(1, 2, 4, 5))
