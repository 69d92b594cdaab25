"""WebNN's operations on images in all layouts: convolution, pooling, resampling, normalization."""

from __future__ import annotations

import numpy as np
import pytest
from webnn_graphs import compute

from dml.frontends.webnn import MLGraphBuilder as Builder

RNG = np.random.default_rng(5)


def floats(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def ordered(x, layout, wanted):
    return np.ascontiguousarray(x.transpose([layout.index(letter) for letter in wanted]))


def close(found, expected):
    """Compare within the error of sums of up to a hundred float32 products around 1."""
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def windows(x, window, padding, strides, dilations, fill):
    """Return the windows {N, C, out height, out width, window height, window width} in float64."""
    top, bottom, left, right = padding
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    high, wide = ((size - 1) * by + 1 for size, by in zip(window, dilations, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(x, (high, wide), (2, 3))
    return found[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]


def convolved(x, w, padding, strides, dilations, groups):
    parts = windows(x, w.shape[2:], padding, strides, dilations, 0)
    out = [
        np.einsum("nchwij,kcij->nkhw", each, kernel)
        for each, kernel in zip(np.split(parts, groups, 1), np.split(w.astype(np.float64), groups), strict=True)
    ]
    return np.concatenate(out, 1)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("filter_layout", ["oihw", "hwio", "ohwi", "ihwo"])
def test_convolution(device, layout, filter_layout):
    x, w, b = floats(2, 4, 7, 6), floats(6, 2, 3, 2), floats(6)
    options = {"padding": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}
    expected = convolved(x, w, groups=2, **options) + b.reshape(1, 6, 1, 1)
    found = compute(
        device, Builder.conv2d, ordered(x, "nchw", layout), ordered(w, "oihw", filter_layout), bias=b, groups=2,
        input_layout=layout, filter_layout=filter_layout, **options,
    )  # fmt: skip
    close(ordered(found, layout, "nchw"), expected)


def unconvolved(x, w, padding, strides, sizes):
    """Return a transposed convolution: each input element, times the filter, is added to the output. w: {in, out,
    height, width}."""
    batch, _, high, wide = x.shape
    whole = np.zeros((batch, w.shape[1], sizes[0] + padding[0] + padding[1], sizes[1] + padding[2] + padding[3]))
    for row in range(high):
        for column in range(wide):
            part = np.einsum("nc,ckij->nkij", x[:, :, row, column].astype(np.float64), w)
            at = row * strides[0], column * strides[1]
            whole[:, :, at[0] : at[0] + w.shape[2], at[1] : at[1] + w.shape[3]] += part
    return whole[:, :, padding[0] : padding[0] + sizes[0], padding[2] : padding[2] + sizes[1]]


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
@pytest.mark.parametrize("filter_layout", ["iohw", "hwoi", "ohwi"])
def test_transposed_convolution(device, layout, filter_layout):
    x, w = floats(1, 3, 4, 3), floats(3, 2, 3, 3)
    options = {"padding": [1, 0, 1, 1], "strides": [2, 3]}
    expected = unconvolved(x, w, sizes=(8 + 1, 7 + 2), **options)
    given = [ordered(x, "nchw", layout), ordered(w, "iohw", filter_layout)]
    for more in ({"output_padding": [1, 2]}, {"output_sizes": [9, 9]}):
        found = compute(
            device,
            Builder.conv_transpose2d,
            *given,
            input_layout=layout,
            filter_layout=filter_layout,
            **options,
            **more,
        )
        close(ordered(found, layout, "nchw"), expected)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_pooling(device, layout):
    x = floats(2, 3, 7, 8)
    options = {"padding": [1, 0, 0, 1], "strides": [2, 3], "dilations": [2, 1]}
    given = {"window_dimensions": [3, 2], "layout": layout, **options}
    image = ordered(x, "nchw", layout)
    axes = (4, 5)
    found = compute(device, Builder.max_pool2d, image, **given)
    close(ordered(found, layout, "nchw"), windows(x, (3, 2), fill=-np.inf, **options).max(axes))
    found = compute(device, Builder.average_pool2d, image, **given)
    means = np.nanmean(windows(x, (3, 2), fill=np.nan, **options), axes)
    close(ordered(found, layout, "nchw"), means)
    found = compute(device, Builder.l2_pool2d, image, **given)
    close(ordered(found, layout, "nchw"), np.sqrt((windows(x, (3, 2), fill=0, **options) ** 2).sum(axes)))


def test_pooling_whole_images_and_rounding_up(device):
    x = floats(1, 2, 5, 5)
    close(compute(device, Builder.average_pool2d, x), x.mean((2, 3), keepdims=True, dtype=np.float64))
    given = {"window_dimensions": [2, 2], "strides": [2, 2]}
    assert compute(device, Builder.max_pool2d, x, **given).shape == (1, 2, 2, 2)
    padded = np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=-9)
    expected = padded.reshape(1, 2, 3, 2, 3, 2).max((3, 5))
    for more in ({"output_shape_rounding": "ceil"}, {"output_sizes": [3, 3]}):
        close(compute(device, Builder.max_pool2d, x, **given, **more), expected)


@pytest.mark.parametrize(("sizes", "axes"), [((6, 10), (2, 3)), ((2, 3), (1, 2)), ((7, 3), (3, 0))])
def test_resampling(device, sizes, axes):
    x = floats(2, 3, 4, 5)
    nearest = x
    linear = x.astype(np.float64)
    for axis, size in zip(axes, sizes, strict=True):
        old = x.shape[axis]
        at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
        nearest = nearest.take(np.ceil(at - 0.5).astype(int), axis)
        low = np.floor(at).astype(int)
        part = (at - low).reshape([-1 if axis == d else 1 for d in range(4)])
        linear = linear.take(low, axis) * (1 - part) + linear.take(np.minimum(low + 1, old - 1), axis) * part
    np.testing.assert_array_equal(compute(device, Builder.resample2d, x, sizes=sizes, axes=axes), nearest)
    close(compute(device, Builder.resample2d, x, sizes=sizes, axes=axes, mode="linear"), linear)


def test_resampling_by_scales(device):
    x = floats(1, 1, 2, 3)
    np.testing.assert_array_equal(compute(device, Builder.resample2d, x, scales=[2, 2]), x.repeat(2, 2).repeat(2, 3))
    assert compute(device, Builder.resample2d, floats(1, 1, 5, 5), scales=[0.5, 0.9]).shape == (1, 1, 2, 4)


def normalized(x, axes, epsilon):
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 1), ((2, 3, 4, 5), 1), ((2, 4, 5, 3), 3), ((3,), 0)])
@pytest.mark.parametrize("scaled", [True, False])
def test_batch_normalization(device, shape, axis, scaled):
    x, mean, variance = floats(*shape), floats(3), floats(3, low=0.5)
    scale, bias = floats(3), floats(3)
    along = [-1 if index == axis else 1 for index in range(len(shape))]
    expected = (x.astype(np.float64) - mean.reshape(along)) / np.sqrt(variance.reshape(along) + 1e-3)
    given = {"scale": scale, "bias": bias} if scaled else {}
    if scaled:
        expected = expected * scale.reshape(along) + bias.reshape(along)
    close(compute(device, Builder.batch_normalization, x, mean, variance, axis=axis, epsilon=1e-3, **given), expected)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_instance_normalization(device, layout):
    x, scale, bias = floats(2, 3, 4, 5), floats(3), floats(3)
    expected = normalized(x, (2, 3), 1e-5) * scale.reshape(1, 3, 1, 1) + bias.reshape(1, 3, 1, 1)
    image = ordered(x, "nchw", layout)
    found = compute(device, Builder.instance_normalization, image, scale=scale, bias=bias, layout=layout)
    close(ordered(found, layout, "nchw"), expected)
    found = compute(device, Builder.instance_normalization, image, layout=layout)
    close(ordered(found, layout, "nchw"), normalized(x, (2, 3), 1e-5))


def test_layer_normalization(device):
    x, scale, bias = floats(2, 3, 4), floats(4, 2), floats(4, 2)
    expected = normalized(x, (0, 2), 1e-2) * scale.T.reshape(2, 1, 4) + bias.T.reshape(2, 1, 4)
    found = compute(device, Builder.layer_normalization, x, scale=scale, bias=bias, axes=[2, 0], epsilon=1e-2)
    close(found, expected)
    close(compute(device, Builder.layer_normalization, x), normalized(x, (1, 2), 1e-5))
    shift = floats(3, 4)
    close(compute(device, Builder.layer_normalization, x, bias=shift), normalized(x, (1, 2), 1e-5) + shift)
    close(compute(device, Builder.layer_normalization, x, axes=[], bias=np.array(3, np.float32)), x * 0 + 3)
