"""Interpolate compared with its definition in float64, and at an image's real size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ir_peer import both, random

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")

COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"]
#: Tolerance of sums of at most dozens of products of numbers around 1, and of float32 coordinates.
NEAR = {"rtol": 3e-6, "atol": 1e-5}


def coordinate(mode, x, size, out, scale):
    if size == out:
        return x
    if mode == "align_corners":
        return x * (size - 1) / (out - 1) if out > 1 else 0.0
    if mode == "asymmetric":
        return x / scale
    if mode == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if mode == "pytorch_half_pixel" and out == 1:
        return 0.0
    return (x + 0.5) / scale - 0.5


def keys(x, a):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def along(x, axis, out, scale, mode, coordinates, rounding, antialias, a):
    """Resize one axis, element by element."""
    x = np.moveaxis(x.astype(np.float64), axis, -1)
    size, made = x.shape[-1], []
    for i in range(out):
        at = coordinate(coordinates, i, size, out, scale)
        if mode == "nearest":
            halves = {
                "round_prefer_floor": lambda v: math.ceil(v - 0.5), "round_prefer_ceil": lambda v: math.floor(v + 0.5),
                "floor": math.floor, "ceil": math.ceil,
                "simple": math.ceil if scale < 1 else math.floor,
            }  # fmt: skip
            made.append(x[..., min(max(halves[rounding](float(np.float32(at))), 0), size - 1)])
            continue
        total, weight = 0.0, 0.0
        stretch = 1 / scale if antialias and scale < 1 else 1.0
        for tap in range(math.floor(at - 2 * stretch) - 1, math.ceil(at + 2 * stretch) + 2):
            far = (tap - at) / stretch
            w = keys(far, a) if "cubic" in mode else max(0.0, 1 - abs(far))
            if antialias and not 0 <= tap < size:
                continue
            total, weight = total + w * x[..., min(max(tap, 0), size - 1)], weight + w
        made.append(total / weight)
    return np.moveaxis(np.stack(made, -1), -1, axis)


def run(device, folder, array, *arguments, **attributes):
    a = o.parameter(list(array.shape), array.dtype, name="x")
    node = o.interpolate(a, *arguments, **attributes)
    ov.save_model(ov.Model([o.result(node.output(0))], [a], "m"), folder / "m.xml", compress_to_fp16=False)
    compiled = read_model(folder / "m.xml").compile(device)
    (found,) = compiled({"x": array}).values()
    return found, compiled


@pytest.mark.parametrize("by_scales", [False, True], ids=["sizes", "scales"])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic", "nearest"])
@pytest.mark.parametrize("out", [(9, 11), (4, 3), (1, 1), (5, 13)])
def test_modes_and_coordinates(device, tmp_path, mode, coordinates, out, by_scales):
    x = random(2, 3, 5, 7)
    scales = [(size + 0.25) / own for size, own in zip(out, x.shape[2:], strict=True)]
    if not by_scales:
        scales = [size / own for size, own in zip(out, x.shape[2:], strict=True)]
    shapes = np.array(scales, np.float32) if by_scales else np.array(out)
    found, _ = run(device, tmp_path, x, shapes, mode, "scales" if by_scales else "sizes", [0, 0], [0, 0],
                   coordinates, axes=np.array([2, 3]))  # fmt: skip
    expected = x
    for axis, size, scale in zip((2, 3), out, np.float32(scales).astype(float) if by_scales else scales, strict=True):
        expected = along(expected, axis, size, scale, mode, coordinates, "round_prefer_floor", False, -0.75)
    np.testing.assert_allclose(found, expected, **NEAR)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic", "nearest"])
def test_an_axis_that_keeps_its_size_stays_as_it_is(device, tmp_path, mode, coordinates):
    """OpenVINO's CPU plugin ignores a factor other than 1 if the size stays; the specification's formulas do not."""
    scales = np.array([1.3, 2.0], np.float32)  # 3 elements remain 3
    both(device, tmp_path, lambda x: o.interpolate(x, scales, mode, "scales", [0, 0], [0, 0], coordinates,
                                                   axes=np.array([2, 3])), random(1, 2, 3, 3))  # fmt: skip


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"])
@pytest.mark.parametrize("out", [10, 3, 8])
def test_nearest_modes_are_exact(device, tmp_path, rounding, out):
    x = random(1, 2, 5, 3)
    found, _ = run(device, tmp_path, x, np.array([out]), "nearest", "sizes", [0], [0], "half_pixel", rounding,
                   axes=np.array([2]))  # fmt: skip
    expected = along(x, 2, out, out / 5, "nearest", "half_pixel", rounding, False, 0.0)
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize("mode", ["linear", "bilinear_pillow", "bicubic_pillow"])
@pytest.mark.parametrize("out", [(4, 3), (5, 2), (2, 7)])
def test_antialias(device, tmp_path, mode, out):
    """The definition is the reference: OpenVINO's CPU plugin antialiases only in Pillow's modes."""
    x = random(1, 2, 9, 7)
    found, _ = run(device, tmp_path, x, np.array(out), mode, "sizes", [0, 0], [0, 0], antialias=True,
                   axes=np.array([2, 3]))  # fmt: skip
    expected = x
    for axis, size in zip((2, 3), out, strict=True):
        expected = along(expected, axis, size, size / x.shape[axis], mode, "half_pixel", "", True, -0.5)
    np.testing.assert_allclose(found, expected, **NEAR)


def test_padding_comes_first(device, tmp_path):
    x = random(1, 2, 5, 7)
    found, _ = run(device, tmp_path, x, np.array([12, 9]), "linear", "sizes", [0, 0, 1, 0], [0, 0, 0, 2], "asymmetric",
                   axes=np.array([2, 3]))  # fmt: skip
    expected = np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 2)])
    expected = along(expected, 2, 12, 2.0, "linear", "asymmetric", "", False, 0.0)
    np.testing.assert_allclose(found, expected, **NEAR)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_whole_numbers_are_rounded_once(device, tmp_path, kind, mode):
    x = np.random.default_rng(3).integers(0, 120, (1, 1, 4, 6)).astype(kind)
    found, _ = run(device, tmp_path, x, np.array([8, 12]), mode, "sizes", [0, 0], [0, 0], axes=np.array([2, 3]))
    expected = along(along(x, 2, 8, 2.0, mode, "half_pixel", "", False, -0.75), 3, 12, 2.0, mode, "half_pixel", "",
                     False, -0.75)  # fmt: skip
    limits = np.iinfo(kind)
    assert found.dtype == kind
    assert (np.abs(found - np.clip(expected, limits.min, limits.max)) <= 0.5 + 1e-4).all()


def test_an_image_of_real_size_is_doubled_by_one_kernel(device, tmp_path):
    """Doubling needs no matrix of weights: RESAMPLE alone computes it."""
    x = random(1, 3, 540, 960)
    found, compiled = run(device, tmp_path, x, np.array([1080, 1920]), "linear", "sizes", [0, 0], [0, 0],
                          axes=np.array([2, 3]))  # fmt: skip
    assert len(compiled.compiled.program.dispatches) == 1
    rows, columns = [0, 1, 539, 1078, 1079], [0, 1, 2, 959, 1918, 1919]
    low = np.clip((np.array(rows) + 0.5) / 2 - 0.5, 0, 539)
    left = np.clip((np.array(columns) + 0.5) / 2 - 0.5, 0, 959)
    y, u = np.floor(low).astype(int), np.floor(left).astype(int)
    below, right = np.minimum(y + 1, 539), np.minimum(u + 1, 959)
    v, w = (low - y)[:, None], (left - u)[None]
    image = x[0].astype(np.float64)
    expected = (
        (1 - v) * ((1 - w) * image[:, y][:, :, u] + w * image[:, y][:, :, right])
        + v * ((1 - w) * image[:, below][:, :, u] + w * image[:, below][:, :, right])
    )  # fmt: skip
    np.testing.assert_allclose(found[0][:, rows][:, :, columns], expected, **NEAR)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "out"), [("cubic", (1080, 1920)), ("bilinear_pillow", (270, 480))])
def test_weights_of_an_image_of_real_size(device, tmp_path, mode, out):
    """All rows of the image are multiplied at once; no tensor exceeds the largest buffer."""
    x = random(1, 3, 540, 960)
    found, _ = run(device, tmp_path, x, np.array(out), mode, "sizes", [0, 0], [0, 0], axes=np.array([2, 3]))
    corner = x[:, :, :20, :20]
    expected = corner
    for axis in (2, 3):
        size = 20 * out[0] // 540
        expected = along(expected, axis, size, out[0] / 540, mode, "half_pixel", "", mode != "cubic", -0.75)
    inner = 15 * out[0] // 540
    np.testing.assert_allclose(found[:, :, :inner, :inner], expected[:, :, :inner, :inner], **NEAR)


def test_a_mode_that_is_not_there_is_named(device, tmp_path):
    x = random(1, 1, 2, 2)
    run(device, tmp_path, x, np.array([4, 4]), "nearest", "sizes", [0, 0], [0, 0], axes=np.array([2, 3]))
    path = tmp_path / "m.xml"
    path.write_text(path.read_text().replace('mode="nearest"', 'mode="sharpest"', 1))
    with pytest.raises(dml.DMLError, match=r"Interpolate.*mode 'sharpest' is not supported"):
        read_model(path).compile(device)


def test_a_result_without_elements(device, tmp_path):
    x = random(1, 1, 1, 4)
    run(device, tmp_path, x, np.array([0.5, 0.5], np.float32), "cubic", "scales", axes=np.array([2, 3]))
