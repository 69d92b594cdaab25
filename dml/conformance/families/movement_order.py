"""Operators that change the order of elements: blocks of pixels and channels, subsequences. All exact to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, enumerators, sizes, tensor
from dml.conformance.references import movement
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values
from dml.conformance.variety import AXES, SIZES, axis_of, far_integers, moved
from dml.enums import DML_DEPTH_SPACE_ORDER
from dml.shapes import depth_to_space_sizes, ones_along, space_to_depth_sizes

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
