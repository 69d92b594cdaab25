"""GRU, LSTM and RNN against float64 NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recurrent_cases import (
    ACTIVATIONS,
    DIRECTIONS,
    FUNCTIONS,
    GATES,
    OPTIONAL_INPUTS,
    Case,
    check,
    data,
    describe,
    expect,
)

import dml
from harness import run

#: For each network, combinations of attribute values: directions, data types, absent tensors, layouts.
COMMON: list[dict[str, Any]] = [
    {},
    {"direction": "BACKWARD", "lengths": (5, 2, 0)},
    {"direction": "BIDIRECTIONAL", "lengths": (0, 3, 5), "layouts": ("padded", "padded")},
    {"direction": "BIDIRECTIONAL", "absent": OPTIONAL_INPUTS, "layouts": ("reversed", "reversed")},
    {"direction": "BACKWARD", "absent": ("SequenceLengthsTensor", "OutputSequenceTensor"), "layouts": ("padded",) * 2},
    {"absent": ("BiasTensor", "PeepholeTensor", "OutputSingleTensor", "OutputCellSingleTensor")},
    {"absent": ("HiddenInitTensor", "OutputSequenceTensor"), "data_type": "FLOAT16"},
    {"direction": "BIDIRECTIONAL", "data_type": "FLOAT16", "absent": ("CellMemInitTensor",), "sizes": (3, 2, 5, 9)},
    {"direction": "BACKWARD", "data_type": "FLOAT16", "layouts": ("padded", "reversed")},
    {"data_type": "FLOAT16", "layouts": ("reversed", "padded"), "absent": ("SequenceLengthsTensor",)},
    {"sizes": (1, 1, 1, 1)},
    {"sizes": (2, 9, 3, 5), "direction": "BIDIRECTIONAL"},
    {"sizes": (2, 17, 4, 7)},
    {"sizes": (3, 2, 5, 130), "direction": "BIDIRECTIONAL"},
    {"sizes": (3, 1, 33, 64)},
]


@pytest.mark.parametrize("number", range(len(COMMON)))
@pytest.mark.parametrize("kind", GATES)
def test_networks(device: dml.Device, kind: str, number: int) -> None:
    attributes = {}
    if kind == "GRU":
        attributes = {"LinearBeforeReset": number % 2 == 0}
    check(device, Case(kind, **COMMON[number], attributes=attributes))


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("linear", [False, True])
def test_gru_reset(device: dml.Device, linear: bool, direction: str) -> None:
    check(device, Case("GRU", direction=direction, attributes={"LinearBeforeReset": linear}))


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("clip", [None, 0.3, 0.0])
def test_lstm_attributes(device: dml.Device, clip: float | None, coupled: bool) -> None:
    attributes = {"ClipThreshold": clip or 0.0, "UseClipThreshold": clip is not None, "CoupleInputForget": coupled}
    check(device, Case("LSTM", direction="BIDIRECTIONAL", attributes=attributes))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(device: dml.Device, name: str) -> None:
    """Each activation replaces every function of one direction; the other direction has the usual ones."""
    usual = {"RNN": ("TANH",), "GRU": ("SIGMOID", "TANH"), "LSTM": ("SIGMOID", "TANH", "TANH")}
    at = list(ACTIVATIONS).index(name)
    kind = list(GATES)[at % 3]
    functions = (name,) * FUNCTIONS[kind]
    both = functions + usual[kind] if at % 2 else usual[kind] + functions
    check(device, Case(kind, (2, 2, 3, 5), "BIDIRECTIONAL", activations=both))


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_parameters_differ_per_direction(device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    other = dml.DML_ACTIVATION_LINEAR_OPERATOR_DESC(Alpha=-0.5, Beta=0.1)
    monkeypatch.setitem(ACTIVATIONS, "OTHER LINEAR", other)
    count = FUNCTIONS[kind]
    check(
        device, Case(kind, (3, 2, 3, 5), "BIDIRECTIONAL", activations=("LINEAR",) * count + ("OTHER LINEAR",) * count)
    )


def test_broadcast_weights(device: dml.Device) -> None:
    """Strides of 0: both directions, all rows and all steps share data that is stored once."""
    case = Case("GRU", (3, 4, 3, 6), "BIDIRECTIONAL", absent=("SequenceLengthsTensor",))
    inputs = data(case)
    desc = describe(case, inputs)
    changes = {}
    for name, axes in {
        "InputTensor": (1, 2), "WeightTensor": (1,), "RecurrenceTensor": (1,), "BiasTensor": (2,),
        "HiddenInitTensor": (2, 3),
    }.items():  # fmt: skip
        strides = list(dml.packed_strides(inputs[name].shape))
        for axis in axes:
            strides[axis] = 0
            inputs[name] = np.repeat(np.take(inputs[name], [0], axis), inputs[name].shape[axis], axis)
        changes[name] = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, inputs[name].shape, strides)
    outputs = run(device, replace(desc, **changes), inputs)
    for name, expected in expect(case, inputs).items():
        np.testing.assert_allclose(outputs[name], expected, 1e-5, 3e-6)


def test_not_finite(device: dml.Device) -> None:
    """NaN and infinity reach the later states of their own row only."""
    case = Case("GRU", (4, 3, 3, 5), absent=("SequenceLengthsTensor",))
    inputs = data(case)
    inputs["InputTensor"][0, 1, 1, 0] = np.nan
    inputs["InputTensor"][0, 2, 2, 1] = np.inf
    outputs = run(device, describe(case, inputs), inputs)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = expect(case, inputs)
    assert np.isnan(expected["OutputSequenceTensor"][1:, 0, 1]).all()
    for name, values in expected.items():
        np.testing.assert_allclose(outputs[name], values, 1e-5, 3e-6)


@settings(max_examples=10)
@given(
    kind=st.sampled_from(sorted(GATES)),
    sizes=st.tuples(*(st.integers(1, most) for most in (6, 10, 9, 40))),
    direction=st.sampled_from(DIRECTIONS),
    data_type=st.sampled_from(["FLOAT32", "FLOAT16"]),
    absent=st.sets(st.sampled_from([*OPTIONAL_INPUTS, "OutputSequenceTensor"])),
    layouts=st.tuples(*[st.sampled_from(["packed", "padded", "reversed"])] * 2),
    flag=st.booleans(),
)
def test_any(device: dml.Device, kind: str, flag: bool, absent: set[str], **more: Any) -> None:
    attributes = {"GRU": {"LinearBeforeReset": flag}, "LSTM": {"CoupleInputForget": flag}}.get(kind, {})
    check(device, Case(kind, absent=tuple(sorted(absent)), attributes=attributes, **more))
