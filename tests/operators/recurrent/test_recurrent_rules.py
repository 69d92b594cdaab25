"""The rules of RNN, GRU and LSTM about sizes and activations."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from harness import tensor

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
SIGMOID, TANH = dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()


def float32(*sizes: int, **more: Any) -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor("FLOAT32", sizes, **more)


def describe(kind: str, direction: str = "FORWARD", **changes: Any) -> dml.OperatorDesc:
    """Describe a network of 5 steps, batch 2, input 3, hidden 4."""
    gates = GATES[kind]
    functions = {"RNN": (TANH,), "GRU": (SIGMOID, TANH), "LSTM": (SIGMOID, TANH, TANH)}[kind]
    d = 2 if direction == "BIDIRECTIONAL" else 1
    fields = {
        "InputTensor": float32(1, 5, 2, 3),
        "WeightTensor": float32(1, d, gates * 4, 3),
        "RecurrenceTensor": float32(1, d, gates * 4, 4),
        "BiasTensor": float32(1, 1, d, gates * 8),
        "HiddenInitTensor": float32(1, d, 2, 4),
        "SequenceLengthsTensor": tensor("UINT32", (1, 1, 1, 2)),
        "OutputSequenceTensor": float32(5, d, 2, 4),
        "OutputSingleTensor": float32(1, d, 2, 4),
        "ActivationDescs": functions * d,
        "Direction": dml.DML_RECURRENT_NETWORK_DIRECTION[f"DML_RECURRENT_NETWORK_DIRECTION_{direction}"],
    }
    if kind == "GRU":
        fields["LinearBeforeReset"] = False
    elif kind == "LSTM":
        fields |= {
            "CellMemInitTensor": float32(1, d, 2, 4),
            "PeepholeTensor": float32(1, 1, d, 12),
            "OutputCellSingleTensor": float32(1, d, 2, 4),
            "ClipThreshold": 0.5,
            "UseClipThreshold": True,
            "CoupleInputForget": False,
        }
    return getattr(dml, f"DML_{kind}_OPERATOR_DESC")(**{**fields, **changes})


ABSENT: list[tuple[str, ...]] = [
    (),
    ("BiasTensor",),
    ("HiddenInitTensor",),
    ("SequenceLengthsTensor",),
    ("OutputSequenceTensor",),
    ("OutputSingleTensor",),
    ("BiasTensor", "HiddenInitTensor", "SequenceLengthsTensor", "OutputSingleTensor"),
]


@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD", "BIDIRECTIONAL"])
@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("absent", ABSENT)
def test_accepts(kind: str, direction: str, absent: tuple[str, ...]) -> None:
    dml.validate(describe(kind, direction, **dict.fromkeys(absent)), dml.DML_FEATURE_LEVEL_1_0)


def test_accepts_any_fusable_activations_per_direction() -> None:
    softplus = dml.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(Steepness=1.0)
    clipped = dml.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(Alpha=0.5)
    dml.validate(describe("GRU", "BIDIRECTIONAL", ActivationDescs=(SIGMOID, TANH, softplus, clipped)))


#: Rules of every kind of network.
SHARED: list[tuple[dict[str, Any], str]] = [
    ({"InputTensor": float32(2, 5, 2, 3)}, "InputTensor: must have size 1 in dimension 0"),
    ({"InputTensor": float32(1, 5, 2, 7)}, "WeightTensor: must have sizes"),
    ({"WeightTensor": float32(1, 2, 12, 3)}, "WeightTensor: must have sizes"),
    ({"WeightTensor": float32(1, 1, 20, 3)}, "WeightTensor: must have sizes"),
    ({"RecurrenceTensor": float32(1, 2, 4, 4)}, "Tensor: must have sizes"),
    ({"BiasTensor": float32(1, 1, 1, 4)}, "BiasTensor: must have sizes"),
    ({"HiddenInitTensor": float32(1, 1, 3, 4)}, "HiddenInitTensor: must have sizes"),
    ({"SequenceLengthsTensor": tensor("UINT32", (1, 1, 1, 5))}, "SequenceLengthsTensor: must have sizes .1, 1, 1, 2"),
    ({"SequenceLengthsTensor": float32(1, 1, 1, 2)}, "SequenceLengthsTensor.DataType: must be one of UINT32"),
    ({"OutputSequenceTensor": float32(5, 1, 2, 5)}, "OutputSequenceTensor: must have sizes .5, 1, 2, 4"),
    ({"OutputSingleTensor": float32(1, 1, 1, 4)}, "OutputSingleTensor: must have sizes .1, 1, 2, 4"),
    ({"ActivationDescs": (TANH,) * 7}, "ActivationDescs: must have . item"),
    ({"ActivationDescs": (None,) * 3}, "ActivationDescs: must be a sequence of operator descriptions"),
    ({"Direction": 2}, "WeightTensor: must have sizes .1, 2, "),
]


@pytest.mark.parametrize("number", range(len(SHARED)))
@pytest.mark.parametrize("kind", GATES)
def test_refuses(kind: str, number: int) -> None:
    changes, message = SHARED[number]
    with pytest.raises(dml.DMLError, match=f"{kind}.*{message}"):
        dml.validate(describe(kind, **changes))


@pytest.mark.parametrize("name", ["InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor"])
@pytest.mark.parametrize("kind", GATES)
def test_no_input_may_be_owned(kind: str, name: str) -> None:
    owned = float32(*getattr(describe(kind), name).Sizes, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    with pytest.raises(dml.DMLError, match=f"{kind}.{name}: does not support DML_TENSOR_FLAG_OWNED_BY_DML"):
        dml.validate(describe(kind, **{name: owned}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"RecurrenceTensor": float32(1, 1, 13, 4)}, "RecurrenceTensor: must have sizes .1, 1, 12, 4"),
        ({"BiasTensor": float32(1, 1, 1, 12)}, "BiasTensor: must have sizes .1, 1, 1, 24"),
        ({"BiasTensor": tensor("FLOAT16", (1, 1, 1, 24))}, "must have the data type of BiasTensor"),
        ({"OutputSequenceTensor": None, "OutputSingleTensor": None}, "at least 1 of OutputSequenceTensor"),
        ({"ActivationDescs": (SIGMOID,)}, "ActivationDescs: must have 2 item"),
        (
            {"ActivationDescs": (SIGMOID, dml.DML_ELEMENT_WISE_EXP_OPERATOR_DESC(None, None))},
            r"ActivationDescs\[1\]: must be an",
        ),
    ],
)
def test_gru_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(describe("GRU", **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"CellMemInitTensor": float32(1, 1, 2, 5)}, "CellMemInitTensor: must have sizes .1, 1, 2, 4"),
        ({"PeepholeTensor": float32(1, 1, 1, 16)}, "PeepholeTensor: must have sizes .1, 1, 1, 12"),
        ({"OutputCellSingleTensor": float32(1, 1, 3, 4)}, "OutputCellSingleTensor: must have sizes .1, 1, 2, 4"),
        (
            {"PeepholeTensor": float32(1, 1, 1, 12, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)},
            "PeepholeTensor: does not support DML_TENSOR_FLAG_OWNED_BY_DML",
        ),
        ({"ClipThreshold": -0.5}, "ClipThreshold: must be at least 0"),
        (
            dict.fromkeys(("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor")),
            "at least 1 of OutputSequenceTensor, OutputSingleTensor, OutputCellSingleTensor must be given",
        ),
    ],
)
def test_lstm_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(describe("LSTM", **changes))


def test_lstm_threshold_without_use() -> None:
    """An unused threshold may be any number."""
    dml.validate(describe("LSTM", ClipThreshold=-1.0, UseClipThreshold=False))
