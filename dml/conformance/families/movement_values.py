"""Operators that fill, convert, scale and unfold elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.limits import Expected, sum_of_products
from dml.conformance.parameters import Choice, Skip, sizes, tensor
from dml.conformance.references import movement, windows
from dml.conformance.references.conversion import cast, scalar, sequence
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, finite, is_float
from dml.conformance.variety import SCALARS, SIZES, any_bits, exact, moved, scalar_fields, union_of
from dml.shapes import unfolded_sizes
from dml.tensors import numpy_dtype


def _cast_inputs(desc: d.DML_CAST_OPERATOR_DESC, values: Values) -> Inputs:
    """Return floats of many magnitudes, or integers over their type's whole range; a third of them are halfway between
    two results."""
    x, rng = desc.InputTensor, values.rng
    if values.edges:
        return {"InputTensor": values.fill(x)}
    # One more bit than the result's precision
    bits = np.finfo(desc.OutputTensor.dtype).nmant + 2 if is_float(desc.OutputTensor.dtype) else 4
    odd = 2 * rng.integers(2 ** (bits - 2), 2 ** (bits - 1), x.Sizes) + 1
    if is_float(x.dtype):
        exponents = rng.integers(-12, 13, x.Sizes)
        drawn = values.between(x, -4, 4) * np.exp2(exponents)
        halfway = (odd * np.exp2(exponents - bits)).astype(x.dtype)
    else:
        drawn = any_bits(values, x)
        halfway = (odd << rng.integers(0, max(1, x.dtype.itemsize * 8 - bits), x.Sizes)).astype(x.dtype)
    return {"InputTensor": np.where(rng.random(x.Sizes) < 1 / 3, halfway, drawn).astype(x.dtype)}


subject(
    d.DML_CAST_OPERATOR_DESC,
    parameters={"to": "OutputTensor", "sizes": SIZES},
    describe=lambda choice: {"OutputTensor": tensor(choice.to, choice.sizes)},
    inputs=_cast_inputs,
    reference=lambda desc, inputs: exact(cast(inputs["InputTensor"], desc.OutputTensor.dtype)),
)

# --- fills ----------------------------------------------------------------------------------------------

#: Operators without inputs have no elements to repeat and no values to vary.
_FILLS: dict[str, Any] = {"layouts": ("packed", "padded", "permuted"), "values": ("ordinary",)}


def _filled(desc: d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, inputs: Inputs) -> Expected:
    output = desc.OutputTensor
    return moved(np.full(output.Sizes, desc.Value.value(output.DataType), output.dtype))


subject(
    d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC,
    parameters={"sizes": SIZES, "value": SCALARS},
    describe=lambda choice: scalar_fields(choice, "Value"),
    reference=_filled,
    **_FILLS,
)

#: (start, delta) for floats, and for integers, whose sums wrap.
_SEQUENCES = {
    "up": ((3.0, 2.0), (3, 2)),
    "down": ((-3.5, -0.1), (5, -3)),
    "through_zero": ((-3.5, 0.1), (-7, 1)),
    "constant": ((1.25, 0.0), (9, 0)),
    "far": ((1234.5, 0.12345678), (2**62 + 3, 2**61 + 5)),
}


def _sequence(choice: Choice) -> dict[str, Any]:
    kind = numpy_dtype(choice.type)
    floats, integers = choice.sequence
    numbers = floats if is_float(kind) else np.array([n % 2**64 for n in integers], np.uint64).astype(kind)
    start, delta = (union_of(number, kind) for number in numbers)
    return {"ValueDataType": choice.type, "ValueStart": start, "ValueDelta": delta}


def _numbered(desc: d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC, inputs: Inputs) -> Expected:
    output = desc.OutputTensor
    start, delta = (union.value(output.DataType) for union in (desc.ValueStart, desc.ValueDelta))
    values = sequence(start, delta, output.Sizes, output.dtype)
    if not is_float(output.dtype):
        return exact(values)
    return Expected(values, ulp=1, why="rounded once, from a sum more precise than float32")


subject(
    d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC,
    parameters={
        # the kernel splits an element's index into three float32 parts; the highest begins at 2^20
        "sizes": {**SIZES, **sizes("2x600000")},
        "sequence": _SEQUENCES,
    },
    describe=_sequence,
    reference=_numbered,
    **_FILLS,
)

# --- diagonals ------------------------------------------------------------------------------------------

_MATRICES = sizes("3x4", "1x1", "5x3", "2x1x4x4", "1x3x2x7", "2x3x5", "61x67")
_FAR = 2**31 - 1


def _diagonal(desc: d.DML_DIAGONAL_MATRIX_OPERATOR_DESC, inputs: Inputs) -> Expected:
    output = desc.OutputTensor
    value = scalar(desc.Value, output.dtype)
    return exact(movement.diagonal_matrix(output.Sizes, desc.Offset, value, output.dtype))


subject(
    d.DML_DIAGONAL_MATRIX_OPERATOR_DESC,
    parameters={
        "sizes": _MATRICES,
        "offset": {"0": 0, "1": 1, "-2": -2, "far": _FAR, "-far": -_FAR - 1},
        "value": {"1": 1.0, "10.6": 10.6, "0": 0.0},
    },
    describe=lambda choice: {"Offset": choice.offset, "Value": choice.value},
    reference=_diagonal,
    **_FILLS,
)


def _diagonals(choice: Choice) -> dict[str, Any]:
    begin, end = choice.diagonals
    return {
        "InputTensor": tensor(choice.type, choice.sizes) if choice.input else None,
        **scalar_fields(choice, "Value"),
        "DiagonalFillBegin": begin,
        "DiagonalFillEnd": end,
    }


def _with_diagonals(desc: d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC, inputs: Inputs) -> Expected:
    output = desc.OutputTensor
    x = inputs.get("InputTensor", np.zeros(output.Sizes, output.dtype))
    value = desc.Value.value(output.DataType)
    return exact(movement.diagonal_matrix1(x, value, desc.DiagonalFillBegin, desc.DiagonalFillEnd))


subject(
    d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC,
    parameters={
        "sizes": _MATRICES,
        "input": {"yes": True, "no": False},
        "diagonals": {
            "0_1": (0, 1),
            "-1_2": (-1, 2),
            "3_-2": (3, -2),
            "none": (0, 0),
            "lower": (-_FAR - 1, 1),
            "all_but": (_FAR, -_FAR - 1),
        },
        "value": SCALARS,
    },
    describe=_diagonals,
    reference=_with_diagonals,
)


def _scaled(desc: d.DML_VALUE_SCALE_2D_OPERATOR_DESC, inputs: Inputs) -> Expected:
    values, magnitudes = movement.value_scale_2d(inputs["InputTensor"], desc.Scale, desc.Bias)
    allowed = sum_of_products(1, magnitudes, desc.OutputTensor.dtype, values)
    return Expected(values, absolute=allowed, why="a product and a sum in float32")


subject(
    d.DML_VALUE_SCALE_2D_OPERATOR_DESC,
    parameters={
        "sizes": sizes("2x3x4x5", "1x1x1x1", "1x1x4x5", "5x3x1x7", "2x3x32x24", "1x1x61x67"),
        "scale": {"1.25": 1.25, "-0.1": -0.1, "0": 0.0, "1": 1.0},
        "bias": {"0.5": (0.5, -1.5, 2.25), "0": (0.0, 0.0, 0.0), "large": (1e4, 2e4, -3e4)},
    },
    describe=lambda choice: {"Scale": choice.scale, "Bias": choice.bias[: choice.sizes[1]]},
    inputs=finite,
    reference=_scaled,
)


_FOLDS: dict[str, Any] = {
    # {batch, channels, spatial...} of the image
    "sizes": sizes(
        "2x3x7x6", "1x2x9", "1x1x1", "1x2x4x5x3", "2x1x3x2x4x2", "1x1x2x3x2x1x3", "1x2x3x2x3x2x2x2", "1x2x23x31"
    ),
    # Values by dimension number.
    "window": {"3_2": (3, 2), "1": (1, 1), "2": (2, 2)},
    "stride": {"1": (1, 1), "2_1": (2, 1), "1_3": (1, 3)},
    "dilation": {"1": (1, 1), "2_1": (2, 1), "1_3": (1, 3)},
    "padding": {"none": (0, 0), "both": (1, 1), "start": (2, 0), "end": (0, 1)},
}  # fmt: skip


def _fields(choice: Choice, columns: str) -> dict[str, Any]:
    """Return the attributes and the tensor ``columns`` by field."""
    spatial = choice.sizes[2:]
    even = [axis % 2 for axis in range(len(spatial))]
    window, strides, dilations = ([pair[k] for k in even] for pair in (choice.window, choice.stride, choice.dilation))
    start, end = ([amount] * len(spatial) for amount in choice.padding)
    for size, taps, gap in zip(spatial, window, dilations, strict=True):
        if (taps - 1) * gap + 1 > size + sum(choice.padding):
            raise Skip("the window is larger than the padded image")
    return {
        columns: tensor(choice.type, unfolded_sizes(choice.sizes, window, strides, dilations, start, end)),
        "WindowSizes": window,
        "Strides": strides,
        "Dilations": dilations,
        "StartPadding": start,
        "EndPadding": end,
    }


def _attributes(desc: Any) -> tuple[tuple[int, ...], ...]:
    return desc.WindowSizes, desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding


def _folded(desc: d.DML_FOLD_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x, output = inputs["InputTensor"], desc.OutputTensor
    values = windows.fold(x, output.Sizes, *_attributes(desc))
    magnitudes = windows.fold(np.abs(x), output.Sizes, *_attributes(desc))
    count = int(np.prod(desc.WindowSizes))
    allowed = sum_of_products(count, magnitudes, output.dtype, values)
    return Expected(values, absolute=allowed, why=f"a sum of up to {count} elements in any order")


subject(
    d.DML_UNFOLD_OPERATOR_DESC,
    parameters=_FOLDS,
    describe=lambda choice: _fields(choice, "OutputTensor"),
    reference=lambda desc, inputs: moved(windows.unfold(inputs["InputTensor"], *_attributes(desc))),
)
subject(
    d.DML_FOLD_OPERATOR_DESC,
    parameters=_FOLDS,
    describe=lambda choice: _fields(choice, "InputTensor"),
    inputs=finite,
    reference=_folded,
)
