"""Layers of integers, and rare attributes, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

o = pytest.importorskip("openvino.opset13", reason="the openvino package is a test dependency (extra `test`)")
o8, o9, o14 = (pytest.importorskip(f"openvino.opset{n}") for n in (8, 9, 14))
RNG = np.random.default_rng(28)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("limits", [(0.3, 4.7), (-2.5, 2.2), (2.0, 1e30)])
def test_clamp_of_integers(device, tmp_path, kind, limits):
    if kind == np.uint32 and limits[0] < 0:
        limits = 0.0, limits[1]  # the plugin wraps negative limits
    both(device, tmp_path, lambda a: o.clamp(a, *limits), np.arange(0 if kind == np.uint32 else -6, 9).astype(kind))


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
def test_functions_that_keep_integers(device, tmp_path, kind):
    x = RNG.integers(0 if np.iinfo(kind).min == 0 else -9, 9, (3, 5)).astype(kind)

    def make(a):
        return [o.floor(a), o.ceiling(a), o.round(a, "half_to_even"), o.abs(a), o.relu(a)]

    both(device, tmp_path, make, x)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
def test_powers_of_integers(device, tmp_path, kind):
    x, exponent = RNG.integers(0, 5, (3, 4)).astype(kind), RNG.integers(0, 6, (4,)).astype(kind)
    both(device, tmp_path, o.power, x, exponent)


@pytest.mark.parametrize("batches", [-1, -2])
def test_gather_of_batches_counted_from_the_back(device, tmp_path, batches):
    indices = RNG.integers(0, 4, (2, 3, 5))
    both(device, tmp_path, lambda a, i: o8.gather(a, i, np.array(2), batches), random(2, 3, 4, 2), indices)


@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("use_initial", [True, False])
def test_scattered_bytes(device, tmp_path, reduction, use_initial):
    def make(a, i, u):
        return o14.scatter_elements_update(a, i, u, np.array(1), reduction, use_initial)

    x, updates = (RNG.integers(0, 4, shape).astype(np.uint8) for shape in ((3, 5), (3, 3)))
    both(device, tmp_path, make, x, np.array([[0, 4, 0], [1, 2, 1], [-1, 4, 3]]), updates)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("aligned", ["asymmetric", "half_pixel", "half_pixel_for_nn"])
def test_roi_align_of_negative_values(device, tmp_path, mode, aligned):
    """The maximum includes 0."""
    rois = np.array([[0.5, 1.2, 4.1, 5.3], [2.3, 0.4, 6.6, 3.7], [3, 3, 3.2, 3.1]], np.float32)
    images = np.array([0, 1, 1], np.int32)

    def make(a):
        return [o9.roi_align(a, rois, images, 3, 2, ratio, 0.75, mode, aligned) for ratio in (1, 2)]

    both(device, tmp_path, make, random(2, 3, 6, 7) - 1)


def test_max_pool_windows_beyond_the_input(device, tmp_path):
    """Rounding up adds windows without an element."""

    def make(a, b):
        return [
            o8.max_pool(a, [3, 2], [1, 1], [0, 0], [0, 0], [1, 1], "ceil").output(0),
            o8.max_pool(b, [3], [1], [0], [0], [1], "ceil").output(0),
        ]

    both(device, tmp_path, make, random(1, 2, 5, 6), random(1, 2, 5))


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int8])
@pytest.mark.parametrize("axis", [0, 2])
def test_indices_of_max_pool_windows_beyond_the_input(device, tmp_path, kind, axis):
    def make(a):
        return list(o8.max_pool(a, [3, 2], [1, 1], [0, 0], [0, 0], [1, 1], "ceil", axis=axis).outputs())

    both(device, tmp_path, make, (9 * random(1, 2, 5, 6)).astype(kind))


def test_layers_of_the_first_opset(device, tmp_path):
    """Its BatchNormInference has the data third, Gather takes indices of bytes, Broadcast has axes in any mode."""
    o1 = pytest.importorskip("openvino.opset1")
    parameters = [o.constant(RNG.uniform(0.5, 2, 3).astype(np.float32)) for _ in range(4)]

    def make(a, i):
        gamma, beta, mean, variance = parameters
        return [
            o1.batch_norm_inference(a, gamma, beta, mean, variance, 0.01),
            o1.gather(a, i, np.array(1)),
            o1.broadcast(o.constant(random(1, 4)), np.array([3, 2, 4])),
        ]

    both(device, tmp_path, make, random(2, 3, 4), np.array([2, 0], np.uint8))
