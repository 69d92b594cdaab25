"""Descriptions that the convolutions of floats and of integers refuse."""

from __future__ import annotations

import pytest
from convolution_cases import BACKWARD, CORRELATION, FORWARD

import dml
from harness import tensor

FIELDS = ("Strides", "Dilations", "StartPadding", "EndPadding", "OutputPadding")


def plain(**changes):
    fields = {
        "InputTensor": tensor("FLOAT32", (2, 4, 8, 9)),
        "FilterTensor": tensor("FLOAT32", (6, 2, 3, 3)),
        "BiasTensor": tensor("FLOAT32", (1, 6, 1, 1)),
        "OutputTensor": tensor("FLOAT32", (2, 6, 6, 7)),
        "Mode": CORRELATION,
        "Direction": FORWARD,
        "Strides": (1, 1),
        "Dilations": (1, 1),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        "OutputPadding": (0, 0),
        "GroupCount": 2,
    }
    return dml.DML_CONVOLUTION_OPERATOR_DESC(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict.fromkeys(FIELDS, (1,)), "Strides: must have 2 item"),
        ({"Dilations": (1, 1, 1)}, "Dilations: must have 2 item"),
        ({"StartPadding": (0,)}, "StartPadding: must have 2 item"),
        ({"EndPadding": (0,)}, "EndPadding: must have 2 item"),
        ({"OutputPadding": (0,)}, "OutputPadding: must have 2 item"),
        ({"Strides": (0, 1)}, "Strides: must be at least 1"),
        ({"Dilations": (1, 0)}, "Dilations: must be at least 1"),
        ({"GroupCount": 0}, "GroupCount: must be at least 1"),
        ({"GroupCount": 3}, "GroupCount: must divide the 4 channels"),
        ({"GroupCount": 4, "FilterTensor": tensor("FLOAT32", (6, 1, 3, 3))}, "GroupCount: must divide the 6 output"),
        ({"FilterTensor": tensor("FLOAT32", (6, 4, 3, 3))}, "FilterTensor: must have size 2 in dimension 1"),
        ({"Direction": BACKWARD}, "FilterTensor: must have size 4 in dimension 0"),
        (
            {"FilterTensor": tensor("FLOAT32", (6, 2, 9, 3))},
            "must fit the padded size of InputTensor in dimension 2, 8, found 9",
        ),
        ({"OutputTensor": tensor("FLOAT32", (2, 6, 6, 6))}, "OutputTensor: must have sizes"),
        ({"OutputTensor": tensor("FLOAT32", (1, 6, 6, 7))}, "OutputTensor: must have sizes"),
        ({"BiasTensor": tensor("FLOAT32", (6, 1, 1, 1))}, "BiasTensor: must have sizes"),
        ({"InputTensor": tensor("FLOAT16", (2, 4, 8, 9))}, "data type"),
        ({"FusedActivation": dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC()}, "FusedActivation: must be an activation"),
    ],
)
def test_refuses(changes, message):
    dml.validate(plain())
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(plain(**changes))


def integer(**changes):
    fields = {
        "InputTensor": tensor("UINT8", (2, 4, 8, 9)),
        "InputZeroPointTensor": tensor("UINT8", (1,)),
        "FilterTensor": tensor("INT8", (6, 2, 3, 3)),
        "FilterZeroPointTensor": tensor("INT8", (6,)),
        "OutputTensor": tensor("INT32", (2, 6, 6, 7)),
        "Strides": (1, 1), "Dilations": (1, 1), "StartPadding": (0, 0), "EndPadding": (0, 0), "GroupCount": 2,
    }  # fmt: skip
    return dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"InputZeroPointTensor": tensor("UINT8", (4,))}, "InputZeroPointTensor: must have size 1 in every"),
        ({"FilterZeroPointTensor": tensor("INT8", (3,))}, "FilterZeroPointTensor: must have size 1.*or 6 in"),
        ({"FilterTensor": tensor("INT8", (6, 4, 3, 3))}, "FilterTensor: must have size 2 in dimension 1"),
        ({"OutputTensor": tensor("INT32", (2, 6, 6, 6))}, "OutputTensor: must have sizes"),
        ({"InputZeroPointTensor": tensor("INT8", (1,))}, "data type"),
    ],
)
def test_integer_refuses(changes, message):
    dml.validate(integer())
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(integer(**changes))


def quantized(**changes):
    one = tensor("FLOAT32", (1, 1, 1, 1))
    fields = {
        "InputTensor": tensor("UINT8", (2, 4, 8, 9)),
        "InputScaleTensor": one,
        "FilterTensor": tensor("INT8", (6, 2, 3, 3)),
        "FilterScaleTensor": one,
        "BiasTensor": tensor("INT32", (1, 6, 1, 1)),
        "OutputScaleTensor": one,
        "OutputTensor": tensor("UINT8", (2, 6, 6, 7)),
        "Strides": (1, 1), "Dilations": (1, 1), "StartPadding": (0, 0), "EndPadding": (0, 0), "GroupCount": 2,
    }  # fmt: skip
    return dml.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"InputScaleTensor": tensor("FLOAT32", (1, 4, 1, 1))}, "InputScaleTensor: must have size 1 in every"),
        ({"OutputScaleTensor": tensor("FLOAT32", (1, 6, 1, 1))}, "OutputScaleTensor: must have size 1 in every"),
        ({"FilterScaleTensor": tensor("FLOAT32", (6, 1, 1, 1))}, "FilterScaleTensor: must have size 1.*or 6 in"),
        ({"OutputZeroPointTensor": tensor("UINT8", (6,))}, "OutputZeroPointTensor: must have size 1 in every"),
        ({"BiasTensor": tensor("INT32", (1, 4, 1, 1))}, "BiasTensor: must have sizes"),
        ({"OutputZeroPointTensor": tensor("INT8", (1,))}, "data type"),
    ],
)
def test_quantized_refuses(changes, message):
    dml.validate(quantized())
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(quantized(**changes))
