"""The shader library's functions to 4 ulp over all of float32, by way of the operators that call them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import dml
import harness

COUNT = 1 << 16


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x):
    return np.where(np.isneginf(x), -0.0, x * scipy.special.ndtr(x))


#: Operator, reference, and the interval in which it is neither constant nor its argument.
FUNCTIONS = [
    ("ELEMENT_WISE_ACOS", np.arccos, -1, 1),
    ("ELEMENT_WISE_ACOSH", np.arccosh, 1, 5),
    ("ELEMENT_WISE_ASIN", np.arcsin, -1, 1),
    ("ELEMENT_WISE_ASINH", np.arcsinh, -6, 6),
    ("ELEMENT_WISE_ATAN", np.arctan, -6, 6),
    ("ELEMENT_WISE_ATANH", np.arctanh, -1, 1),
    ("ELEMENT_WISE_COS", np.cos, -30, 30),
    ("ELEMENT_WISE_COSH", np.cosh, -89, 89),
    ("ELEMENT_WISE_ERF", scipy.special.erf, -4, 4),
    ("ELEMENT_WISE_EXP", np.exp, -87, 88.7),
    ("ELEMENT_WISE_LOG", np.log, 0.3, 3),
    ("ELEMENT_WISE_RECIP", np.reciprocal, -3, 3),
    ("ELEMENT_WISE_SIN", np.sin, -30, 30),
    ("ELEMENT_WISE_SINH", np.sinh, -89, 89),
    ("ELEMENT_WISE_SQRT", np.sqrt, 0, 3),
    ("ELEMENT_WISE_TAN", np.tan, -30, 30),
    ("ELEMENT_WISE_TANH", np.tanh, -9, 9),
    ("ACTIVATION_SIGMOID", scipy.special.expit, -87, 20),
    ("ACTIVATION_SOFTPLUS", softplus, -87, 20),
    ("ACTIVATION_GELU", gelu, -13, 5),
]


def everywhere(rng, count=COUNT):
    """Evenly spread over the bit patterns: each exponent and sign, subnormals, infinities and NaN."""
    step = (1 << 32) // count
    bits = np.arange(count, dtype=np.uint64) * step + rng.integers(0, step, count, dtype=np.uint64)
    return bits.astype(np.uint32).view(np.float32)


def assert_within(result, expected, most=4.0):
    """Subnormal results count as zero, and a subnormal argument may have been taken for one."""
    with np.errstate(all="ignore"):
        small = np.abs(expected) < np.finfo(np.float32).tiny
        assert np.all(np.abs(result[small]) <= np.finfo(np.float32).tiny)
        harness.assert_ulp(result[~small], expected[~small], most, "the shader library's promise")


@pytest.mark.parametrize(("name", "reference", "low", "high"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_function(device, name, reference, low, high):
    rng = np.random.default_rng(20)
    x = np.concatenate([everywhere(rng), rng.uniform(low, high, COUNT).astype(np.float32)])
    x = x[(np.abs(x) >= np.finfo(np.float32).tiny) | (x == 0) | np.isnan(x)]
    more = {"Steepness": 1.0} if name == "ACTIVATION_SOFTPLUS" else {}
    cls = getattr(dml, f"DML_{name}_OPERATOR_DESC")
    desc = cls(InputTensor=harness.like(x), OutputTensor=harness.like(x), **more)
    result = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
    with np.errstate(all="ignore"):
        assert_within(result, reference(x.astype(np.float64)))


@pytest.mark.parametrize(
    ("name", "reference", "first", "second"),
    [
        ("POW", np.power, (1e-3, 1e3), (-12, 12)),
        ("POW", np.power, (0.5, 2), (-120, 120)),
        ("DIVIDE", np.divide, (-9, 9), (-9, 9)),
        ("ATAN_YX", np.arctan2, (-4, 4), (-4, 4)),
        ("MODULUS_TRUNCATE", np.fmod, (-1e9, 1e9), (-3, 3)),
    ],
)
def test_function_of_two(device, name, reference, first, second):
    rng = np.random.default_rng(21)
    a = np.concatenate([everywhere(rng), rng.uniform(*first, COUNT).astype(np.float32)])
    b = np.concatenate([rng.permutation(everywhere(rng)), rng.uniform(*second, COUNT).astype(np.float32)])
    normal = np.ones(a.shape, bool)
    for x in (a, b):
        normal &= (np.abs(x) >= np.finfo(np.float32).tiny) | (x == 0) | np.isnan(x)
    a, b = a[normal], b[normal]
    cls = getattr(dml, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")
    desc = cls(*[harness.like(a)] * 3)
    names = [info.name for info in cls.fields_info if info.kind == "input"]
    result = harness.run(device, desc, dict(zip(names, (a, b), strict=True)))["OutputTensor"]
    with np.errstate(all="ignore"):
        assert_within(result, reference(a.astype(np.float64), b.astype(np.float64)))


def test_sine_and_cosine_next_to_multiples_of_half_pi(device):
    """Where the argument's reduction must keep more bits than the argument has."""
    k = np.concatenate([np.arange(1, 4000), np.logspace(4, 37, 4000).astype(np.float64)])
    x = (k * np.longdouble(np.pi) / 2).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(0)), [np.float32(16367173.0 * 2**72), np.float32(5.3e33)]])
    x = x.astype(np.float32)
    for name, reference in (("SIN", np.sin), ("COS", np.cos), ("TAN", np.tan)):
        desc = getattr(dml, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")(harness.like(x), harness.like(x))
        result = harness.run(device, desc, {"InputTensor": x})["OutputTensor"]
        assert_within(result, reference(x.astype(np.float64)))
