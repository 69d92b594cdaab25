"""The activations, their gradients, and the softmaxes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dml.conformance.activations import ATTRIBUTES, activation_class
from dml.conformance.limits import EXACT, Expected, Tight, webnn
from dml.conformance.parameters import Choice, Skip, sizes
from dml.conformance.pointwise import attribute_sets, domain, drawn, pointwise
from dml.conformance.references import activations, softmax
from dml.conformance.references.activations import ACTIVATIONS
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, is_float

#: Argument range, -n to n, of the activations for which n is not 4.
_RANGES = {"SIGMOID": 20, "SOFTPLUS": 20, "PARAMETRIC_SOFTPLUS": 20, "SWISH": 20, "GELU": 10}


def _inputs(name: str) -> Callable[[Any, Values], Inputs]:
    usual = domain(-_RANGES.get(name, 4), _RANGES.get(name, 4))

    def inputs(desc: Any, values: Values) -> Inputs:
        arrays = dict(usual(desc, values))
        x = arrays["InputTensor"]
        if name == "SHRINK" and not is_float(x.dtype) and desc.Bias != int(desc.Bias):
            # at this size float32 still has fractions
            arrays["InputTensor"] = values.between(desc.InputTensor, -60, 60)
        elif name == "SOFTPLUS" and desc.Steepness > 1:
            # Steepness times the largest number would overflow, where the reference defines no result.
            most = np.finfo(x.dtype).max / 4
            arrays["InputTensor"] = np.where(np.isfinite(x), np.clip(x, -most, most), x)
        return arrays

    return inputs


for _name, (_function, _limit) in ACTIVATIONS.items():
    _sets: dict[str, Any] = {"attributes": attribute_sets(*ATTRIBUTES[_name])} if _name in ATTRIBUTES else {}
    _off = functools.partial(activations.cancelled, _name) if _name in activations.LINES else None
    pointwise(activation_class(_name), _function, _limit, _inputs(_name), _off, **_sets)
pointwise(
    activation_class("PARAMETERIZED_RELU"),
    activations.parameterized_relu,
    webnn(1, 1).and_then(activations.SUBNORMAL),
    domain(-4, 4),
)
pointwise(activation_class("RELU_GRAD"), activations.relu_grad, EXACT, domain(-4, 4))

# --- softmaxes ------------------------------------------------------------------------------------------------------

_ROWS = sizes("4x7", "1", "13", "1x1x9x64", "1x1x1x7x33", "1x1x1x1x1x1x1x40", "3x1500", "70x31")
_ANY = sizes("3x4x5x8", "1", "13", "4x1x7", "2x1x2x2x1x3x2x4", "3x1500", "40x31x3")


#: FLOAT32 error in ulp: of an exponential, plus of their mean, plus of a quotient.
_SOFTMAX_ULP = 4 + 4 + 2


def _largest_finite(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(x), np.abs(x), 0)


def _softmax(x: Any, axes: tuple[int, ...]) -> Expected:
    """Return the expected softmax. Its bound is WebNN's limit plus the error of e^x that comes from rounding x minus
    the row's maximum."""
    with np.errstate(all="ignore"):
        values = softmax.softmax(x.astype(np.float64), axes)
        rounding = values * _largest_finite(softmax.shifted(x.astype(np.float64), axes)) * 2.0**-24
    count = math.prod(x.shape[axis] for axis in axes)
    ulp = 3 * count + 3
    kept = Tight(
        _SOFTMAX_ULP + 2 * count * 2.0**-24 / 2.0**-23 if x.dtype != np.float16 else 1.0,
        2 * np.nan_to_num(rounding),
        f"exponentials to 4 ulp above and below, {count} sums, a quotient, and the rounding of x - max",
    )
    why = f"WebNN: 3 x {count} + 3 ulp, and the rounding of x - max"
    return Expected(values, ulp, np.nan_to_num(rounding), why, tight=kept if kept.ulp < ulp else None)


def _log_softmax(x: Any, axes: tuple[int, ...]) -> Expected:
    with np.errstate(all="ignore"):
        shifted = softmax.shifted(x.astype(np.float64), axes)
        values = softmax.log_softmax(x.astype(np.float64), axes)
    count = math.prod(x.shape[axis] for axis in axes)
    off = (count + 8) * 2.0**-24 + 2.0**-22 * (_largest_finite(shifted) + math.log(count))
    return Expected(values, 1, off, f"a sum of {count} terms, its logarithm, and two differences in float32")


def _ties(desc: Any, values: Values) -> Inputs:
    """Return integral numbers, so that the largest element of a row occurs several times."""
    return {"InputTensor": np.round(drawn(values, desc.InputTensor, -6, 6))}


def _axes(choice: Choice) -> tuple[int, ...]:
    rank = len(choice.sizes)
    axes: tuple[int, ...] = {
        "last": (rank - 1,),
        "first": (0,),
        "middle": (rank // 2,),
        "last.first": (rank - 1, 0),
        "all": tuple(range(rank)),
    }[choice.axes]
    if len(set(axes)) < len(axes) or (choice.axes == "middle" and rank < 3) or (choice.axes == "all" and rank < 2):
        raise Skip(f"with {rank} dimensions, another case has the axes {choice.axes!r}")
    return axes


def _register(name: str, expect: Callable[[Any, tuple[int, ...]], Expected]) -> None:
    def reference(desc: Any, given: Inputs) -> Expected:
        x = given["InputTensor"]
        return expect(x, getattr(desc, "Axes", (x.ndim - 1,)))

    inputs = _ties if name == "HARDMAX" else domain(-6, 6)
    subject(activation_class(name), parameters={"sizes": _ROWS}, reference=reference, inputs=inputs)
    labels = ("last", "first", "middle", "last.first", "all")
    subject(
        activation_class(f"{name}1"),
        parameters={"sizes": _ANY, "axes": {label: label for label in labels}},
        describe=lambda choice: {"Axes": _axes(choice)},
        reference=reference,
        inputs=inputs,
    )


_register("SOFTMAX", _softmax)
_register("LOG_SOFTMAX", _log_softmax)
_register("HARDMAX", lambda x, axes: Expected(softmax.hardmax(x.astype(np.float64), axes)))
