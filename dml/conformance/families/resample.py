"""Operators that change a tensor's resolution, and their gradients.

Coordinates are defined in float32, so a reference that computes them equally finds the same neighbours.
NEAREST_NEIGHBOR copies; 8-bit results of LINEAR are the integral part, where a sum within 0.001 of an integer counts
as that integer.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.capability import short_name
from dml.conformance.limits import Expected, Tight, sum_of_products
from dml.conformance.parameters import Choice, Skip, enumerators, flags, sizes, tensor
from dml.conformance.references import resample
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, is_float
from dml.conformance.variety import Array, exact
from dml.enums import DML_AXIS_DIRECTION, DML_INTERPOLATION_MODE
from dml.shapes import scaled_sizes
from dml.tensors import DML_SIZE_2D

#: The limits of W3C's WebNN conformance tests for resample2d.
_WEBNN = {"float32": 84, "float16": 10}

_MODES = enumerators(DML_INTERPOLATION_MODE)

# --- references -----------------------------------------------------------------------------------------


def _forward(desc: Any, scales: Any, inputs: Inputs) -> Expected:
    x, output = inputs["InputTensor"], desc.OutputTensor
    weights = _weights(desc, scales, x.shape, output.Sizes)
    if short_name(desc.InterpolationMode) == "NEAREST_NEIGHBOR":
        return exact(resample.nearest(x, weights))
    return _weighted(x, weights, output.dtype)


def _backward(desc: Any, inputs: Inputs) -> Expected:
    grad, output = inputs["InputGradientTensor"], desc.OutputGradientTensor
    weights = _weights(desc, desc.Scales, output.Sizes, grad.shape)
    return _weighted(grad, [weight.T for weight in weights], output.dtype)


def _weights(desc: Any, scales: Any, before: tuple[int, ...], after: tuple[int, ...]) -> list[Array]:
    """Return the matrix of each dimension, from the forward input's size to its output's."""
    direction = getattr(desc, "RoundingDirection", None)
    increasing = direction == DML_AXIS_DIRECTION.DML_AXIS_DIRECTION_INCREASING
    return resample.matrices(
        before,
        after,
        scales,
        getattr(desc, "InputPixelOffsets", None),
        getattr(desc, "OutputPixelOffsets", None),
        mode=short_name(desc.InterpolationMode),
        rounding="half_up" if direction is None else "ceil" if increasing else "floor",
        wide=getattr(desc, "Antialiased", False),
    )


def _weighted(x: Array, weights: list[Array], kind: np.dtype[Any]) -> Expected:
    values = resample.resampled(x, weights)
    if not is_float(kind):
        whole = np.rint(values)
        distance = np.abs(values - whole)
        why = "the integral part; within 0.001 of the next integer either is allowed"
        expected = np.where(distance < 0.001, whole, np.trunc(values)).astype(kind)
        return Expected(expected, 0, 1.0 * (np.abs(distance - 0.001) < 1e-4), why)
    count = prod(int(np.max(np.count_nonzero(weight, axis=1))) for weight in weights)
    magnitudes = resample.resampled(np.abs(x), weights)
    # Each weight is rounded a few times along each dimension.
    absolute = sum_of_products(count + 6 * len(weights), magnitudes, kind, values)
    ulp = _WEBNN[kind.name]
    tight = Tight(1.0, absolute, f"{count} products in float32, in any order")
    return Expected(values, ulp, absolute, f"WebNN: {ulp} ulp; {tight.why} where they cancel", tight=tight)


def _upsample(choice: Choice) -> dict[str, Any]:
    height, width = choice.scale
    factors = (*(1 for _ in choice.sizes[2:]), height, width)
    return {
        "OutputTensor": tensor(choice.type, scaled_sizes(choice.sizes, factors)),
        "ScaleSize": DML_SIZE_2D(Width=width, Height=height),
        "InterpolationMode": choice.mode,
    }


def _inputs(desc: Any, values: Values) -> Inputs:
    copies = short_name(desc.InterpolationMode) == "NEAREST_NEIGHBOR" and "InputTensor" in desc.input_names
    return {name: (values.fill if copies else values.finite)(tensor_) for name, tensor_ in desc.inputs()}


def _upsampled(desc: d.DML_UPSAMPLE_2D_OPERATOR_DESC, inputs: Inputs) -> Expected:
    scales = (*(1.0 for _ in desc.InputTensor.Sizes[2:]), desc.ScaleSize.Height, desc.ScaleSize.Width)
    return _forward(desc, scales, inputs)


subject(
    d.DML_UPSAMPLE_2D_OPERATOR_DESC,
    parameters={
        "sizes": sizes("1x2x5x7", "1x1x1x1", "2x3x4x5", "1x2x2x3x4", "1x1x1x8", "2x1x3x1x5", "1x1x37x41"),
        "mode": _MODES,
        "scale": {"2x2": (2, 2), "1x1": (1, 1), "3x1": (3, 1), "1x4": (1, 4), "5x3": (5, 3)},
    },
    describe=_upsample,
    inputs=_inputs,
    reference=_upsampled,
)


#: Sizes of the operator's input in the forward pass.
_SIZES = sizes("1x2x5x7", "1", "9", "4x6", "2x4x3", "2x3x1x5", "1x1x31x37")

#: Scales, as functions of the dimension: 0 is the last one, 1 the one before.
_SCALES: dict[str, Any] = {
    "2": lambda back: 2.0 if back < 2 else 1.0,
    "1": lambda back: 1.0,
    "half": lambda back: 0.5 if back < 2 else 1.0,
    "third": lambda back: 1 / 3 if back < 2 else 1.0,
    "uneven": lambda back: (1.5, 0.7, 1.25, 1.1)[back],
    "wide": lambda back: (0.23, 2.6, 1.0, 0.3)[back],
}

#: Input and output offset, as functions of the dimension: 0 is the last one, 1 the one before.
_OFFSETS: dict[str, Any] = {
    "centred": lambda back: (0.5, -0.5),
    "corner": lambda back: (0.0, 0.0),
    "uneven": lambda back: ((0.25, 0.5), (-0.75, 1.25), (1.5, -2.25), (0.5, -0.25))[back],
}

#: Output sizes relative to size * scale: equal, smaller, and larger, which repeats the edge.
_EXTENTS: dict[str, Any] = {"floor": lambda n: n, "fewer": lambda n: n - 1, "more": lambda n: n + 3}


def _resample_fields(choice: Choice, rank: int, has: set[str]) -> dict[str, Any]:
    backs = range(rank - 1, -1, -1)
    offsets = [choice.offsets(back) for back in backs] if "InputPixelOffsets" in has else []
    fields = {
        "InterpolationMode": choice.mode,
        "Scales": tuple(float(np.float32(choice.scale(back))) for back in backs),
    }
    if offsets:
        fields["InputPixelOffsets"], fields["OutputPixelOffsets"] = zip(*offsets, strict=True)
    if "RoundingDirection" in has:
        fields["RoundingDirection"] = choice.direction
    if "Antialiased" in has:
        fields["Antialiased"] = choice.antialiased
    return fields


def _resample(operator: Any, *, gradient: bool = False) -> None:
    has = {info.name for info in operator.fields_info}

    def describe(choice: Choice) -> dict[str, Any]:
        fields = _resample_fields(choice, len(choice.sizes), has)
        scaled = [int(n * scale) for n, scale in zip(choice.sizes, fields["Scales"], strict=True)]
        outputs = [choice.extent(n) for n in scaled]
        if min(outputs) < 1:
            raise Skip("a dimension of the output would be empty")
        return {**fields, "InputGradientTensor" if gradient else "OutputTensor": tensor(choice.type, outputs)}

    more: dict[str, Any] = {}
    if "InputPixelOffsets" in has:
        more["offsets"] = _OFFSETS
    if "RoundingDirection" in has:
        more["direction"] = enumerators(DML_AXIS_DIRECTION)
    if "Antialiased" in has:
        more["antialiased"] = flags()
    subject(
        operator,
        parameters={"sizes": _SIZES, "mode": _MODES, "scale": _SCALES, "extent": _EXTENTS, **more},
        describe=describe,
        inputs=_inputs,
        reference=_backward if gradient else lambda desc, inputs: _forward(desc, desc.Scales, inputs),
    )


_resample(d.DML_RESAMPLE_OPERATOR_DESC)
_resample(d.DML_RESAMPLE1_OPERATOR_DESC)
_resample(d.DML_RESAMPLE2_OPERATOR_DESC)
_resample(d.DML_RESAMPLE3_OPERATOR_DESC)
_resample(d.DML_RESAMPLE_GRAD_OPERATOR_DESC, gradient=True)
_resample(d.DML_RESAMPLE_GRAD1_OPERATOR_DESC, gradient=True)
