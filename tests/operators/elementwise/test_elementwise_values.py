"""Every element-wise operator against float64 NumPy or Python's integers: data types, layouts, attributes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import dml
import pointwise
from pointwise import Case

#: Tolerance of one correctly rounded operation.
EXACT = {"ulp": 0.5, "why": "one rounding"}
#: Tolerance of copies, and of arithmetic that never rounds.
SAME = {"ulp": 0.0, "why": "nothing rounds"}
SCALED = ({}, {"ScaleBias": dml.DML_SCALE_BIAS(0.5, 0.25)})


def function(name, reference, low, high, **more):
    """Return the case of a float function with a scale and bias, which are applied in float32 before the function."""

    def with_scale(x, ScaleBias=None):
        if ScaleBias is not None:
            x = x.astype(np.float32) * np.float32(ScaleBias.Scale) + np.float32(ScaleBias.Bias)
        return reference(x.astype(np.float64))

    return Case(
        f"ELEMENT_WISE_{name}", with_scale, low=low, high=high, attributes=SCALED, zeros_have_signs=True, **more
    )


FUNCTIONS = [
    function("ACOS", np.arccos, -1, 1),
    function("ACOSH", np.arccosh, 1, 20),
    function("ASIN", np.arcsin, -1, 1),
    function("ASINH", np.arcsinh, -10, 10),
    function("ATAN", np.arctan, -5, 5),
    function("ATANH", np.arctanh, -1, 1),
    function("CEIL", np.ceil, -9, 9, **SAME),
    function("COS", np.cos, -100, 100),
    function("COSH", np.cosh, -8, 8),
    function("ERF", scipy.special.erf, -4, 4),
    function("EXP", np.exp, -10, 10),
    function("FLOOR", np.floor, -9, 9, **SAME),
    function("LOG", np.log, 0, 10),
    function("RECIP", lambda x: 1 / x, -4, 4),
    function("SIN", np.sin, -100, 100),
    function("SINH", np.sinh, -8, 8),
    function("SQRT", np.sqrt, 0, 100),
    function("TAN", np.tan, -20, 20),
    function("TANH", np.tanh, -5, 5),
]


def truncated(a, b):
    """Return a / b rounded toward zero; all ones if b is zero."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return -1 if b == 0 else a - b * truncated(a, b)


def wrapped_scale(x, s):
    return x if s is None else math.trunc(x * s.Scale + s.Bias)


def scale(x, s):
    """Apply the scale and bias in float32, as the function's input."""
    return x if s is None else (x * np.float32(s.Scale) + np.float32(s.Bias))


SCALES = ({}, {"ScaleBias": dml.DML_SCALE_BIAS(2.0, -3.0)}, {"ScaleBias": dml.DML_SCALE_BIAS(0.5, 0.25)})
BIAS = {"ulp": 1.5, "why": "a product and a sum, each rounded, that do not cancel below half"}

ARITHMETIC = [
    Case(
        "ELEMENT_WISE_IDENTITY",
        lambda x, ScaleBias=None: scale(x, ScaleBias),
        lambda x, ScaleBias=None: wrapped_scale(x, ScaleBias),
        attributes=SCALES,
        data_types=[t for t in pointwise.data_types("ELEMENT_WISE_IDENTITY") if t != "FLOAT64"],
        whole=(-(2**20), 2**20),
        low=4,
        high=8,
        zeros_have_signs=True,
        **BIAS,
    ),
    Case(
        "ELEMENT_WISE_ABS",
        lambda x, ScaleBias=None: np.abs(scale(x, ScaleBias)),
        lambda x, ScaleBias=None: abs(wrapped_scale(x, ScaleBias)),
        attributes=SCALES[:2],
        whole=(-(2**6), 2**6),
        low=4,
        high=8,
        zeros_have_signs=True,
        **BIAS,
    ),
    Case("ELEMENT_WISE_NEGATE", lambda x: -x, lambda x: -x, zeros_have_signs=True, **SAME),
    Case("ELEMENT_WISE_SIGN", lambda x: np.sign(np.nan_to_num(x)), lambda x: (x > 0) - (x < 0), **SAME),
    Case("ELEMENT_WISE_ADD", lambda a, b: a + b, lambda a, b: a + b, **EXACT),
    Case("ELEMENT_WISE_SUBTRACT", lambda a, b: a - b, lambda a, b: a - b, **EXACT),
    Case("ELEMENT_WISE_MULTIPLY", lambda a, b: a * b, lambda a, b: a * b, **EXACT),
    Case("ELEMENT_WISE_DIVIDE", lambda a, b: a / b, truncated),
    Case("ELEMENT_WISE_MODULUS_TRUNCATE", np.fmod, remainder, low=-50, high=50, second=(-3, 3), **SAME),
    Case(
        "ELEMENT_WISE_MODULUS_FLOOR",
        np.mod,
        lambda a, b: -1 if b == 0 else a % b,
        low=-50,
        high=50,
        second=(-3, 3),
        **EXACT,
    ),
    Case("ELEMENT_WISE_MAX", np.maximum, max, **SAME),
    Case("ELEMENT_WISE_MIN", np.minimum, min, **SAME),
    Case("ELEMENT_WISE_MEAN", lambda a, b: (a + b) / 2, lambda a, b: truncated(a + b, 2), **EXACT),
    Case(
        "ELEMENT_WISE_DIFFERENCE_SQUARE",
        lambda a, b: (a - b) ** 2,
        lambda a, b: (a - b) ** 2,
        ulp=2,
        why="a rounded difference, squared",
    ),
    Case("ELEMENT_WISE_ATAN_YX", np.arctan2, zeros_have_signs=True),
    Case(
        "ELEMENT_WISE_CONSTANT_POW",
        lambda x, Exponent: np.power(
            x, np.full_like(x, Exponent)
        ),  # for a scalar exponent np.power calls sqrt, which is wrong at -inf
        low=-8,
        high=8,
        attributes=[{"Exponent": e} for e in (2.0, -3.0, 0.5, 0.0, 2.5)],
    ),
    Case("ELEMENT_WISE_ADD1", lambda a, b: a + b, **EXACT),
    Case(
        "ELEMENT_WISE_ADD1",
        lambda a, b, FusedActivation: np.maximum(a + b, 0),
        attributes=[{"FusedActivation": dml.DML_ACTIVATION_RELU_OPERATOR_DESC()}],
        **EXACT,
    ),
]


def round_half_away(x):
    return np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x) + 0.5), x), x)


TESTS = [
    Case("ELEMENT_WISE_IS_NAN", np.isnan, **SAME),
    Case(
        "ELEMENT_WISE_IS_INFINITY",
        lambda x, InfinityMode: np.isinf(x) & [True, x > 0, x < 0][InfinityMode],
        attributes=[{"InfinityMode": mode} for mode in dml.DML_IS_INFINITY_MODE],
    ),
    Case(
        "ELEMENT_WISE_ROUND",
        lambda x, RoundingMode: [np.rint, np.trunc, round_half_away][RoundingMode](x),
        attributes=[{"RoundingMode": mode} for mode in dml.DML_ROUNDING_MODE],
        zeros_have_signs=True,
        **SAME,
    ),
    *(
        Case(f"ELEMENT_WISE_LOGICAL_{name}", operation, operation, low=-1, high=1)
        for name, operation in (
            ("EQUALS", lambda a, b: a == b),
            ("GREATER_THAN", lambda a, b: a > b),
            ("LESS_THAN", lambda a, b: a < b),
            ("GREATER_THAN_OR_EQUAL", lambda a, b: a >= b),
            ("LESS_THAN_OR_EQUAL", lambda a, b: a <= b),
        )
    ),
    Case("ELEMENT_WISE_LOGICAL_AND", None, lambda a, b: bool(a) and bool(b), whole=(0, 2)),
    Case("ELEMENT_WISE_LOGICAL_OR", None, lambda a, b: bool(a) or bool(b), whole=(0, 2)),
    Case("ELEMENT_WISE_LOGICAL_XOR", None, lambda a, b: bool(a) != bool(b), whole=(0, 2)),
    Case("ELEMENT_WISE_LOGICAL_NOT", None, lambda a: not a, whole=(0, 2)),
    Case("ELEMENT_WISE_BIT_SHIFT_LEFT", None, lambda a, b: a << b if b < 64 else 0),
    Case("ELEMENT_WISE_BIT_SHIFT_LEFT", None, lambda a, b: a << b, whole=(0, 70)),
    Case("ELEMENT_WISE_BIT_SHIFT_RIGHT", None, lambda a, b: a >> min(b, 64)),
    Case("ELEMENT_WISE_BIT_SHIFT_RIGHT", None, lambda a, b: a >> b, whole=(0, 70)),
]


#: Floats that every float type represents.
BOUNDS = [
    {"Min": -1.5, "Max": 2.75},
    {"Min": -math.inf, "Max": 1.0},
    {"Min": 3.0, "Max": 1.0},
    {"Min": 0.0, "Max": 100},
]


def clip(x, Min, Max):
    return np.maximum(Min, np.minimum(x, Max))


def clip_whole(x, Min, Max):
    return max(-(2**63) if Min == -math.inf else math.trunc(Min), min(x, math.trunc(Max)))


LIMITS = [
    Case("ELEMENT_WISE_CLIP", clip, attributes=BOUNDS, data_types=["FLOAT32", "FLOAT16"], **SAME),
    Case(
        "ELEMENT_WISE_CLIP",
        None,
        clip_whole,
        attributes=BOUNDS[1:],
        whole=(0, 120),
        data_types=["UINT8", "UINT16", "UINT32", "UINT64"],
    ),
    Case(
        "ELEMENT_WISE_CLIP",
        None,
        clip_whole,
        attributes=BOUNDS,
        whole=(-4, 120),
        data_types=["INT8", "INT16", "INT32", "INT64"],
    ),
    Case(
        "ELEMENT_WISE_CLIP_GRAD",
        lambda x, g, Min, Max: np.where((x <= Min) | (x >= Max), 0, g),
        lambda x, g, Min, Max: 0 if x <= math.trunc(Min) or x >= math.trunc(Max) else g,
        attributes=[{"Min": 0.0, "Max": 2.5}],
        whole=(-3, 4),
        **SAME,
    ),
    Case(
        "ELEMENT_WISE_THRESHOLD",
        lambda x, Min, ScaleBias=None: np.maximum(scale(x, ScaleBias), Min),
        lambda x, Min, ScaleBias=None: max(wrapped_scale(x, ScaleBias), math.trunc(Min)),
        attributes=[{"Min": 1.5}, {"Min": 1.0, "ScaleBias": dml.DML_SCALE_BIAS(2, 1)}],
        whole=(-9, 9),
        **EXACT,
    ),
]
CASES = [*FUNCTIONS, *ARITHMETIC, *TESTS, *LIMITS]


@pytest.mark.parametrize(("case", "dtype"), list(pointwise.runs(CASES)), ids=pointwise.identify)
def test_values(device, case, dtype):
    pointwise.check_values(case, device, dtype)


@pytest.mark.parametrize("case", CASES, ids=pointwise.identify)
def test_layouts(device, case):
    dtypes = pointwise.data_types_of(case)
    for dtype in (dtypes[0], dtypes[-1]):
        pointwise.check_layouts(case, device, dtype)
