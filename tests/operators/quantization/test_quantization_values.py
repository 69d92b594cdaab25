"""QUANTIZE, DEQUANTIZE and DYNAMIC_QUANTIZE_LINEAR: integer results exact."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.references.quantization import dequantized, dynamically, quantized, spread, whole_numbers
from harness import assert_exact, assert_ulp, like, random, run, tensor

INTEGERS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT4": (-8, 7), "UINT4": (0, 15)}
FLOATS = ("FLOAT32", "FLOAT16")
#: Cases: the input's sizes, and those of its scale and zero point
BLOCKS = [
    ((4, 6), (1, 1)),  # per tensor
    ((3, 5), (3, 1)),  # per row
    ((2, 3, 4, 5), (1, 3, 1, 1)),  # per channel
    ((6, 64), (6, 4)),  # blocks of 16 in a row
    ((8, 6), (2, 3)),  # blocks of 4 x 2
    ((2, 4, 9), (1, 2, 9)),
]


def numpy_type(name):
    return dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"])


def describe(cls, x, tensors, to, layouts):
    kind = ("", "SCALE", "SCALE_ZERO_POINT")[len(tensors)]
    return cls(
        InputTensor=like(x, layouts[0]),
        QuantizationType=dml.DML_QUANTIZATION_TYPE[f"DML_QUANTIZATION_TYPE_{kind}"],
        QuantizationTensors=[like(t) for t in tensors],
        OutputTensor=tensor(to, x.shape, layouts[1]),
    )


def quantize_of(x, tensors, to, layouts=("packed", "packed")):
    return describe(dml.DML_QUANTIZE_OPERATOR_DESC, x, tensors, to, layouts)


def dequantize_of(x, tensors, to, layouts=("packed", "packed")):
    return describe(dml.DML_DEQUANTIZE_OPERATOR_DESC, x, tensors, to, layouts)


def output(device, desc, x, tensors):
    return run(device, desc, {"InputTensor": x, "QuantizationTensors": tensors})["OutputTensor"]


def make(floats, to, sizes, blocks, *, with_zero_point):
    rng = np.random.default_rng(len(sizes) + blocks[-1])
    scale = rng.uniform(0.05, 2.0, blocks).astype(numpy_type(floats))
    # A negative scale is valid too.
    scale[(0,) * scale.ndim] *= -1
    tensors = [scale]
    if with_zero_point:
        tensors.append(random(rng, to, blocks, *INTEGERS[to]))
    return rng, tensors


@pytest.mark.parametrize("with_zero_point", [True, False])
@pytest.mark.parametrize("sizes, blocks", BLOCKS)
@pytest.mark.parametrize("to", list(INTEGERS))
@pytest.mark.parametrize("floats", FLOATS)
def test_quantize_and_dequantize(device, floats, to, sizes, blocks, with_zero_point):
    rng, tensors = make(floats, to, sizes, blocks, with_zero_point=with_zero_point)
    scale = spread(tensors[0], sizes)
    zero_point = spread(tensors[1], sizes) if with_zero_point else None
    low, high = INTEGERS[to]
    steps = scale.astype(np.float64)
    x = (rng.uniform(low - 20, high + 20, sizes) * steps).astype(numpy_type(floats))
    # Ties round to even.
    x.reshape(-1)[::3] = ((rng.integers(low, high, x.reshape(-1)[::3].shape) + 0.5) * steps.reshape(-1)[::3]).astype(
        x.dtype
    )
    result = output(device, quantize_of(x, tensors, to), x, tensors)
    assert_exact(result, quantized(x, scale, zero_point, numpy_type(to)))
    q = random(rng, to, sizes, low, high)
    result = output(device, dequantize_of(q, tensors, floats), q, tensors)
    assert_ulp(result, dequantized(q, scale, zero_point), 0.5, "an exact difference, one product")


@pytest.mark.parametrize(
    "layouts", [("padded", "packed"), ("packed", "reversed"), ("reversed", "padded"), ("broadcast", "packed")]
)
@pytest.mark.parametrize("to", list(INTEGERS))
def test_layouts(device, to, layouts):
    sizes, blocks = (4, 3, 10), (2, 3, 2)
    rng, tensors = make("FLOAT32", to, sizes, blocks, with_zero_point=True)
    scale, zero_point = (spread(t, sizes) for t in tensors)
    x = rng.uniform(-20, 20, sizes).astype(np.float32)
    read = np.broadcast_to(x[:1], sizes) if layouts[0] == "broadcast" else x
    assert_exact(
        output(device, quantize_of(x, tensors, to, layouts), x, tensors),
        quantized(read, scale, zero_point, numpy_type(to)),
    )
    q = random(rng, to, sizes, *INTEGERS[to])
    read = np.broadcast_to(q[:1], sizes) if layouts[0] == "broadcast" else q
    expected = dequantized(read, scale, zero_point)
    assert_ulp(output(device, dequantize_of(q, tensors, "FLOAT32", layouts), q, tensors), expected, 0.5, "one product")


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_dimension_count(device, rank):
    sizes, blocks = (2, 3, 1, 2, 2, 4, 2, 6)[-rank:], (1, 3, 1, 2, 1, 2, 2, 3)[-rank:]
    rng, tensors = make("FLOAT32", "INT4", sizes, blocks, with_zero_point=True)
    scale, zero_point = (spread(t, sizes) for t in tensors)
    x = rng.uniform(-9, 9, sizes).astype(np.float32)
    q = output(device, quantize_of(x, tensors, "INT4"), x, tensors)
    assert_exact(q, quantized(x, scale, zero_point, numpy_type("INT4")))
    back = output(device, dequantize_of(q, tensors, "FLOAT32"), q, tensors)
    assert_ulp(back, dequantized(q, scale, zero_point), 0.5, "an exact difference, one product")


@pytest.mark.parametrize("to", list(INTEGERS))
def test_specials(device, to):
    low, high = INTEGERS[to]
    x = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 0.0, -0.0], np.float32)
    tensors = [np.array([0.5], np.float32), np.array([3]).astype(numpy_type(to))]
    result = whole_numbers(output(device, quantize_of(x, tensors, to), x, tensors))
    assert list(result) == [high, low, 3, high, low, 3, 3]


# --- DYNAMIC_QUANTIZE_LINEAR


def dynamic_of(x, to, layouts=("packed", "packed")):
    one = (1,) * x.ndim
    return dml.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC(
        InputTensor=like(x, layouts[0]),
        OutputTensor=tensor(to, x.shape, layouts[1]),
        OutputScaleTensor=tensor("FLOAT32", one),
        OutputZeroPointTensor=tensor(to, one),
    )


def check_dynamic(device, x, to, layouts=("packed", "packed")):
    result = run(device, dynamic_of(x, to, layouts), {"InputTensor": x})
    read = np.broadcast_to(x[:1], x.shape) if layouts[0] == "broadcast" else x
    expected, scale, zero_point = dynamically(read, numpy_type(to))
    one = (1,) * x.ndim
    assert_exact(result["OutputScaleTensor"], np.reshape(scale, one))
    assert_exact(result["OutputZeroPointTensor"], np.reshape(zero_point, one).astype(numpy_type(to)))
    assert_exact(result["OutputTensor"], expected)


@pytest.mark.parametrize("to", ["INT8", "UINT8"])
@pytest.mark.parametrize("floats", FLOATS)
@pytest.mark.parametrize("low, high", [(-3.0, 5.0), (1.0, 4.0), (-4.0, -1.0), (0.0, 0.0), (-1e-3, 1e-3), (-6e4, 6e4)])
def test_dynamic(device, floats, to, low, high):
    """Ranges around zero and on both sides of it; zero is always one of the integers."""
    x = np.random.default_rng(3).uniform(low, high, (3, 50)).astype(numpy_type(floats))
    check_dynamic(device, x, to)


@pytest.mark.parametrize("layouts", [("padded", "reversed"), ("reversed", "packed"), ("broadcast", "padded")])
def test_dynamic_layouts(device, layouts):
    x = random(np.random.default_rng(4), "FLOAT32", (5, 6, 7))
    check_dynamic(device, x, "UINT8", layouts)


@pytest.mark.parametrize("rank", range(1, 9))
def test_dynamic_every_dimension_count(device, rank):
    check_dynamic(device, random(np.random.default_rng(rank), "FLOAT32", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:]), "INT8")


def test_dynamic_of_many_elements(device):
    x = np.random.default_rng(5).normal(size=(300, 1000)).astype(np.float32)
    check_dynamic(device, x, "UINT8")


def test_dynamic_like_onnx(device):
    """The cases published with ONNX's operator, with their published results."""
    x = np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32)
    result = run(device, dynamic_of(x, "UINT8"), {"InputTensor": x})
    assert_exact(result["OutputTensor"], np.array([153, 255, 0, 26, 221, 179], np.uint8))
    assert_exact(result["OutputZeroPointTensor"], np.array([153], np.uint8))
    x = np.array([-1.0, -2.1, -1.3, -2.5, -3.34, -4.0], np.float32)
    result = run(device, dynamic_of(x, "UINT8"), {"InputTensor": x})
    assert_exact(result["OutputTensor"], np.array([191, 121, 172, 96, 42, 0], np.uint8))
    assert_exact(result["OutputZeroPointTensor"], np.array([255], np.uint8))


def test_dynamic_range_beyond_a_float(device):
    x = np.array([-3e38, 3e38, 0], np.float32)
    result = run(device, dynamic_of(x, "UINT8"), {"InputTensor": x})
    assert_ulp(result["OutputScaleTensor"], np.array([6e38 / 255]), 2, "two quotients and a difference")
    assert list(result["OutputTensor"][:2]) == [0, 255]
