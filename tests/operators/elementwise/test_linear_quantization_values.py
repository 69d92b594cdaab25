"""QUANTIZE_LINEAR, DEQUANTIZE_LINEAR and QUANTIZED_LINEAR_ADD: exact, ties and the types' limits included."""

from __future__ import annotations

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references import quantization

RANGES = {"INT8": (-128, 127), "UINT8": (0, 255)}
LAYOUTS = [((101,), "packed", "packed"), ((3, 4, 5), "reversed", "padded"), ((2, 1, 3, 2, 1, 4), "packed", "packed")]


def quantized(x, scale, zero_point, dtype):
    """Quantize in NumPy. zero_point: an array, or one number."""
    kind = dml.numpy_dtype(harness.data_type(dtype))
    return quantization.quantized(x, scale, np.asarray(zero_point, kind), kind)


@pytest.mark.parametrize("source", ["FLOAT32", "FLOAT16", "INT32"])
@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
@pytest.mark.parametrize(("sizes", "layout", "out"), LAYOUTS)
@pytest.mark.parametrize("with_zero_point", [True, False])
def test_quantize(device, source, dtype, sizes, layout, out, with_zero_point):
    rng = np.random.default_rng(5)
    count = int(np.prod(sizes))
    # Steps that are powers of two give ties; INT32 needs large steps.
    unit = 2.0**20 if source == "INT32" else 0.125
    scale = np.where(rng.random(count) < 0.5, unit, unit * rng.uniform(0.6, 1.4, count))
    scale = scale.astype(np.float16 if source == "FLOAT16" else np.float32).reshape(sizes)
    steps = rng.integers(-300, 300, count) / 2
    steps[rng.random(count) < 0.4] = rng.uniform(-150, 150)
    x = (steps.reshape(sizes) * scale.astype(np.float64)).astype(dml.numpy_dtype(harness.data_type(source)))
    zero_point = harness.random(rng, dtype, sizes, -20, 20)
    if not with_zero_point:
        zero_point[...] = 0
    desc = dml.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(
        harness.like(x, layout),
        harness.like(scale),
        harness.like(zero_point) if with_zero_point else None,
        harness.tensor(dtype, sizes, out),
    )
    given = {"InputTensor": x, "ScaleTensor": scale} | ({"ZeroPointTensor": zero_point} if with_zero_point else {})
    harness.assert_exact(harness.run(device, desc, given)["OutputTensor"], quantized(x, scale, zero_point, dtype))


def test_quantize_rounds_the_float32_quotient(device):
    """Quotients that are ties in float32 but not exactly, and quotients one float32 step from a tie, with scales of any
    magnitude."""
    rng = np.random.default_rng(8)
    scale = (rng.uniform(1, 2, 4000) * 2.0 ** rng.integers(-100, 100, 4000)).astype(np.float32)
    x = (rng.integers(-128, 128, 4000) + np.float32(0.5)) * scale * rng.choice([-1, 1], 4000).astype(np.float32)
    x = np.nextafter(x, np.float32(np.inf) * rng.choice([-1, 1], 4000).astype(np.float32), dtype=np.float32)
    x[::2] = ((rng.integers(-128, 128, 2000) + 0.5) * scale[::2].astype(np.float64)).astype(np.float32)
    expected = quantized(x, scale, 0, "INT8")
    exact = np.clip(np.rint(x.astype(np.float64) / scale), -128, 127)
    assert np.mean(expected != exact) > 0.1  # often the exact quotient rounds to another integer
    desc = dml.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(
        harness.like(x), harness.like(scale), None, harness.tensor("INT8", x.shape)
    )
    result = harness.run(device, desc, {"InputTensor": x, "ScaleTensor": scale})["OutputTensor"]
    harness.assert_exact(result, expected)


def test_quantize_saturates_and_takes_a_scale_by_stride_0(device):
    x = np.array([-1e30, -np.inf, 1e30, np.inf, 3.4e38, 1e-30], np.float32)
    scale, zero_point = np.full(6, 0.5, np.float32), np.full(6, 3, np.uint8)
    desc = dml.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(
        harness.like(x),
        harness.like(scale, "broadcast"),
        harness.like(zero_point, "broadcast"),
        harness.tensor("UINT8", (6,)),
    )
    given = {"InputTensor": x, "ScaleTensor": scale, "ZeroPointTensor": zero_point}
    np.testing.assert_array_equal(harness.run(device, desc, given)["OutputTensor"], [0, 0, 255, 255, 255, 3])


@pytest.mark.parametrize("dtype", ["INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"])
@pytest.mark.parametrize("result_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("with_zero_point", [True, False])
@pytest.mark.parametrize(("sizes", "layout", "out"), LAYOUTS[:2])
def test_dequantize(device, dtype, result_type, with_zero_point, sizes, layout, out):
    rng = np.random.default_rng(6)
    kind = dml.numpy_dtype(harness.data_type(dtype))
    info = np.iinfo(kind)
    x, zero_point = (rng.integers(info.min, info.max, sizes, kind, endpoint=True) for _ in range(2))
    scale = harness.random(rng, result_type, sizes, 1e-3, 1e-2)
    if not with_zero_point:
        zero_point[...] = 0
    desc = dml.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(
        harness.like(x, layout),
        harness.like(scale),
        harness.like(zero_point) if with_zero_point else None,
        harness.like(scale, out),
    )
    given = {"InputTensor": x, "ScaleTensor": scale} | ({"ZeroPointTensor": zero_point} if with_zero_point else {})
    result = harness.run(device, desc, given)["OutputTensor"]
    expected = (x.astype(np.float64) - zero_point.astype(np.float64)) * scale.astype(np.float64)
    most = 1.5 if result_type == "FLOAT32" else 0.501
    with np.errstate(all="ignore"):
        harness.assert_ulp(result, expected, most, "a 32-bit difference rounded, and a product")


@pytest.mark.parametrize("dtype", ["INT8", "UINT8"])
@pytest.mark.parametrize("zero_points", ["ABO", "A", "O", ""])
@pytest.mark.parametrize(("sizes", "layout", "out"), LAYOUTS)
def test_quantized_linear_add(device, dtype, zero_points, sizes, layout, out):
    rng = np.random.default_rng(7)
    low, high = RANGES[dtype]
    kind = dml.numpy_dtype(harness.data_type(dtype))
    a, b = (rng.integers(low, high, sizes, kind, endpoint=True) for _ in range(2))
    one = (1,) * len(sizes)
    for scales in ((0.25, 0.5, 1.0), (0.1, 0.33, 0.2)):
        given = {"ATensor": a, "BTensor": b}
        for name, value in zip(("A", "B", "Output"), scales, strict=True):
            given[f"{name}ScaleTensor"] = np.full(one, value, np.float32)
        zero = {}
        for name in ("A", "B", "Output"):
            zero[name] = 0
            if name[0] in zero_points:
                zero[name] = int(rng.integers(max(low, -9), 9))
                given[f"{name}ZeroPointTensor"] = np.full(one, zero[name], kind)
        desc = dml.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(
            **{name: harness.like(array, layout if name == "ATensor" else "packed") for name, array in given.items()},
            OutputTensor=harness.tensor(dtype, sizes, out),
        )
        # The steps of the page's equations, each rounded to float32.
        total = (a - np.float32(zero["A"])) * np.float32(scales[0]) + (b - np.float32(zero["B"])) * np.float32(
            scales[1]
        )
        expected = quantized(total, given["OutputScaleTensor"], zero["Output"], dtype)
        harness.assert_exact(harness.run(device, desc, given)["OutputTensor"], expected)
