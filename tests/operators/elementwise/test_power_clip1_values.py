"""POW with pairs of data types, and the clips whose bounds are scalars of the tensor's own type."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dml
import harness
import pointwise
from pointwise import wrap

POW_TYPES = ["FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"]


def kind_of(dtype):
    return dml.numpy_dtype(harness.data_type(dtype))


def power(x, exponent):
    desc = dml.DML_ELEMENT_WISE_POW_OPERATOR_DESC(harness.like(x), harness.like(exponent), harness.like(x))
    return desc, {"InputTensor": x, "ExponentTensor": exponent}


@pytest.mark.parametrize(("of", "by"), list(itertools.product(POW_TYPES, POW_TYPES)))
def test_power_of_every_pair_of_types(device, of, by):
    rng = np.random.default_rng(3)
    base = harness.random(rng, of, (101,), -9, 9)
    exponent = harness.random(rng, by, (101,), -6, 9)
    if not of.startswith("FLOAT") and by.startswith("FLOAT"):
        exponent = np.round(exponent * 2).astype(kind_of(by)) / kind_of(by).type(2)
        base = np.abs(base)
        base[base == 0] = 4
    desc, given = power(base, exponent)
    result = harness.run(device, desc, given)["OutputTensor"]
    if of.startswith("FLOAT"):
        with np.errstate(all="ignore"):
            expected = np.power(base.astype(np.float64), exponent.astype(np.float64))
            harness.assert_ulp(result, expected, 4 if of == "FLOAT32" else 0.501, "the shader library's promise")
        return
    for x, n, y in zip(base.tolist(), exponent.tolist(), result.tolist(), strict=True):
        if n == int(n):  # a negative power is 1 / x^-n by integer division; all ones if x is zero
            value = x ** int(n) if n >= 0 else -1 if x == 0 else int(1 / x ** -int(n))
            assert y == wrap(value, base.dtype), (x, n)
        elif x**n < min(2**14, np.iinfo(base.dtype).max):  # float32 distinguishes these from integers
            assert y == math.trunc(round(x**n, 9)), (x, n)


def test_power_at_the_special_values_of_ieee_754(device):
    values = np.array([*pointwise.SPECIAL, 2.0, -2.0, 3.0, -3.0, 16777217.0, 0.99999994, 1.0000001], np.float32)
    base, exponent = (np.ascontiguousarray(g.reshape(-1)) for g in np.meshgrid(values, values))
    desc, given = power(base, exponent)
    result = harness.run(device, desc, given)["OutputTensor"]
    with np.errstate(all="ignore"):
        expected = np.power(base.astype(np.float64), exponent.astype(np.float64))
        normal = (np.abs(expected) >= 2.0**-126) | (expected == 0) | np.isnan(expected)
        harness.assert_ulp(result[normal], expected[normal], 4, "the shader library's promise")
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


def test_a_subnormal_counts_as_itself_or_as_zero_throughout(device):
    """A device may flush subnormals to zero, but must treat one the same in each step of the formula."""
    values = np.array([-4e-45, 4e-45, 0.0, -0.0, 0.5, -2.0, 3.0], np.float32)
    base, exponent = (np.ascontiguousarray(g.reshape(-1)) for g in np.meshgrid(values, values))
    desc, given = power(base, exponent)
    result = harness.run(device, desc, given)["OutputTensor"]
    flushed = [np.where(np.abs(v) < 1e-38, np.copysign(np.float32(0), v), v) for v in (base, exponent)]
    with np.errstate(all="ignore"):
        allowed = [
            np.power(x.astype(np.float64), n.astype(np.float64)).astype(np.float32)
            for x in (base, flushed[0])
            for n in (exponent, flushed[1])
        ]
    right = [np.isclose(result, one, 1e-6, 0, equal_nan=True) for one in allowed]
    assert np.logical_or.reduce(right).all(), (base, exponent, result)


def test_a_negative_base_keeps_its_sign_under_a_large_odd_whole_exponent(device):
    base, exponent = np.full(2, -1, np.float32), np.array([16777217, 16777218], np.int32)
    desc, given = power(base, exponent)
    np.testing.assert_array_equal(harness.run(device, desc, given)["OutputTensor"], [-1, 1])


def scalar(dtype, value):
    if dtype == "FLOAT16":
        return dml.DML_SCALAR_UNION(UInt16=int(np.float16(value).view(np.uint16)))
    name = dtype.replace("UINT", "UInt").replace("INT", "Int").replace("FLOAT", "Float")
    return dml.DML_SCALAR_UNION(**{name: value})


@pytest.mark.parametrize("dtype", pointwise.data_types("ELEMENT_WISE_CLIP1"))
def test_clip1_and_its_gradient(device, dtype):
    rng = np.random.default_rng(4)
    kind = kind_of(dtype)
    if dtype.startswith("FLOAT"):
        low, high = -1.5, 2.25
        x = harness.random(rng, dtype, (83,))
        x[:6] = [np.nan, np.inf, -np.inf, low, high, 0]
    else:
        info = np.iinfo(kind)
        # Bounds that no float32 represents exactly.
        low, high = (info.min + 3, info.max - 5) if kind.kind == "i" else (2, info.max - 5)
        x = rng.integers(info.min, info.max, (83,), kind, endpoint=True)
        x[:6] = [info.min, info.max, low, high, low + 1, high - 1]
    gradient = harness.random(rng, dtype, (83,), 1, 9)
    bounds = {"MinMaxDataType": harness.data_type(dtype), "Min": scalar(dtype, low), "Max": scalar(dtype, high)}
    desc = dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(InputTensor=harness.like(x), OutputTensor=harness.like(x), **bounds)
    harness.assert_exact(
        harness.run(device, desc, {"InputTensor": x})["OutputTensor"],
        np.maximum(kind.type(low), np.minimum(x, kind.type(high))),
    )
    desc = dml.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(
        InputTensor=harness.like(x),
        InputGradientTensor=harness.like(x),
        OutputGradientTensor=harness.like(x),
        **bounds,
    )
    harness.assert_exact(
        harness.run(device, desc, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"],
        np.where((x <= kind.type(low)) | (x >= kind.type(high)), kind.type(0), gradient),
    )


def test_clip_bounds_of_integers_are_truncated_and_kept_in_range(device):
    x = np.array([-128, -3, -2, 0, 1, 127], np.int8)
    desc = dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(harness.like(x), harness.like(x), Min=-2.9, Max=1e9)
    np.testing.assert_array_equal(
        harness.run(device, desc, {"InputTensor": x})["OutputTensor"], [-2, -2, -2, 0, 1, 127]
    )


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64"])
def test_a_minimum_above_the_maximum_wins(device, dtype):
    """The page defines max(Min, min(x, Max)); the gradient is zero, since no element lies between the bounds."""
    x = np.array([0, 3, 5, 6, 9, 100]).astype(kind_of(dtype))
    desc = dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(harness.like(x), harness.like(x), Min=6, Max=4)
    harness.assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], np.full_like(x, 6))
    bounds = {"MinMaxDataType": harness.data_type(dtype), "Min": scalar(dtype, 6), "Max": scalar(dtype, 4)}
    desc = dml.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(InputTensor=harness.like(x), OutputTensor=harness.like(x), **bounds)
    harness.assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], np.full_like(x, 6))
    desc = dml.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(
        harness.like(x), harness.like(x), OutputGradientTensor=harness.like(x), **bounds
    )
    inputs = {"InputTensor": x, "InputGradientTensor": x}
    harness.assert_exact(harness.run(device, desc, inputs)["OutputGradientTensor"], np.zeros_like(x))


def test_infinite_bounds_limit_nothing(device):
    x = np.array([-np.inf, -3e38, 0, 3e38, np.inf, np.nan], np.float32)
    desc = dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(harness.like(x), harness.like(x), Min=-np.inf, Max=np.inf)
    harness.assert_exact(harness.run(device, desc, {"InputTensor": x})["OutputTensor"], x)
