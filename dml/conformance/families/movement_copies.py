"""Operators that copy elements, or change their order. All exact to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, enumerators, flags, sizes, tensor
from dml.conformance.references import movement
from dml.conformance.references.conversion import scalar
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values
from dml.conformance.variety import AXES, SCALARS, SIZES, axis_of, far_integers, moved, scalar_fields
from dml.enums import DML_DEPTH_SPACE_ORDER, DML_PADDING_MODE
from dml.shapes import (
    depth_to_space_sizes,
    joined_sizes,
    ones_along,
    padded_sizes,
    scaled_sizes,
    sliced_sizes,
    space_to_depth_sizes,
    with_size,
)

#: Offset, size and step of a slice's window, as functions of a dimension's number and size.
_WINDOWS: dict[str, Any] = {
    "inner": lambda axis, n: (int(n > 2), max(1, n - 2), 1),
    "all": lambda axis, n: (0, n, 1),
    "last": lambda axis, n: (n - 1, 1, 1),
    "second": lambda axis, n: (0, n, 2),
    "mixed": lambda axis, n: (int(n > 1 and axis % 2 == 0), n - int(n > 1 and axis % 2 == 0), axis % 3 + 1),
}
_BACKWARDS: dict[str, Any] = {
    "backwards": lambda axis, n: (0, n, -1),
    "inner_backwards": lambda axis, n: (int(n > 2), max(1, n - 2), -2),
    "both_ways": lambda axis, n: (0, n, (-1, 2, 1, -3)[axis % 4]),
}


def _window(choice: Choice) -> tuple[tuple[int, ...], ...]:
    """Return the offsets, sizes and steps."""
    return tuple(zip(*(choice.window(axis, n) for axis, n in enumerate(choice.sizes)), strict=True))


# --- slices ---------------------------------------------------------------------------------------------


def _slice(choice: Choice) -> dict[str, Any]:
    offsets, windows, steps = _window(choice)
    copied = sliced_sizes(windows, steps)
    return {"OutputTensor": tensor(choice.type, copied), "Offsets": offsets, "Sizes": copied, "Strides": steps}


def _sliced(desc: d.DML_SLICE_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x = inputs["InputTensor"]
    return moved(movement.slice_window(x, desc.Offsets, desc.Sizes, desc.Strides, desc.Sizes))


subject(d.DML_SLICE_OPERATOR_DESC, parameters={"sizes": SIZES, "window": _WINDOWS}, describe=_slice, reference=_sliced)


def _slice1(choice: Choice, shorter: str = "OutputTensor") -> dict[str, Any]:
    offsets, windows, steps = _window(choice)
    copied = tuple(max(1, n - choice.short) for n in sliced_sizes(windows, steps))
    return {
        shorter: tensor(choice.type, copied),
        "InputWindowOffsets": offsets,
        "InputWindowSizes": windows,
        "InputWindowStrides": steps,
    }


def _sliced1(desc: d.DML_SLICE1_OPERATOR_DESC, inputs: Inputs) -> Expected:
    window = (desc.InputWindowOffsets, desc.InputWindowSizes, desc.InputWindowStrides)
    return moved(movement.slice_window(inputs["InputTensor"], *window, desc.OutputTensor.Sizes))


def _slice_gradient(desc: d.DML_SLICE_GRAD_OPERATOR_DESC, inputs: Inputs) -> Expected:
    window = (desc.InputWindowOffsets, desc.InputWindowSizes, desc.InputWindowStrides)
    return moved(movement.slice_grad(inputs["InputGradientTensor"], desc.OutputGradientTensor.Sizes, *window))


_SLICE1: dict[str, Any] = {"sizes": SIZES, "window": {**_WINDOWS, **_BACKWARDS}, "short": flags()}
subject(d.DML_SLICE1_OPERATOR_DESC, parameters=_SLICE1, describe=_slice1, reference=_sliced1)
subject(
    d.DML_SLICE_GRAD_OPERATOR_DESC,
    parameters=_SLICE1,
    describe=lambda choice: _slice1(choice, "InputGradientTensor"),
    reference=_slice_gradient,
)

# --- split, join, tile ----------------------------------------------------------------------------------

#: Sizes of the parts, as functions of the size along the axis.
_PARTS: dict[str, Any] = {
    "one_and_rest": lambda n: (1, n - 1),
    "whole": lambda n: (n,),
    "three": lambda n: (n - n // 2 - 1, 1, n // 2),
    "single": lambda n: (1,) * n,
}


def _parts(choice: Choice) -> tuple[int, list[tuple[int, ...]]]:
    """Return the axis, and the parts' sizes."""
    axis = axis_of(choice, len(choice.sizes))
    parts = choice.parts(choice.sizes[axis])
    if 0 in parts:
        raise Skip(f"a size of {choice.sizes[axis]} has no such parts")
    return axis, [with_size(choice.sizes, axis, part) for part in parts]


def _split(choice: Choice) -> dict[str, Any]:
    axis, parts = _parts(choice)
    return {"OutputTensors": tuple(tensor(choice.type, part) for part in parts), "Axis": axis}


def _was_split(desc: d.DML_SPLIT_OPERATOR_DESC, inputs: Inputs) -> Outputs:
    parts = [part.Sizes[desc.Axis] for part in desc.OutputTensors]
    return {"OutputTensors": [moved(part) for part in movement.split(inputs["InputTensor"], parts, desc.Axis)]}


_ALONG: dict[str, Any] = {"sizes": SIZES, "axis": AXES, "parts": _PARTS}
subject(d.DML_SPLIT_OPERATOR_DESC, parameters=_ALONG, describe=_split, reference=_was_split)


def _join(choice: Choice) -> dict[str, Any]:
    axis, parts = _parts(choice)
    return {
        "InputTensors": tuple(tensor(choice.type, part) for part in parts),
        "OutputTensor": tensor(choice.type, joined_sizes(parts, axis)),
        "Axis": axis,
    }


subject(
    d.DML_JOIN_OPERATOR_DESC,
    parameters=_ALONG,
    describe=_join,
    reference=lambda desc, inputs: moved(np.concatenate(inputs["InputTensors"], desc.Axis)),
)

_REPEATS: dict[str, Any] = {
    "rows": lambda axis, rank: 3 if axis == rank - 1 else 1,
    "none": lambda axis, rank: 1,
    "slices": lambda axis, rank: 2 if axis == 0 else 1,
    "mixed": lambda axis, rank: (2, 1, 3)[axis % 3],
}


def _tile(choice: Choice) -> dict[str, Any]:
    rank = len(choice.sizes)
    repeats = tuple(choice.repeats(axis, rank) for axis in range(rank))
    return {"OutputTensor": tensor(choice.type, scaled_sizes(choice.sizes, repeats)), "Repeats": repeats}


subject(
    d.DML_TILE_OPERATOR_DESC,
    parameters={"sizes": SIZES, "repeats": _REPEATS},
    describe=_tile,
    reference=lambda desc, inputs: moved(np.tile(inputs["InputTensor"], desc.Repeats)),
)

# --- padding --------------------------------------------------------------------------------------------

#: Padding before and after, as functions of a dimension's number (counted from the last) and size.
_PADDINGS: dict[str, Any] = {
    "some": lambda back, n: (1, min(n, 2)) if back % 2 == 0 else (min(n, 2), 0),
    "none": lambda back, n: (0, 0),
    "start": lambda back, n: (n if back == 0 else 0, 0),
    "end": lambda back, n: (0, n if back == 1 else 0),
    "wide": lambda back, n: (2 * n + 1, 3 * n) if back < 2 else (0, 0),
}


def _padding_fields(choice: Choice) -> dict[str, Any]:
    rank = len(choice.sizes)
    pairs = [choice.padding(rank - 1 - axis, n) for axis, n in enumerate(choice.sizes)]
    if choice.mode == DML_PADDING_MODE.DML_PADDING_MODE_WRAP and choice.label("padding") == "wide":
        raise Skip("WRAP repeats a dimension once at most")
    start, end = zip(*pairs, strict=True)
    return {
        "OutputTensor": tensor(choice.type, padded_sizes(choice.sizes, start, end)),
        "PaddingMode": choice.mode,
        "StartPadding": start,
        "EndPadding": end,
    }


def _padded(desc: Any, x: Any, value: Any) -> Expected:
    mode = desc.PaddingMode.name.removeprefix("DML_PADDING_MODE_")
    return moved(movement.padding(x, mode, desc.StartPadding, desc.EndPadding, value))


_PADDING: dict[str, Any] = {"sizes": SIZES, "mode": enumerators(DML_PADDING_MODE), "padding": _PADDINGS}

subject(
    d.DML_PADDING_OPERATOR_DESC,
    parameters={**_PADDING, "value": {"0": 0.0, "7": 7.0, "10.6": 10.6, "300.7": 300.7}},
    describe=lambda choice: {**_padding_fields(choice), "PaddingValue": choice.value},
    reference=lambda desc, inputs: _padded(
        desc, inputs["InputTensor"], scalar(desc.PaddingValue, desc.InputTensor.dtype)
    ),
)
subject(
    d.DML_PADDING1_OPERATOR_DESC,
    parameters={**_PADDING, "value": SCALARS},
    describe=lambda choice: {**_padding_fields(choice), **scalar_fields(choice, "PaddingValue")},
    reference=lambda desc, inputs: _padded(
        desc, inputs["InputTensor"], desc.PaddingValue.value(desc.PaddingValueDataType)
    ),
)

# --- blocks of pixels and channels ------------------------------------------------------------------------------------

# Sizes {batch, channels, height, width}; channels and spatial sizes count in blocks.
_IMAGES = sizes("1x2x2x3", "1x1x1x1", "2x3x1x5", "3x2x7x11")
_BLOCKS = {"2": 2, "1": 1, "3": 3, "4": 4}


def _deep(choice: Choice) -> tuple[int, ...]:
    batch, channels, height, width = choice.sizes
    return batch, channels * choice.block**2, height, width


def _wide(choice: Choice) -> tuple[int, ...]:
    batch, channels, height, width = choice.sizes
    return batch, channels, height * choice.block, width * choice.block


def _fields(choice: Choice, before: tuple[int, ...], after: tuple[int, ...]) -> dict[str, Any]:
    order = getattr(choice, "order", None)
    return {
        "InputTensor": tensor(choice.type, before),
        "OutputTensor": tensor(choice.type, after),
        "BlockSize": choice.block,
        **({} if order is None else {"Order": order}),
    }


def _to_space(choice: Choice) -> dict[str, Any]:
    return _fields(choice, _deep(choice), depth_to_space_sizes(_deep(choice), choice.block))


def _to_depth(choice: Choice) -> dict[str, Any]:
    return _fields(choice, _wide(choice), space_to_depth_sizes(_wide(choice), choice.block))


def _depth_first(desc: Any) -> bool:
    order = getattr(desc, "Order", DML_DEPTH_SPACE_ORDER.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW)
    return bool(order == DML_DEPTH_SPACE_ORDER.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW)


def _space(desc: Any, inputs: Inputs) -> Expected:
    return moved(movement.depth_to_space(inputs["InputTensor"], desc.BlockSize, depth_first=_depth_first(desc)))


def _depth(desc: Any, inputs: Inputs) -> Expected:
    return moved(movement.space_to_depth(inputs["InputTensor"], desc.BlockSize, depth_first=_depth_first(desc)))


_ORDER = {"order": enumerators(DML_DEPTH_SPACE_ORDER)}

for _operator, _order, _describe, _reference in (
    (d.DML_DEPTH_TO_SPACE_OPERATOR_DESC, {}, _to_space, _space),
    (d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC, _ORDER, _to_space, _space),
    (d.DML_SPACE_TO_DEPTH_OPERATOR_DESC, {}, _to_depth, _depth),
    (d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC, _ORDER, _to_depth, _depth),
):
    _parameters: dict[str, Any] = {"sizes": _IMAGES, "block": _BLOCKS, **_order}
    subject(_operator, parameters=_parameters, describe=_describe, reference=_reference)

# --- subsequences ---------------------------------------------------------------------------------------


def _reverse(choice: Choice) -> dict[str, Any]:
    axis = axis_of(choice, len(choice.sizes))
    return {"SequenceLengthsTensor": tensor(choice.lengths, ones_along(choice.sizes, (axis,))), "Axis": axis}


def _lengths(desc: d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, values: Values) -> Inputs:
    """Return lengths from 0 to above the size, which means the size."""
    lengths = values.integers(desc.SequenceLengthsTensor, 0, desc.InputTensor.Sizes[desc.Axis] + 2)
    if values.edges:
        far = values.rng.choice(far_integers(lengths.dtype), lengths.shape)
        lengths = np.where(values.rng.random(lengths.shape) < 1 / 8, far, lengths)
    return {"InputTensor": values.fill(desc.InputTensor), "SequenceLengthsTensor": lengths}


def _reversed(desc: d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, inputs: Inputs) -> Expected:
    return moved(movement.reverse_subsequences(inputs["InputTensor"], inputs["SequenceLengthsTensor"], desc.Axis))


subject(
    d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
    parameters={"sizes": SIZES, "axis": AXES, "lengths": "SequenceLengthsTensor"},
    describe=_reverse,
    inputs=_lengths,
    reference=_reversed,
)
