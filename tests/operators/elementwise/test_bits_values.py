"""Operators on bits, and operators that only choose and copy elements: exact for every data type, FLOAT64 included."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import dml
import harness
import pointwise

TYPES = pointwise.data_types("ELEMENT_WISE_BIT_AND")


def any_bits(rng, dtype, shape):
    """Return elements of any bit pattern, including subnormals and every NaN."""
    kind = dml.numpy_dtype(harness.data_type(dtype))
    return rng.integers(0, 256, (*shape, kind.itemsize), np.uint8).reshape(-1).view(kind).reshape(shape)


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


def assert_same_bits(result, expected):
    """Compare bits: no FLOAT16 goes through the device's own conversion here, so NaN keeps its payload."""
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(bits(result), bits(expected))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["AND", "OR", "XOR"])
@pytest.mark.parametrize(("sizes", "layout", "out"), [((67,), "packed", "packed"), ((3, 4, 5), "reversed", "padded")])
def test_binary(device, dtype, name, sizes, layout, out):
    rng = np.random.default_rng(7)
    a, b = any_bits(rng, dtype, sizes), any_bits(rng, dtype, sizes)
    desc = getattr(dml, f"DML_ELEMENT_WISE_BIT_{name}_OPERATOR_DESC")(
        harness.like(a, layout), harness.like(b), harness.like(a, out)
    )
    result = harness.run(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    assert_same_bits(result, getattr(operator, f"{name.lower()}_")(bits(a), bits(b)).view(a.dtype) if name != "XOR"
                     else (bits(a) ^ bits(b)).view(a.dtype))  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("sizes", "layout", "out"), [((67,), "packed", "packed"), ((3, 4, 5), "reversed", "padded")])
def test_not_and_count(device, dtype, sizes, layout, out):
    x = any_bits(np.random.default_rng(8), dtype, sizes)
    desc = dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(harness.like(x, layout), harness.like(x, out))
    assert_same_bits(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], (~bits(x)).view(x.dtype))
    for counts in ("UINT32", "UINT8"):
        desc = dml.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(harness.like(x, layout), harness.tensor(counts, sizes, out))
        result = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
        harness.assert_exact(result, np.bitwise_count(bits(x)).astype(result.dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("sizes", "layout", "out"), [((67,), "packed", "packed"), ((3, 4, 5), "reversed", "padded")])
def test_identity_copies_bits(device, dtype, sizes, layout, out):
    x = any_bits(np.random.default_rng(9), dtype, sizes)
    desc = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(harness.like(x, layout), harness.like(x, out))
    assert_same_bits(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], x)


@pytest.mark.parametrize("scale_bias", [(1, 0), (-0.1, 2.5), (1e30, 1e-30), (0.3, 1e-38), (1e38, -1e38), (0, 1)])
def test_identity_scales_float64_as_ieee_754_does(device, scale_bias):
    rng = np.random.default_rng(10)
    x = np.concatenate([any_bits(rng, "FLOAT64", (500,)), rng.normal(size=500), [0.0, -0.0, np.inf, 5e-324, 1e308]])
    scale, bias = (float(np.float32(value)) for value in scale_bias)
    desc = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
        harness.like(x), harness.like(x), dml.DML_SCALE_BIAS(*scale_bias)
    )
    result = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
    with np.errstate(all="ignore"):
        harness.assert_exact(result, x * scale + bias)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("sizes", "layout", "out"), [((67,), "packed", "packed"), ((3, 4, 5), "broadcast", "padded")])
def test_if(device, dtype, sizes, layout, out):
    rng = np.random.default_rng(11)
    a, b = any_bits(rng, dtype, sizes), any_bits(rng, dtype, sizes)
    condition = rng.integers(0, 3, sizes).astype(np.uint8)
    if layout == "broadcast":
        condition = np.broadcast_to(condition[:1], sizes)
    desc = dml.DML_ELEMENT_WISE_IF_OPERATOR_DESC(
        harness.tensor("UINT8", sizes, layout), harness.like(a), harness.like(b, out), harness.like(a, out)
    )
    result = harness.run(device, desc, {"ConditionTensor": condition, "ATensor": a, "BTensor": b})["OutputTensor"]
    expected = np.where(condition != 0, a, b)
    if dtype == "FLOAT16":  # converted to float, which keeps NaN but not its payload
        harness.assert_exact(result, expected)
    else:
        assert_same_bits(result, expected)


def test_examples_of_the_reference(device):
    """The examples on the reference pages of BIT_COUNT, BIT_NOT (which BIT_XOR's page repeats) and IF."""
    x = np.array([[0, 123], [456, 789]], np.uint32)
    desc = dml.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(harness.like(x), harness.like(x))
    np.testing.assert_array_equal(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], [[0, 6], [4, 5]])
    x = np.array([[0, 128], [42, 255]], np.uint8)
    desc = dml.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(harness.like(x), harness.like(x))
    np.testing.assert_array_equal(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], [[255, 127], [213, 0]])
    condition = np.array([[1, 0], [1, 1]], np.uint8)
    a, b = np.array([[1, 2], [3, 4]], np.float32), np.array([[9, 8], [7, 6]], np.float32)
    desc = dml.DML_ELEMENT_WISE_IF_OPERATOR_DESC(
        harness.like(condition), harness.like(a), harness.like(b), harness.like(a)
    )
    result = harness.run(device, desc, {"ConditionTensor": condition, "ATensor": a, "BTensor": b})["OutputTensor"]
    np.testing.assert_array_equal(result, [[1, 8], [3, 4]])
