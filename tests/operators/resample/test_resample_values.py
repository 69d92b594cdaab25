"""UPSAMPLE_2D, RESAMPLE 0 to 3 and the gradients."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.references.resample import matrices, resampled
from harness import assert_exact, assert_ulp, like, random, run, tensor

MODES = ("NEAREST_NEIGHBOR", "LINEAR")
SUM = "weights from float32 coordinates, products and a sum of positive float32 numbers"


def gradient(grad, weights):
    """Return the gradient of `resampled` for its input."""
    return resampled(grad, [weight.T for weight in weights])


def mode_of(name):
    return dml.DML_INTERPOLATION_MODE[f"DML_INTERPOLATION_MODE_{name}"]


def direction_of(name):
    return dml.DML_AXIS_DIRECTION[f"DML_AXIS_DIRECTION_{name}"]


def positive(dtype, sizes):
    return random(np.random.default_rng(0), dtype, sizes, 1, 100)


def resample_of(version, x, sizes, scales, mode="LINEAR", a=None, b=None, direction="DECREASING", wide=False,
                layout="packed", out_layout="packed"):  # fmt: skip
    """Describe RESAMPLE of version 0 to 3; a and b are the input and output pixel offsets."""
    fields = {
        "InputTensor": like(x, layout),
        "OutputTensor": tensor(like(x).DataType, sizes, out_layout),
        "InterpolationMode": mode_of(mode),
        "Scales": scales,
    }
    if version >= 1:
        fields["InputPixelOffsets"] = a or (0.5,) * x.ndim
        fields["OutputPixelOffsets"] = b or (-0.5,) * x.ndim
    if version >= 2:
        fields["RoundingDirection"] = direction_of(direction)
    if version >= 3:
        fields["Antialiased"] = wide
    return getattr(dml, f"DML_RESAMPLE{version or ''}_OPERATOR_DESC")(**fields)


def grad_of(version, grad, sizes, scales, mode="LINEAR", a=None, b=None, direction="DECREASING",
            layout="packed", out_layout="packed"):  # fmt: skip
    fields = {
        "InputGradientTensor": like(grad, layout),
        "OutputGradientTensor": tensor(like(grad).DataType, sizes, out_layout),
        "InterpolationMode": mode_of(mode),
        "Scales": scales,
        "InputPixelOffsets": a or (0.5,) * grad.ndim,
        "OutputPixelOffsets": b or (-0.5,) * grad.ndim,
    }
    if version >= 1:
        fields["RoundingDirection"] = direction_of(direction)
    return getattr(dml, f"DML_RESAMPLE_GRAD{version or ''}_OPERATOR_DESC")(**fields)


def forward(device, desc, x):
    return run(device, desc, {"InputTensor": x})["OutputTensor"]


def backward(device, desc, grad):
    return run(device, desc, {"InputGradientTensor": grad})["OutputGradientTensor"]


def rounding_of(version, direction):
    return {"INCREASING": "ceil", "DECREASING": "floor"}[direction] if version >= 2 else "half_up"


def test_resample_grad_page_example(device):
    """1.5 times the width, half the height. The page gives no offsets; its nearest elements are those of floor(o /
    Scale)."""
    x, grad = np.array([[1, 2], [3, 4]], np.float32), np.array([[4, 5, 6]], np.float32)
    scales, spread = (0.5, 1.5), np.array([[9, 6], [0, 0]], np.float32)
    desc = resample_of(1, x, (1, 3), scales, "NEAREST_NEIGHBOR", (0.5, 0.5), (0, 0))
    assert_exact(forward(device, desc, x), np.array([[1, 1, 2]], np.float32))
    desc = grad_of(0, grad, (2, 2), scales, "NEAREST_NEIGHBOR", (0.5, 0.5), (0, 0))
    assert_exact(backward(device, desc, grad), spread)
    desc = grad_of(1, grad, (2, 2), scales, "NEAREST_NEIGHBOR", (0, 0), (0, 0), "DECREASING")
    assert_exact(backward(device, desc, grad), spread)


def test_a_scale_without_limit_takes_the_first_element(device):
    """A scale of FLT_MAX selects element 0 of a dimension."""
    x = positive("FLOAT32", (3, 4))
    scales = (float(np.finfo(np.float32).max), 1)
    for mode in MODES:
        desc = resample_of(2, x, (2, 4), scales, mode, (0, 0), (0, 0))
        assert_exact(forward(device, desc, x), np.broadcast_to(x[:1], (2, 4)))


CASES = [
    # Cases: sizes, output sizes, scales
    ((6,), (12,), (2,)),
    ((5, 4), (8, 2), (1.5, 0.5)),
    ((1, 2, 5, 7), (1, 2, 10, 21), (1, 1, 2, 3)),
    ((2, 3, 8, 6), (2, 3, 4, 9), (1, 1, 0.5, 1.5)),
    ((2, 4, 3), (3, 2, 5), (1.5, 0.5, 1.75)),
    ((3, 2, 4, 3), (4, 3, 5, 2), (1.25, 1.5, 1.25, 0.75)),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("sizes, outputs, scales", CASES)
def test_resample(device, version, mode, sizes, outputs, scales):
    x = positive("FLOAT32", sizes)
    result = forward(device, resample_of(version, x, outputs, scales, mode), x)
    weights = matrices(sizes, outputs, scales, mode=mode, rounding=rounding_of(version, "DECREASING"))
    assert_ulp(result, resampled(x, weights), 0 if mode == "NEAREST_NEIGHBOR" else 16, SUM)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "dtype, layout, out_layout",
    [("FLOAT16", "packed", "packed"), ("FLOAT16", "padded", "reversed"), ("FLOAT32", "reversed", "padded"),
     ("FLOAT32", "nhwc", "nhwc"), ("FLOAT32", "broadcast", "packed"), ("INT8", "packed", "packed"),
     ("UINT8", "packed", "nhwc"), ("INT8", "reversed", "padded"), ("UINT8", "packed", "packed")],
)  # fmt: skip
def test_types_and_layouts(device, mode, dtype, layout, out_layout):
    """8-bit results are truncated, as in CAST; these scales give exact sums."""
    sizes, outputs, scales = (2, 3, 4, 6), (2, 3, 8, 3), (1, 1, 2, 0.5)
    x = random(np.random.default_rng(0), dtype, sizes, 1 if dtype.startswith("F") else -120, 120)
    read = np.broadcast_to(x[:1], sizes) if layout == "broadcast" else x
    for version in range(4):
        desc = resample_of(version, x, outputs, scales, mode, layout=layout, out_layout=out_layout)
        result = forward(device, desc, x)
        rounding = rounding_of(version, "DECREASING")
        expected = resampled(read, matrices(sizes, outputs, scales, mode=mode, rounding=rounding))
        if dtype.startswith("F"):
            assert_ulp(result, expected, 0 if mode == "NEAREST_NEIGHBOR" else 16, SUM)
        else:
            assert_exact(result, np.trunc(expected).astype(x.dtype))


@pytest.mark.parametrize("direction", ["INCREASING", "DECREASING"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [2, 3])
def test_offsets_and_directions(device, version, mode, direction):
    """Offsets crop the first dimension and repeat the edge along the second."""
    sizes, outputs, scales = (5, 4, 6), (7, 11, 4), (2.5, 1.5, 0.625)
    a, b = (0.25, -0.75, 1.5), (0.5, 1.25, -2.25)
    x = positive("FLOAT32", sizes)
    result = forward(device, resample_of(version, x, outputs, scales, mode, a, b, direction), x)
    how = {"mode": mode, "rounding": rounding_of(version, direction)}
    expected = resampled(x, matrices(sizes, outputs, scales, a, b, **how))
    assert_ulp(result, expected, 0 if mode == "NEAREST_NEIGHBOR" else 16, SUM)


@pytest.mark.parametrize("scale", [1 / 3, 0.3, 0.7, 5 / 3, 1.1])
@pytest.mark.parametrize("rounding", ["half_up", "floor", "ceil"])
def test_nearest_at_every_boundary(device, scale, rounding):
    """Scales whose quotients are within an ulp of the boundaries, which every device rounds in the same way."""
    x = np.arange(300, dtype=np.float32)
    outputs = (int(300 * scale) + 2,)
    version, direction = (
        (1, "DECREASING") if rounding == "half_up" else (2, {"floor": "DECREASING"}.get(rounding, "INCREASING"))
    )
    desc = resample_of(version, x, outputs, (scale,), "NEAREST_NEIGHBOR", direction=direction)
    weights = matrices(x.shape, outputs, (scale,), mode="NEAREST_NEIGHBOR", rounding=rounding)
    assert_exact(forward(device, desc, x), resampled(x, weights).astype(np.float32))


@pytest.mark.parametrize(
    "sizes, outputs, scales",
    [((40,), (10,), (0.25,)), ((31,), (9,), (0.3,)), ((2, 12, 17), (2, 4, 5), (1, 1 / 3, 0.28)),
     ((9, 8), (3, 16), (0.375, 2)), ((8, 10), (4, 6), (0.5, 0.6))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_antialiasing(device, dtype, sizes, outputs, scales):
    """The filter is stretched if 1 / Scale is above 2, but not for a scale of 0.5 or 0.6."""
    x = positive(dtype, sizes)
    result = forward(device, resample_of(3, x, outputs, scales, wide=True), x)
    expected = resampled(x, matrices(sizes, outputs, scales, wide=True))
    assert_ulp(result, expected, 16, SUM)
    plain = forward(device, resample_of(3, x, outputs, scales, wide=False), x)
    assert_ulp(plain, resampled(x, matrices(sizes, outputs, scales)), 16, SUM)


def test_a_filter_of_thousands_of_taps(device):
    """Most taps read the edges, which are repeated beyond the input."""
    x, scale = positive("FLOAT32", (7,)), 1e-3
    result = forward(device, resample_of(3, x, (3,), (scale,), b=(-0.25,), wide=True), x)
    weights = matrices((7,), (3,), (scale,), (0.5,), (-0.25,), wide=True)
    assert_ulp(result, resampled(x, weights), 64, "the weights beyond the edges are added up in closed form")


FAR = [((1, 450, 500), (1, 2, 2), (1, 1 / 225, 1 / 250)), ((60, 50, 70), (1, 1, 1), (1 / 60, 1 / 50, 1 / 70))]
OFTEN = "sums of about 100,000 terms"


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("sizes, outputs, scales", FAR)
def test_a_filter_of_many_elements_along_all_axes(device, dtype, sizes, outputs, scales):
    """The filter has more elements than the loops of a CPU driver allow."""
    x = positive(dtype, sizes)
    result = forward(device, resample_of(3, x, outputs, scales, wide=True), x)
    expected = resampled(x, matrices(sizes, outputs, scales, wide=True))
    assert_ulp(result, expected, 1 if dtype == "FLOAT16" else 400, OFTEN)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("outputs, sizes, scales", FAR)
def test_a_gradient_of_many_elements_along_all_axes(device, dtype, mode, outputs, sizes, scales):
    scales = tuple(1 / scale for scale in scales)
    grad = positive(dtype, outputs) / 128
    result = backward(device, grad_of(1, grad, sizes, scales, mode), grad)
    weights = matrices(sizes, outputs, scales, mode=mode, rounding=rounding_of(2, "DECREASING"))
    assert_ulp(result, gradient(grad, weights), 2 if dtype == "FLOAT16" else 400, OFTEN)


@pytest.mark.parametrize("scale", [1e-6, 1e-30])
def test_a_filter_far_wider_than_the_input(device, scale):
    """No loop runs over positions beyond the edges."""
    x = positive("FLOAT32", (7,))
    result = forward(device, resample_of(3, x, (3,), (scale,), b=(-0.25,), wide=True), x)
    # The filter of output 0 is centered a quarter of its half width right of the input; the filters of outputs 1 and 2
    # do not reach it.
    share = 0.5 * 0.75**2
    np.testing.assert_allclose(result[0], share * x[0] + (1 - share) * x[-1], rtol=1e-4)
    np.testing.assert_allclose(result[1:], x[-1], rtol=1e-6)


def test_nearest_is_never_antialiased(device):
    x = positive("FLOAT32", (16,))
    wide, plain = (
        forward(device, resample_of(3, x, (4,), (0.25,), "NEAREST_NEIGHBOR", wide=wide), x) for wide in (True, False)
    )
    assert_exact(wide, plain)


def test_infinities_stay_where_they_are(device):
    x = np.array([1, np.inf, 2, 3], np.float32)
    result = forward(device, resample_of(1, x, (4,), (1,), a=(0.5,), b=(-0.25,)), x)
    assert_exact(result, np.array([1, np.inf, np.inf, 2.75], np.float32))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes, outputs, scales", CASES)
def test_gradient(device, version, mode, sizes, outputs, scales):
    grad = positive("FLOAT32", outputs)
    direction = "INCREASING" if len(sizes) % 2 else "DECREASING"
    result = backward(device, grad_of(version, grad, sizes, scales, mode, direction=direction), grad)
    rounding = rounding_of(2 * version, direction)
    weights = matrices(sizes, outputs, scales, mode=mode, rounding=rounding)
    assert_ulp(result, gradient(grad, weights), 24, SUM)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "dtype, layout, out_layout",
    [("FLOAT16", "packed", "packed"), ("FLOAT32", "reversed", "padded"), ("FLOAT16", "padded", "reversed"),
     ("FLOAT32", "broadcast", "nhwc")],
)  # fmt: skip
def test_gradient_offsets_and_layouts(device, mode, dtype, layout, out_layout):
    sizes, outputs, scales = (2, 3, 4, 5), (2, 5, 9, 3), (1, 1.5, 2.5, 0.5)
    a, b = (0.5, 0.25, -0.75, 1.5), (-0.5, 0.5, 1.25, -1.25)
    grad = positive(dtype, outputs)
    read = np.broadcast_to(grad[:1], outputs) if layout == "broadcast" else grad
    for version, rounding in ((0, "half_up"), (1, "floor")):
        desc = grad_of(version, grad, sizes, scales, mode, a, b, layout=layout, out_layout=out_layout)
        weights = matrices(sizes, outputs, scales, a, b, mode=mode, rounding=rounding)
        assert_ulp(backward(device, desc, grad), gradient(read, weights), 24, SUM)


# --- UPSAMPLE_2D


def upsample_of(x, height, width, mode, layout="packed", out_layout="packed"):
    sizes = (*x.shape[:-2], x.shape[-2] * height, x.shape[-1] * width)
    return dml.DML_UPSAMPLE_2D_OPERATOR_DESC(
        InputTensor=like(x, layout),
        OutputTensor=tensor(like(x).DataType, sizes, out_layout),
        ScaleSize=dml.DML_SIZE_2D(Width=width, Height=height),
        InterpolationMode=mode_of(mode),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (1, 2, 2, 3, 4)])
@pytest.mark.parametrize(
    "dtype, layout, out_layout",
    [("FLOAT32", "packed", "packed"), ("FLOAT16", "packed", "packed"), ("FLOAT16", "reversed", "padded"),
     ("FLOAT32", "nhwc", "nhwc")],
)  # fmt: skip
def test_upsample_2d(device, mode, sizes, dtype, layout, out_layout):
    x = positive(dtype, sizes)
    desc = upsample_of(x, 3, 2, mode, layout, out_layout)
    result = forward(device, desc, x)
    scales = (1,) * (x.ndim - 2) + (3, 2)
    expected = resampled(x, matrices(sizes, result.shape, scales, mode=mode))
    assert_ulp(result, expected, 0 if mode == "NEAREST_NEIGHBOR" else 16, SUM)


def test_upsampling_nearest_repeats(device):
    x = positive("FLOAT32", (1, 1, 16, 32))
    expected = np.repeat(np.repeat(x, 2, 2), 4, 3)
    assert_exact(forward(device, upsample_of(x, 2, 4, "NEAREST_NEIGHBOR"), x), expected)


# --- rules
