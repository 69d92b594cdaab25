"""Every activation but the softmaxes, alone and fused, against float64 NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import dml
import harness
import pointwise
from dml.validator.base import FUSABLE_ACTIVATIONS
from pointwise import Case

SAME = {"ulp": 0.0, "why": "nothing rounds"}


def single(value):
    """Return an attribute rounded to float32, as the device receives it."""
    return float(np.float32(value))


def with_single(reference):
    return lambda *x, **attributes: reference(*x, **{name: single(value) for name, value in attributes.items()})


def case(name, reference, integers=None, **more):
    return Case(f"ACTIVATION_{name}", with_single(reference), integers, **more)


def linear(x, Alpha, Beta):
    """Round the product to float32 before the addition: where terms cancel, a device that fuses the two differs."""
    return (Alpha * x).astype(np.float32).astype(np.float64) + Beta


def hard_sigmoid(x, Alpha, Beta):
    return np.clip(linear(x, Alpha, Beta), 0, 1)


def hard_swish(x, Alpha, Beta):
    return x * hard_sigmoid(x, Alpha, Beta)


def shrink(x, Bias, Threshold):
    return np.where(x > Threshold, x - Bias, np.where(x < -Threshold, x + Bias, 0))


def shrink_whole(x, Bias, Threshold):
    return math.trunc(x - Bias) if x > Threshold else math.trunc(x + Bias) if x < -Threshold else 0


def celu(x, Alpha):
    return np.maximum(0, x) + np.minimum(0, Alpha * np.expm1(x / Alpha))


def softplus(x):
    return np.logaddexp(0, x)


ONE = {"ulp": 0.5, "why": "one rounding of the result"}
PRODUCT = {"ulp": 6, "why": "the shader library's promise, and a product or quotient"}

CASES = [
    case("IDENTITY", lambda x: x, zeros_have_signs=True, **SAME),
    case("LINEAR", linear, attributes=[{"Alpha": 2.0, "Beta": 0.5}, {"Alpha": 0.77, "Beta": -1.3}], **ONE),
    case("RELU", lambda x: np.maximum(x, 0), lambda x: max(x, 0), **SAME),
    case(
        "LEAKY_RELU",
        lambda x, Alpha: np.where(x >= 0, x, Alpha * x),
        attributes=[{"Alpha": 0.01}, {"Alpha": -2.0}],
        **ONE,
    ),
    case(
        "PARAMETERIZED_RELU",
        lambda x, s: np.where(x >= 0, x, s * x),
        lambda x, s: x if x >= 0 else s * x,
        **ONE,
    ),
    case(
        "THRESHOLDED_RELU",
        lambda x, Alpha: np.where(x > Alpha, x, 0),
        attributes=[{"Alpha": 1.0}, {"Alpha": -0.5}],
        **SAME,
    ),
    case(
        "SHRINK",
        shrink,
        shrink_whole,
        attributes=[{"Bias": 0.0, "Threshold": 0.5}, {"Bias": 0.75, "Threshold": 1.5}, {"Bias": 2.0, "Threshold": 2.0}],
        # Integers small enough that float32 is exact with their fractions; results of unsigned types are not negative.
        whole=(-120, 120),
        ulp=1,
        why="one rounding",
    ),
    case("HARD_SIGMOID", hard_sigmoid, attributes=[{"Alpha": 0.2, "Beta": 0.5}, {"Alpha": 1.0, "Beta": 0.0}], **ONE),
    case("HARD_SWISH", hard_swish, attributes=[{"Alpha": 1 / 6, "Beta": 0.5}], ulp=1.5, why="two roundings"),
    case("SIGMOID", scipy.special.expit, low=-20, high=20),
    case(
        "SWISH",
        lambda x, SigmoidInputScale: x * scipy.special.expit(SigmoidInputScale * x),
        attributes=[{"SigmoidInputScale": scale} for scale in (1.0, 1.702, -3.3)],
        low=-20,
        high=20,
        special=False,
        **PRODUCT,
    ),
    case("TANH", np.tanh),
    case(
        "SCALED_TANH",
        lambda x, Alpha, Beta: Alpha * np.tanh(Beta * x),
        attributes=[{"Alpha": 1.0, "Beta": 0.5}, {"Alpha": 1.7, "Beta": 0.66}],
        **PRODUCT,
    ),
    case(
        "ELU",
        lambda x, Alpha: np.where(x >= 0, x, Alpha * np.expm1(x)),
        attributes=[{"Alpha": 1.0}, {"Alpha": 0.3}],
        **PRODUCT,
    ),
    case(
        "SCALED_ELU",
        lambda x, Alpha, Gamma: Gamma * np.where(x > 0, x, Alpha * np.expm1(x)),
        attributes=[{"Alpha": 1.6732, "Gamma": 1.0507}],
        **PRODUCT,
    ),
    case("CELU", celu, attributes=[{"Alpha": 1.0}, {"Alpha": 0.3}, {"Alpha": 7.5}], **PRODUCT),
    case(
        "SOFTPLUS",
        lambda x, Steepness: softplus(Steepness * x) / Steepness,
        attributes=[{"Steepness": 1.0}, {"Steepness": 3.3}, {"Steepness": 0.25}],
        low=-20,
        high=20,
        **PRODUCT,
    ),
    case(
        "PARAMETRIC_SOFTPLUS",
        lambda x, Alpha, Beta: Alpha * softplus(Beta * x),
        attributes=[{"Alpha": 1.5, "Beta": 1.0}, {"Alpha": 0.7, "Beta": -2.3}],
        low=-20,
        high=20,
        **PRODUCT,
    ),
    case("SOFTSIGN", lambda x: x / (1 + np.abs(x)), zeros_have_signs=True),
    case("GELU", lambda x: x * scipy.special.ndtr(x), low=-12, high=8, special=False),
    Case("ACTIVATION_RELU_GRAD", lambda x, g: np.where(x > 0, g, 0), lambda x, g: g if x > 0 else 0, **SAME),
]


@pytest.mark.parametrize(("case", "dtype"), list(pointwise.runs(CASES)), ids=pointwise.identify)
def test_values(device, case, dtype):
    pointwise.check_values(case, device, dtype)


@pytest.mark.parametrize("case", CASES, ids=pointwise.identify)
def test_layouts(device, case):
    dtypes = pointwise.data_types_of(case)
    for dtype in (dtypes[0], dtypes[-1]):
        pointwise.check_layouts(case, device, dtype)


def test_infinities_and_nan(device):
    """Where steps of the formula would give inf * 0, the result is the limit; NaN stays NaN."""
    x = np.array([np.inf, -np.inf, np.nan], np.float32)
    for desc, expected in (
        (dml.DML_ACTIVATION_GELU_OPERATOR_DESC, [np.inf, 0, np.nan]),
        (dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, [1, 0, np.nan]),
        (dml.DML_ACTIVATION_TANH_OPERATOR_DESC, [1, -1, np.nan]),
        (dml.DML_ACTIVATION_RELU_OPERATOR_DESC, [np.inf, 0, np.nan]),
    ):
        result = harness.run(device, desc(harness.like(x), harness.like(x)), {"InputTensor": x})["OutputTensor"]
        np.testing.assert_array_equal(result, np.array(expected, np.float32), err_msg=desc.__name__)


#: Activations that any operator can fuse; recurrent networks accept more.
FUSED = [case for case in CASES if case.cls.OPERATOR_TYPE in FUSABLE_ACTIVATIONS]


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", FUSED, ids=pointwise.identify)
def test_fused(device, case, dtype):
    """An activation fused into ADD1 applies to the float32 sum, which is rounded once, when it is stored."""
    rng = np.random.default_rng(12)
    a, b = harness.random(rng, dtype, (67,), -3, 0), harness.random(rng, dtype, (67,), 0, 3)
    attributes = case.attributes[-1]
    desc = dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(
        harness.like(a), harness.like(b), harness.like(a), case.cls(**attributes)
    )
    result = harness.run(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    total = a.astype(np.float32) + b.astype(np.float32)
    pointwise.compare(case, result, case.floats(total.astype(np.float64), **attributes))
