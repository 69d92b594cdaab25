"""The element-wise operators: functions, arithmetic, comparisons, logic, bits, limits; quantization has its own
module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dml import descriptors as d
from dml import enums
from dml.conformance.activations import fused
from dml.conformance.limits import EXACT, LIBRARY, ROUNDED, Limit, webnn, webnn_absolute
from dml.conformance.parameters import Choice, tensor, types_of
from dml.conformance.pointwise import REPEATED, SCALES, attribute_sets, domain, drawn, modes, pointwise
from dml.conformance.references import activations, elementwise, whole
from dml.conformance.subject import Inputs
from dml.conformance.values import Values, is_float
from dml.tensors import DML_SCALAR_UNION, DML_SCALE_BIAS, numpy_dtype

_SINE = webnn_absolute(1 / 1024, 1 / 512).keeping(LIBRARY)
#: Two roundings, of the product and of the sum, if there is a ScaleBias.
_SCALED = Limit((1, 1), why="a product that does not round, and a sum that does")
#: Both operands are halved before the sum, which might overflow.
_HALVES = Limit((1, 1), (2.0**-126, 2.0**-126), "one rounding, and subnormal halves that may be flushed")


def _of(name: str) -> Any:
    return getattr(d, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")


def _kinds(floats: Callable[..., Any], integers: Callable[..., Any]) -> Callable[..., Any]:
    """Combine a function for floats and one for Python integers."""
    return lambda *x, **more: (integers if x[0].dtype == object else floats)(*x, **more)


# --- functions of one float -----------------------------------------------------------------------------------------

for _name, _function, _low, _high, _limit in (
    ("ACOS", np.arccos, -1, 1, LIBRARY),
    ("ACOSH", np.arccosh, 1, 20, LIBRARY),
    ("ASIN", np.arcsin, -1, 1, LIBRARY),
    ("ASINH", np.arcsinh, -10, 10, LIBRARY),
    ("ATAN", np.arctan, -5, 5, LIBRARY),
    ("ATANH", np.arctanh, -1, 1, LIBRARY),
    ("CEIL", np.ceil, -9, 9, EXACT),
    ("COS", np.cos, -100, 100, _SINE),
    ("COSH", np.cosh, -8, 8, LIBRARY),
    ("ERF", elementwise.erf, -4, 4, _SINE),
    ("EXP", np.exp, -10, 10, webnn(32, 1).keeping(LIBRARY)),
    ("FLOOR", np.floor, -9, 9, EXACT),
    ("LOG", np.log, 0, 10, webnn_absolute(1 / 1024, 1 / 1024).keeping(LIBRARY)),
    ("RECIP", lambda x: 1 / x, -4, 4, webnn(2, 2).keeping(ROUNDED)),
    ("SIN", np.sin, -100, 100, _SINE),
    ("SINH", np.sinh, -8, 8, LIBRARY),
    ("SQRT", np.sqrt, 0, 100, webnn(1, 1)),
    # Near a pole the result is so large that WebNN's absolute limit is less than one ulp.
    ("TAN", np.tan, -20, 20, webnn_absolute(1 / 1024, 1 / 512).and_then(LIBRARY).keeping(LIBRARY)),
    ("TANH", np.tanh, -5, 5, _SINE),
):
    _scales = {label: SCALES[label] for label in ("none", "0.5x+0.25")}
    pointwise(_of(_name), _function, _limit, domain(_low, _high), scale=_scales)

pointwise(
    _of("CONSTANT_POW"),
    elementwise.constant_power,
    webnn(32, 2).keeping(LIBRARY),
    domain(-8, 8),
    exponent=attribute_sets(*({"Exponent": e} for e in (2.0, -3.0, 0.5, 0.0, 1.0, 2.5))),
)


def _halves(desc: Any, values: Values) -> Inputs:
    """Return numbers, half of them halfway between two integers, where the rounding modes differ."""
    x = drawn(values, desc.InputTensor, -9, 9)
    halves = values.integers(desc.InputTensor, -9, 8) + x.dtype.type(0.5)
    return {"InputTensor": np.where(values.rng.random(x.shape) < 0.5, halves, x)}


pointwise(_of("ROUND"), elementwise.round_to, EXACT, _halves, mode=modes("RoundingMode", enums.DML_ROUNDING_MODE))
pointwise(_of("IS_NAN"), np.isnan, output="OutputTensor")
_infinities = modes("InfinityMode", enums.DML_IS_INFINITY_MODE)
pointwise(_of("IS_INFINITY"), elementwise.is_infinity, mode=_infinities, output="OutputTensor")

# --- arithmetic -----------------------------------------------------------------------------------------------------


def _scale_limit(desc: Any) -> Limit:
    return EXACT if desc.ScaleBias is None else _SCALED


pointwise(_of("IDENTITY"), lambda x: x, _scale_limit, domain(-4, 4), scale=SCALES)
pointwise(_of("ABS"), np.abs, _scale_limit, domain(-4, 4), scale=SCALES)
pointwise(_of("NEGATE"), lambda x: -x, inputs=domain(-4, 4))
pointwise(_of("SIGN"), elementwise.sign, inputs=domain(-4, 4))
for _name, _floats, _integers, _limit in (
    ("ADD", np.add, np.add, webnn(1, 1)),
    ("SUBTRACT", np.subtract, np.subtract, webnn(1, 1)),
    ("MULTIPLY", np.multiply, np.multiply, webnn(1, 1)),
    ("DIVIDE", np.divide, whole.quotient, webnn(2, 2).keeping(ROUNDED)),
    ("MAX", np.maximum, np.maximum, EXACT),
    ("MIN", np.minimum, np.minimum, EXACT),
    ("MEAN", lambda a, b: (a + b) / 2, whole.mean, _HALVES),
    (
        "DIFFERENCE_SQUARE",
        lambda a, b: (a - b) ** 2,
        lambda a, b: (a - b) ** 2,
        Limit((2.5, 1), why="a rounded difference, squared and rounded"),
    ),
):
    pointwise(_of(_name), _kinds(_floats, _integers), _limit, domain(-4, 4))
for _name, _floats, _integers in (
    ("MODULUS_TRUNCATE", np.fmod, whole.remainder),
    ("MODULUS_FLOOR", np.mod, whole.modulus),
):
    _limit = EXACT if _floats is np.fmod else ROUNDED
    pointwise(_of(_name), _kinds(_floats, _integers), _limit, domain(-50, 50, (-3, 3)))
pointwise(_of("ATAN_YX"), np.arctan2, LIBRARY)


def _activated(a: Any, b: Any, FusedActivation: Any) -> Any:
    """Apply the activation to the sum in float32."""
    total = a + b if FusedActivation is None else (a + b).astype(np.float32).astype(np.float64)
    return activations.activate(FusedActivation, total)


pointwise(
    _of("ADD1"),
    _activated,
    lambda desc: webnn(1, 1).and_then(activations.limit_of(desc.FusedActivation)),
    absolute=lambda a, b, FusedActivation: activations.cancelled_by(FusedActivation, a + b),
    activation={label: {"FusedActivation": desc} for label, desc in fused().items()},
)


def _power_inputs(desc: Any, values: Values) -> Inputs:
    """Return operands; for integers raised to float powers, which truncate, results are small and bases positive."""
    base, exponent = desc.InputTensor, desc.ExponentTensor
    if is_float(numpy_dtype(base.DataType)):
        return {"InputTensor": drawn(values, base, -8, 8), "ExponentTensor": drawn(values, exponent, -6, 6)}
    if not is_float(numpy_dtype(exponent.DataType)):
        small = values.between if desc.ScaleBias is not None else lambda *more: drawn(values, *more)
        return {"InputTensor": small(base, -9, 9), "ExponentTensor": drawn(values, exponent, -6, 9)}
    halves = values.rng.integers(-4, 5, exponent.Sizes) / 2
    low = 1 if desc.ScaleBias is None else 0
    return {
        "InputTensor": values.integers(base, low, 3),
        "ExponentTensor": halves.astype(numpy_dtype(exponent.DataType)),
    }


def _exponents(kind: Any) -> Callable[[Choice], dict[str, Any]]:
    return lambda choice: {"ExponentTensor": choice.second(tensor(kind, choice.sizes))}


pointwise(
    _of("POW"),
    elementwise.power,
    webnn(32, 2).keeping(LIBRARY),
    _power_inputs,
    exponent={label: _exponents(kind) for label, kind in types_of(_of("POW"), "ExponentTensor").items()},
    scale={"none": {}, "1x+1": {"ScaleBias": DML_SCALE_BIAS(1.0, 1.0)}},
)

# --- comparisons, logic, bits ---------------------------------------------------------------------------------------


def _coarse(desc: Any, values: Values) -> Inputs:
    """Return integral numbers, some of them equal."""
    inputs = {name: values.fill(field) for name, field in desc.inputs()}
    return {name: np.round(array) if is_float(array.dtype) else array for name, array in inputs.items()}


def _shifts(desc: Any, values: Values) -> Inputs:
    """Return random bits, and shift counts from 0 to beyond the widest type's width."""
    any_bits = values.rng.integers(0, 1 << 64, desc.ATensor.Sizes, np.uint64)
    kind = numpy_dtype(desc.ATensor.DataType)
    return {"ATensor": any_bits.astype(kind), "BTensor": drawn(values, desc.BTensor, 0, 70)}


for _name, _compare in (
    ("EQUALS", np.equal),
    ("GREATER_THAN", np.greater),
    ("LESS_THAN", np.less),
    ("GREATER_THAN_OR_EQUAL", np.greater_equal),
    ("LESS_THAN_OR_EQUAL", np.less_equal),
):
    pointwise(_of(f"LOGICAL_{_name}"), _compare, inputs=_coarse, output="OutputTensor")
for _name, _logic in (
    ("AND", lambda a, b: (a != 0) & (b != 0)),
    ("OR", lambda a, b: (a != 0) | (b != 0)),
    ("XOR", lambda a, b: (a != 0) ^ (b != 0)),
    ("NOT", lambda a: a == 0),
):
    pointwise(_of(f"LOGICAL_{_name}"), _logic, inputs=domain(0, 2, whole=(0, 2)))
pointwise(_of("BIT_SHIFT_LEFT"), whole.shifted_left, inputs=_shifts)
pointwise(_of("BIT_SHIFT_RIGHT"), whole.shifted_right, inputs=_shifts)


def _condition(repeat: Callable[[Any], Any]) -> Callable[[Choice], dict[str, Any]]:
    return lambda choice: {"ConditionTensor": repeat(tensor(enums.DML_TENSOR_DATA_TYPE_UINT8, choice.sizes))}


pointwise(
    _of("IF"),
    elementwise.select,
    inputs=domain(-4, 4, whole=(0, 2)),
    types="ATensor",
    condition={label: _condition(repeat) for label, repeat in REPEATED.items()},
)
for _name, _bits in (("AND", np.bitwise_and), ("OR", np.bitwise_or), ("XOR", np.bitwise_xor), ("NOT", np.invert)):
    pointwise(_of(f"BIT_{_name}"), _bits, inputs=domain(-4, 4), as_bits=True)
pointwise(_of("BIT_COUNT"), elementwise.bit_count, inputs=domain(-4, 4), as_bits=True, output="OutputTensor")

# --- limits ---------------------------------------------------------------------------------------------------------

_RANGES = attribute_sets(
    {"Min": -1.5, "Max": 2.75}, {"Min": -np.inf, "Max": 1.0}, {"Min": 3.0, "Max": 1.0}, {"Min": 0.0, "Max": np.inf}
)


def _scalar(kind: Any, value: float) -> DML_SCALAR_UNION:
    """Return a bound in a data type; for integers it is truncated and limited to their range."""
    of = numpy_dtype(kind)
    low, high = (-np.inf, np.inf) if is_float(of) else (np.iinfo(of).min, np.iinfo(of).max)
    limited = np.array(value if is_float(of) else int(min(max(value, low), high)), of)
    return DML_SCALAR_UNION(Bytes=limited.tobytes())


def _bounds(attributes: Any) -> Callable[[Choice], dict[str, Any]]:
    """Return Min and Max in the tensors' type."""

    def bounds(choice: Choice) -> dict[str, Any]:
        given = {name: _scalar(choice.type, value) for name, value in attributes.items()}
        return {"MinMaxDataType": choice.type, **given}

    return bounds


_TYPED = {label: _bounds(attributes) for label, attributes in _RANGES.items()}
_LIMITED = domain(-4, 4, whole=(-8, 8))
_MINIMA = attribute_sets({"Min": 1.5}, {"Min": -2.0})
pointwise(_of("CLIP"), elementwise.clip, _scale_limit, _LIMITED, range=_RANGES, scale=SCALES)
pointwise(_of("CLIP1"), elementwise.clip, _scale_limit, _LIMITED, range=_TYPED, scale=SCALES)
pointwise(_of("CLIP_GRAD"), elementwise.clip_grad, EXACT, _LIMITED, range=_RANGES)
pointwise(_of("CLIP_GRAD1"), elementwise.clip_grad, EXACT, _LIMITED, range=_TYPED)
pointwise(_of("THRESHOLD"), elementwise.threshold, _scale_limit, _LIMITED, minimum=_MINIMA, scale=SCALES)
