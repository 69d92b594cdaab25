"""GRU, LSTM and RNN with activations that reduce over the units, and the others that only recurrent networks accept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from recurrent_cases import ACTIVATIONS, DIRECTIONS, FUNCTIONS, GATES, OPTIONAL_INPUTS, Case, check, data, describe

import dml

REDUCING: dict[str, dml.OperatorDesc] = {
    "HARDMAX": dml.DML_ACTIVATION_HARDMAX_OPERATOR_DESC(),
    "HARDMAX1": dml.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(Axes=(3,)),
    "LOG_SOFTMAX": dml.DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC(),
    "LOG_SOFTMAX1": dml.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC(Axes=(3,)),
    "SOFTMAX": dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(),
    "SOFTMAX1": dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=(3,)),
}
OTHERS: dict[str, dml.OperatorDesc] = {
    "SWISH": dml.DML_ACTIVATION_SWISH_OPERATOR_DESC(SigmoidInputScale=1.3),
    "HARD_SWISH": dml.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC(Alpha=0.2, Beta=0.5),
}
USUAL = {"RNN": ("TANH",), "GRU": ("SIGMOID", "TANH"), "LSTM": ("SIGMOID", "TANH", "TANH")}


@pytest.fixture(autouse=True)
def more_activations(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, desc in {**REDUCING, **OTHERS}.items():
        monkeypatch.setitem(ACTIVATIONS, name, desc)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", [*REDUCING, *OTHERS])
@pytest.mark.parametrize("kind", GATES)
def test_every_function(device: dml.Device, kind: str, name: str, direction: str) -> None:
    """The activation replaces every function. A logarithm or a hardmax replaces only the last one: as gates, logarithms
    would make the state grow, and hardmax would magnify errors."""
    alone = "LOG" in name or "HARDMAX" in name
    functions = (*USUAL[kind][:-1], name) if alone else (name,) * FUNCTIONS[kind]
    check(device, Case(kind, (4, 3, 5, 9), direction, activations=functions * 2))


@pytest.mark.parametrize("at", range(3))
def test_hardmax_as_one_function(device: dml.Device, at: int) -> None:
    """DirectML 1.13.0 fixed this case for LSTM."""
    functions = tuple("HARDMAX" if i == at else name for i, name in enumerate(USUAL["LSTM"]))
    check(device, Case("LSTM", (3, 2, 5, 7), "BIDIRECTIONAL", activations=functions + USUAL["LSTM"]))


#: Combinations of attributes, directions, data types, absent tensors and layouts.
CASES: list[dict[str, Any]] = [
    {"direction": "BACKWARD", "lengths": (4, 2, 0)},
    {"direction": "BIDIRECTIONAL", "lengths": (0, 3, 9), "layouts": ("padded", "padded")},
    {"direction": "BIDIRECTIONAL", "absent": OPTIONAL_INPUTS, "layouts": ("reversed", "reversed")},
    {"direction": "BACKWARD", "absent": ("SequenceLengthsTensor", "OutputSingleTensor", "OutputCellSingleTensor")},
    {"direction": "BACKWARD", "absent": ("OutputSequenceTensor",), "data_type": "FLOAT16"},
    {"absent": ("BiasTensor", "PeepholeTensor"), "data_type": "FLOAT16", "layouts": ("padded", "reversed")},
    {"sizes": (1, 1, 1, 1)},
    {"sizes": (2, 2, 3, 700)},
]


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("kind", GATES)
def test_networks(device: dml.Device, kind: str, number: int) -> None:
    """Softmax as the first or the last function, with the usual ones in the other places."""
    usual = USUAL[kind]
    functions = ("SOFTMAX", *usual[1:]) if number % 2 else (*usual[:-1], "SOFTMAX1")
    attributes: dict[str, Any] = {}
    if kind == "GRU":
        attributes = {"LinearBeforeReset": number % 2 == 0}
    elif kind == "LSTM":
        attributes = {"ClipThreshold": 0.3, "UseClipThreshold": number % 3 == 0, "CoupleInputForget": number % 4 == 1}
    case = {"sizes": (4, len(CASES[number].get("lengths", (0,) * 3)), 5, 9), **CASES[number]}
    check(device, Case(kind, **case, activations=functions * 2, attributes=attributes))


def refused(message: str, *functions: dml.OperatorDesc) -> None:
    case = Case("GRU", (2, 2, 3, 4))
    desc: Any = describe(case, data(case))
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(replace(desc, ActivationDescs=functions))


def test_rules() -> None:
    tanh = dml.DML_ACTIVATION_TANH_OPERATOR_DESC()
    refused(
        r"GRU\.ActivationDescs\[1\]\.Axes: must be \(3,\), the units",
        tanh,
        dml.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(Axes=(2, 3)),
    )
    refused(
        r"GRU\.ActivationDescs\[0\]: must be an activation that can be fused here",
        dml.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(None, None, None),
        tanh,
    )
    case = Case("GRU", (2, 2, 3, 4))
    softmax1 = replace(describe(case, data(case)), ActivationDescs=(tanh, REDUCING["SOFTMAX1"]))
    with pytest.raises(dml.DMLError, match=r"can be fused from feature level 5_1 on"):
        dml.validate(softmax1, "5_0")
    hardmax = replace(describe(case, data(case)), ActivationDescs=(tanh, REDUCING["HARDMAX"]))
    dml.validate(hardmax, "1_0")


def test_steps_make_no_new_kernels(device: dml.Device) -> None:
    """Every step uses the same kernels: their number does not grow with the sequence."""

    def kernels(steps: int) -> set[str]:
        case = Case("LSTM", (steps, 2, 4, 6), "BACKWARD", activations=("SOFTMAX", "TANH", "TANH"))
        compiled = device.compile_operator(device.create_operator(describe(case, data(case))))
        return {dispatch.source.text for dispatch in compiled.program.dispatches}

    assert len(kernels(9)) == len(kernels(3))


def test_a_reducing_function_is_not_element_wise(device: dml.Device) -> None:
    """Each row of a softmax sums to 1; an element-wise exponential would not."""
    case = Case("RNN", (3, 4, 5, 11), absent=("SequenceLengthsTensor",), activations=("SOFTMAX",))
    inputs = data(case)
    compiled = device.compile_operator(device.create_operator(describe(case, inputs)))
    sequence = compiled.dispatch(inputs)["OutputSequenceTensor"]
    assert sequence is not None
    np.testing.assert_allclose(np.asarray(sequence).sum(-1), 1, 1e-6)
