"""Convolutions of 8-bit integers with packed-byte dot products: exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dml
from dml.compiler.target import DeviceClass
from dml.conformance.references import convolution as reference
from harness import assert_exact, like, random, run, tensor

LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255)}
KERNELS = {"gemm/bytes.comp", "gemm/bytes_matrix.comp", "gemm/bytes_rows.comp"}

#: Images, input channels, spatial sizes, output channels, window, groups, strides, dilations, padding. Channel counts
#: are small, multiples of a vector, and others.
CASES = {
    "rgb": (1, 3, (9, 11), 12, (3, 3), 1, (1, 1), (1, 1), (1, 1)),
    "rgb by two": (2, 3, (12, 13), 20, (7, 7), 1, (2, 2), (1, 1), (3, 3)),
    "vectors": (2, 16, (7, 6), 40, (3, 3), 1, (2, 1), (1, 1), (1, 1)),
    "one": (2, 32, (8, 8), 16, (1, 1), 1, (1, 1), (1, 1), (0, 0)),
    "groups": (1, 32, (9, 9), 64, (3, 3), 2, (1, 1), (2, 2), (2, 2)),
    "between": (1, 20, (8, 7), 9, (5, 3), 1, (1, 2), (1, 1), (2, 0)),
    "dilated": (1, 5, (16, 15), 33, (3, 3), 1, (1, 1), (2, 3), (0, 4)),
    "line": (2, 12, (30,), 10, (5,), 1, (1,), (1,), (2,)),
    "taps that meet nothing": (1, 6, (3, 9), 12, (5, 3), 1, (1, 1), (2, 9), (4, 9)),
    "vectors of which taps meet nothing": (2, 16, (2, 3), 9, (5, 5), 1, (1, 1), (3, 2), (6, 4)),
    "few outputs": (1, 16, (10, 10), 3, (3, 3), 1, (1, 1), (1, 1), (1, 1)),
}


def labels(device, desc):
    compiled = device.compile_operator(device.create_operator(desc))
    return [dispatch.label for dispatch in compiled.program.dispatches]


def make(case, types, points):
    """Return inputs by name, attributes, and the sums in float64, which is exact for them."""
    images, channels, sizes, outputs, window, groups, strides, dilations, padding = CASES[case]
    rng = np.random.default_rng(0)
    x = random(rng, types[0], (images, channels, *sizes), *LIMITS[types[0]])
    w = random(rng, types[1], (outputs, channels // groups, *window), *LIMITS[types[1]])
    inputs, less_x, less_w = {"InputTensor": x, "FilterTensor": w}, x.astype(np.float64), w.astype(np.float64)
    ones = (1,) * len(sizes)
    if points[0]:
        inputs["InputZeroPointTensor"] = np.full((1, 1, *ones), LIMITS[types[0]][1] - 3, x.dtype)
        less_x = less_x - float(LIMITS[types[0]][1] - 3)
    if points[1]:
        point = random(rng, types[1], (1, outputs, *ones), *LIMITS[types[1]])
        inputs["FilterZeroPointTensor"] = point
        less_w = less_w - point.astype(np.float64).reshape(-1, 1, *ones)
    attributes = {"Strides": strides, "Dilations": dilations, "StartPadding": padding, "EndPadding": padding}
    sums = reference.forward(less_x, less_w, *attributes.values(), groups)
    return inputs, {**attributes, "GroupCount": groups}, sums


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("types", [("INT8", "INT8"), ("UINT8", "INT8"), ("INT8", "UINT8"), ("UINT8", "UINT8")])
@pytest.mark.parametrize("points", list(itertools.product((False, True), repeat=2)))
def test_sums_are_exact(on_bytes, case, types, points):
    inputs, attributes, sums = make(case, types, points)
    layout = "nhwc" if points[0] and sums.ndim == 4 else "packed"
    fields = {name: like(value, layout if name == "InputTensor" else "packed") for name, value in inputs.items()}
    desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(
        **fields, OutputTensor=tensor("INT32", sums.shape, layout), **attributes
    )
    if on_bytes.vulkan.target.features.integer_dot_product:
        assert labels(on_bytes, desc)[-1] in KERNELS
    assert_exact(run(on_bytes, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("case", ["rgb by two", "vectors", "groups", "line"])
@pytest.mark.parametrize("types", [("INT8", "INT8"), ("UINT8", "INT8"), ("INT8", "UINT8"), ("UINT8", "UINT8")])
@pytest.mark.parametrize("points", [(False, False), (True, True)])
def test_cpu_drivers(seen_as, case, types, points):
    """CPU drivers multiply bytes only if the results have few positions."""
    device = seen_as(device_class=DeviceClass.CPU)
    inputs, attributes, sums = make(case, types, points)
    fields = {name: like(value) for name, value in inputs.items()}
    desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(**fields, OutputTensor=tensor("INT32", sums.shape), **attributes)
    if device.vulkan.target.llvmpipe > (0, 0):
        assert labels(device, desc)[-1] == "gemm/bytes_tiled.comp"
    assert_exact(run(device, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("case", ["rgb", "groups", "few outputs", "vectors"])
@pytest.mark.parametrize("output", ["INT8", "UINT8"])
@pytest.mark.parametrize("bias", [False, True])
def test_quantized(on_bytes, case, output, bias):
    inputs, attributes, sums = make(case, ("UINT8", "INT8"), (True, True))
    outputs, rng = sums.shape[1], np.random.default_rng(1)
    inputs["InputScaleTensor"] = np.full((1, 1, 1, 1), 0.05, np.float32)
    inputs["FilterScaleTensor"] = rng.uniform(0.05, 0.2, (1, outputs, 1, 1)).astype(np.float32)
    inputs["OutputScaleTensor"] = np.full((1, 1, 1, 1), np.abs(sums).max() / 10000, np.float32)
    inputs["OutputZeroPointTensor"] = random(rng, output, (1, 1, 1, 1), 5, 20)
    if bias:
        inputs["BiasTensor"] = random(rng, "INT32", (1, outputs, 1, 1), -90000, 90000)
        sums = sums + inputs["BiasTensor"]
    desc = dml.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor(output, sums.shape), **attributes
    )
    if on_bytes.vulkan.target.features.integer_dot_product:
        assert labels(on_bytes, desc)[-1] in KERNELS
    factor = inputs["InputScaleTensor"] * inputs["FilterScaleTensor"] / inputs["OutputScaleTensor"]
    expected = np.rint(sums.astype(np.float32) * factor) + inputs["OutputZeroPointTensor"]
    result = run(on_bytes, desc, inputs)["OutputTensor"]
    assert_exact(result, np.clip(expected, *LIMITS[output]).astype(result.dtype))
    assert len(np.unique(result)) > 20


def test_channels_that_follow_each_other_are_read_where_they_lie(on_bytes):
    """Contiguous channels, in whole vectors and without padding, are not copied first."""
    inputs, attributes, sums = make("one", ("INT8", "INT8"), (False, False))
    fields = {name: like(value, "nhwc") for name, value in inputs.items()}
    desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(
        **fields, OutputTensor=tensor("INT32", sums.shape, "nhwc"), **attributes
    )
    assert "convolution/byte_channels.comp" not in labels(on_bytes, desc)
    assert_exact(run(on_bytes, desc, inputs)["OutputTensor"], sums.astype(np.int32))


def test_each_channel_by_itself_stays_with_the_portable_kernels(on_bytes):
    x, w = np.full((1, 16, 5, 5), 3, np.int8), np.full((16, 1, 3, 3), -2, np.int8)
    ones = {"Strides": (1, 1), "Dilations": (1, 1), "StartPadding": (0, 0), "EndPadding": (0, 0)}
    desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(
        InputTensor=like(x), FilterTensor=like(w), OutputTensor=tensor("INT32", (1, 16, 3, 3)), GroupCount=16, **ones
    )
    assert not KERNELS & set(labels(on_bytes, desc))
    result = run(on_bytes, desc, {"InputTensor": x, "FilterTensor": w})["OutputTensor"]
    assert_exact(result, np.full((1, 16, 3, 3), -54, np.int32))
