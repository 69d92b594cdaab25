"""Subjects of three operators, which replace ``dml.conformance.families`` in tests of the suite's runner."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, flags, sizes, tensor, types_of
from dml.conformance.subject import subject
from dml.conformance.values import Values
from dml.descriptors.activation import DML_ACTIVATION_RELU_OPERATOR_DESC as RELU
from dml.descriptors.elementwise.arithmetic import DML_ELEMENT_WISE_ADD_OPERATOR_DESC as ADD
from dml.descriptors.movement import DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC as REVERSE
from dml.enums import DML_TENSOR_DATA_TYPE

SIZES = sizes("2x3x5", "1", "13")
_SOME = ("FLOAT32", "FLOAT16", "INT32")


def _types(operator: Any) -> dict[str, Any]:
    return {label: kind for label, kind in types_of(operator, "OutputTensor").items() if label in _SOME}


def _add(desc: ADD, given: Any) -> Expected:
    kind = given["ATensor"].dtype
    wide = kind if kind.kind == "i" else np.float64
    with np.errstate(all="ignore"):
        values = given["ATensor"].astype(wide) + given["BTensor"].astype(wide)
    return Expected(values, ulp=0.0 if kind.kind == "i" else 1.0, why="one rounding")


def _relu(desc: RELU, given: Any) -> Expected:
    values = given["InputTensor"]
    return Expected(np.where(values < 0, 0, values).astype(np.float64))


def _describe_reverse(choice: Choice) -> dict[str, Any]:
    if choice.last and len(choice.sizes) == 1:
        raise Skip("one axis has no other one")
    axis = len(choice.sizes) - 1 if choice.last else 0
    lengths = [1 if index == axis else size for index, size in enumerate(choice.sizes)]
    return {"SequenceLengthsTensor": tensor(DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UINT32, lengths), "Axis": axis}


def _reverse_inputs(desc: REVERSE, values: Values) -> dict[str, Any]:
    longest = desc.InputTensor.Sizes[desc.Axis]
    lengths = values.integers(desc.SequenceLengthsTensor, 0, longest)
    return {"InputTensor": values.fill(desc.InputTensor), "SequenceLengthsTensor": lengths}


def _reverse(desc: REVERSE, given: Any) -> Expected:
    found = given["InputTensor"].copy()
    for place in np.ndindex(*desc.SequenceLengthsTensor.Sizes):
        at: list[Any] = list(place)
        at[desc.Axis] = slice(0, int(given["SequenceLengthsTensor"][place]))
        found[tuple(at)] = found[tuple(at)][::-1].copy()
    return Expected(found if found.dtype.kind == "i" else found.astype(np.float64))


subject(ADD, parameters={"type": _types(ADD), "sizes": SIZES}, reference=_add)
subject(RELU, parameters={"type": _types(RELU), "sizes": SIZES}, reference=_relu)
subject(
    REVERSE,
    parameters={"type": _types(REVERSE), "sizes": SIZES, "last": flags()},
    describe=_describe_reverse,
    inputs=_reverse_inputs,
    reference=_reverse,
    values=("ordinary",),
)
