"""Descriptions written as DxDispatch's JSON are equal when read back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import dml
from dml.frontends.dxdispatch.document import Json
from dml.frontends.dxdispatch.operators import operator
from dml.frontends.dxdispatch.writing import dispatchable
from harness import LAYOUTS, tensor
from sample_descriptors import NAMES, sample


def through_json(desc: dml.OperatorDesc) -> dml.OperatorDesc:
    return operator(Json(json.loads(json.dumps(dispatchable(desc), allow_nan=False)), "desc"))


@pytest.mark.every_parameter
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_operator_is_read_back_equal(name, layout):
    desc = sample(name, layout)
    assert through_json(desc) == desc


def test_it_is_a_dispatchable():
    x = tensor("FLOAT32", (1, 2))
    assert dispatchable(dml.DML_ACTIVATION_ELU_OPERATOR_DESC(x, x, 1.5)) == {
        "type": "DML_OPERATOR_ACTIVATION_ELU",
        "desc": {
            "InputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2]},
            "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 2]},
            "Alpha": 1.5,
        },
    }


def test_fields_of_a_tensor():
    x = tensor("UINT8", (1, 2), "padded", TotalTensorSizeInBytes=64, GuaranteedBaseOffsetAlignment=16,
               Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)  # fmt: skip
    found: Any = through_json(dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(x, tensor("UINT8", (1, 2)), None))
    assert found.InputTensor == x
    assert (found.InputTensor.TotalTensorSizeInBytes, found.InputTensor.GuaranteedBaseOffsetAlignment) == (64, 16)
    assert found.InputTensor.Flags == dml.DML_TENSOR_FLAG_OWNED_BY_DML


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.1])
def test_numbers_that_json_has_not(value):
    x = tensor("FLOAT32", (1,))
    found: Any = through_json(dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(x, x, dml.DML_SCALE_BIAS(value, 0.0)))
    assert str(found.ScaleBias.Scale) == str(value)


@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("FLOAT32", {"Float32": 0.25}), ("FLOAT16", {"UInt16": 0x3C01}), ("FLOAT64", {"Float64": 0.1}),
        ("INT8", {"Int8": -3}), ("UINT64", {"UInt64": 2**64 - 1}), ("INT64", {"Int64": -(2**63)}),
    ],
)  # fmt: skip
def test_scalars_of_each_kind(kind, member):
    data_type = dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind}"]
    desc = dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(tensor(kind, (1,)), data_type, dml.DML_SCALAR_UNION(**member))
    assert dispatchable(desc)["desc"]["Value"] == member
    assert through_json(desc) == desc


def test_a_scalar_that_dxdispatch_cannot_write():
    desc = dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(
        tensor("UINT4", (1, 2)), dml.DML_TENSOR_DATA_TYPE_UINT4, dml.DML_SCALAR_UNION(UInt8=3)
    )
    with pytest.raises(dml.DMLError, match=r"FILL_VALUE_CONSTANT\.Value: DxDispatch has no scalar of UINT4"):
        dispatchable(desc)
