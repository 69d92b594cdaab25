"""Sizes and activations of GRU."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError

F16, U32 = dml.DML_TENSOR_DATA_TYPE_FLOAT16, dml.DML_TENSOR_DATA_TYPE_UINT32
SIGMOID, TANH = dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()


def tensor(*sizes, of=dml.DML_TENSOR_DATA_TYPE_FLOAT32, **more):
    return dml.DML_BUFFER_TENSOR_DESC(of, sizes, **more)


def gru(direction="FORWARD", **changes):
    d = 2 if direction == "BIDIRECTIONAL" else 1
    fields = {
        "InputTensor": tensor(1, 5, 2, 3), "WeightTensor": tensor(1, d, 12, 3), "RecurrenceTensor": tensor(1, d, 12, 4),
        "BiasTensor": tensor(1, 1, d, 24), "HiddenInitTensor": tensor(1, d, 2, 4),
        "SequenceLengthsTensor": tensor(1, 1, 1, 2, of=U32), "OutputSequenceTensor": tensor(5, d, 2, 4),
        "OutputSingleTensor": tensor(1, d, 2, 4), "ActivationDescs": (SIGMOID, TANH) * d,
        "Direction": dml.DML_RECURRENT_NETWORK_DIRECTION[f"DML_RECURRENT_NETWORK_DIRECTION_{direction}"],
        "LinearBeforeReset": False,
    }  # fmt: skip
    return dml.DML_GRU_OPERATOR_DESC(**{**fields, **changes})


@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD", "BIDIRECTIONAL"])
@pytest.mark.parametrize(
    "absent",
    [(), ("BiasTensor",), ("HiddenInitTensor",), ("SequenceLengthsTensor",), ("OutputSequenceTensor",),
     ("OutputSingleTensor",), ("BiasTensor", "HiddenInitTensor", "SequenceLengthsTensor", "OutputSingleTensor")],
)  # fmt: skip
def test_accepts(direction, absent):
    dml.validate(gru(direction, **dict.fromkeys(absent)), dml.DML_FEATURE_LEVEL_1_0)


def test_accepts_any_fusable_activations_per_direction():
    softplus = dml.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(Steepness=1.0)
    clipped = dml.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(Alpha=0.5)
    dml.validate(gru("BIDIRECTIONAL", ActivationDescs=(SIGMOID, TANH, softplus, clipped)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"InputTensor": tensor(2, 5, 2, 3)}, r"GRU\.InputTensor: must have size 1 in dimension 0"),
        ({"InputTensor": tensor(1, 5, 2, 7)}, r"GRU\.WeightTensor: must have sizes \(1, 1, 12, 7\)"),
        ({"WeightTensor": tensor(1, 2, 12, 3)}, r"GRU\.WeightTensor"),
        ({"WeightTensor": tensor(1, 1, 16, 3)}, r"GRU\.WeightTensor"),
        ({"RecurrenceTensor": tensor(1, 1, 13, 4)}, r"GRU\.RecurrenceTensor: must have sizes \(1, 1, 12, 4\)"),
        ({"BiasTensor": tensor(1, 1, 1, 12)}, r"GRU\.BiasTensor: must have sizes \(1, 1, 1, 24\)"),
        ({"HiddenInitTensor": tensor(1, 1, 3, 4)}, r"GRU\.HiddenInitTensor"),
        (
            {"SequenceLengthsTensor": tensor(1, 1, 1, 5, of=U32)},
            r"SequenceLengthsTensor: must have sizes \(1, 1, 1, 2\)",
        ),
        ({"SequenceLengthsTensor": tensor(1, 1, 1, 2)}, r"SequenceLengthsTensor\.DataType: must be one of UINT32"),
        ({"OutputSequenceTensor": tensor(4, 1, 2, 4)}, r"GRU\.OutputSequenceTensor: must have sizes \(5, 1, 2, 4\)"),
        ({"OutputSingleTensor": tensor(5, 1, 2, 4)}, r"GRU\.OutputSingleTensor: must have sizes \(1, 1, 2, 4\)"),
        ({"OutputSequenceTensor": None, "OutputSingleTensor": None}, r"at least 1 of OutputSequenceTensor"),
        ({"BiasTensor": tensor(1, 1, 1, 24, of=F16)}, r"must have the data type of BiasTensor"),
        ({"ActivationDescs": (SIGMOID,)}, r"ActivationDescs: must have 2 item\(s\)"),
        ({"ActivationDescs": (SIGMOID, TANH) * 2}, r"ActivationDescs: must have 2 item\(s\)"),
        ({"Direction": 2}, r"GRU\.WeightTensor: must have sizes \(1, 2, 12, 3\)"),
        (
            {"ActivationDescs": (SIGMOID, dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC())},
            r"ActivationDescs\[1\]: must be an",
        ),
        ({"ActivationDescs": (SIGMOID, None)}, "ActivationDescs: must be a sequence of operator descriptions"),
    ],
)
def test_refuses(changes, message):
    with pytest.raises(DMLError, match=message):
        dml.validate(gru(**changes))


@pytest.mark.parametrize("name", ["InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor"])
def test_no_input_may_be_owned(name):
    owned = tensor(*getattr(gru(), name).Sizes, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    with pytest.raises(DMLError, match=f"GRU.{name}: does not support DML_TENSOR_FLAG_OWNED_BY_DML"):
        dml.validate(gru(**{name: owned}))
