"""CONVOLUTION_INTEGER and QUANTIZED_LINEAR_CONVOLUTION against NumPy: int32 exact, quantized to nearest even."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.references import convolution as reference
from harness import assert_exact, like, random, run, tensor

LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255)}


def channel(rng, dtype, rank, count, scale=1.0):
    """Return a scale or zero point with ``count`` elements in dimension 1, or in dimension 0 if it has only one."""
    sizes = [1] * rank
    sizes[min(1, rank - 1)] = count
    if dtype == "FLOAT32":
        return (rng.uniform(0.5, 1.5, sizes) * scale).astype(np.float32)
    return random(rng, dtype, sizes, -20, 20)


def spatial(values, rank):
    return values.reshape(1, -1, *(1,) * (rank - 2))


def build(sizes, window, groups, strides, dilations, start, end):
    fields = {"Strides": strides, "Dilations": dilations, "StartPadding": start, "EndPadding": end}
    return (2, groups * 3, *sizes), (groups * 4, 3, *window), {**fields, "GroupCount": groups}


CASES = [
    ((9,), (3,), 1, (1,), (2,), (1,), (2,)),
    ((8, 12), (3, 3), 1, (1, 1), (1, 1), (1, 1), (1, 1)),
    ((7, 9), (2, 3), 2, (2, 1), (1, 2), (0, 1), (1, 0)),
    ((6, 5), (1, 1), 1, (1, 1), (1, 1), (0, 0), (0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("types", [("INT8", "INT8"), ("INT8", "UINT8"), ("UINT8", "INT8"), ("UINT8", "UINT8")])
@pytest.mark.parametrize("zero, per_channel, layout", [(0, False, "packed"), (1, True, "nhwc"), (4, False, "padded")])
def test_convolution_integer(device, case, types, zero, per_channel, layout):
    x_sizes, w_sizes, attributes = build(*case)
    rank = len(x_sizes)
    rng = np.random.default_rng(0)
    layout = "reversed" if layout == "nhwc" and rank != 4 else layout
    x, w = random(rng, types[0], x_sizes, *LIMITS[types[0]]), random(rng, types[1], w_sizes, *LIMITS[types[1]])
    inputs = {"InputTensor": x, "FilterTensor": w}
    if zero:
        zero = min(zero, rank)
        inputs["InputZeroPointTensor"] = channel(rng, types[0], zero, 1)
        inputs["FilterZeroPointTensor"] = channel(rng, types[1], zero, w_sizes[0] if per_channel else 1)
    less_x = x.astype(np.float64) - (inputs["InputZeroPointTensor"].item() if zero else 0)
    less_w = w.astype(np.float64)
    if zero:
        less_w = less_w - inputs["FilterZeroPointTensor"].astype(np.float64).reshape(-1, *(1,) * (rank - 1))
    expected = reference.forward(less_x, less_w, *list(attributes.values())[:4], attributes["GroupCount"])
    desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(
        **{name: like(value, layout if name in ("InputTensor", "FilterTensor") else "packed")
           for name, value in inputs.items()},
        OutputTensor=tensor("INT32", expected.shape, layout),
        **attributes,
    )  # fmt: skip
    assert_exact(run(device, desc, inputs)["OutputTensor"], expected.astype(np.int32))


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("types", [("INT8", "INT8", "INT8"), ("UINT8", "INT8", "UINT8"), ("UINT8", "UINT8", "INT8")])
@pytest.mark.parametrize("zero, per_channel, bias", [(False, True, True), (True, False, False), (True, True, True)])
def test_quantized_linear_convolution(device, case, types, zero, per_channel, bias):
    x_sizes, w_sizes, attributes = build(*case)
    rank, outputs = len(x_sizes), w_sizes[0]
    rng = np.random.default_rng(1)
    inputs = {
        "InputTensor": random(rng, types[0], x_sizes, *LIMITS[types[0]]),
        "FilterTensor": random(rng, types[1], w_sizes, *LIMITS[types[1]]),
        "InputScaleTensor": channel(rng, "FLOAT32", 1, 1, 0.05),
        "FilterScaleTensor": channel(rng, "FLOAT32", rank, outputs if per_channel else 1, 0.1),
        "OutputScaleTensor": channel(rng, "FLOAT32", rank, 1, 8.0),
    }
    if zero:
        inputs["InputZeroPointTensor"] = channel(rng, types[0], rank, 1)
        inputs["FilterZeroPointTensor"] = channel(rng, types[1], 1, outputs if per_channel else 1)
        inputs["OutputZeroPointTensor"] = channel(rng, types[2], 1, 1)
    if bias:
        inputs["BiasTensor"] = random(rng, "INT32", (1, outputs, *(1,) * (rank - 2)), -9000, 9000)

    def item(name):
        return float(inputs[name].item()) if name in inputs else 0.0

    less_w = inputs["FilterTensor"].astype(np.float64)
    if zero:
        less_w = less_w - inputs["FilterZeroPointTensor"].astype(np.float64).reshape(-1, *(1,) * (rank - 1))
    sums = reference.forward(
        inputs["InputTensor"] - item("InputZeroPointTensor"), less_w, *list(attributes.values())[:4],
        attributes["GroupCount"],
    )  # fmt: skip
    if bias:
        sums = sums + inputs["BiasTensor"]
    factor = inputs["InputScaleTensor"].reshape(()) * spatial(inputs["FilterScaleTensor"], rank)
    factor = factor / inputs["OutputScaleTensor"].reshape(())
    desc = dml.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()},
        OutputTensor=tensor(types[2], sums.shape),
        **attributes,
    )
    result = run(device, desc, inputs)["OutputTensor"]
    low, high = LIMITS[types[2]]
    expected = np.rint(sums.astype(np.float32) * factor) + item("OutputZeroPointTensor")
    assert_exact(result, np.clip(expected, low, high).astype(result.dtype))
    assert len(np.unique(result)) > 5
