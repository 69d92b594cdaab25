"""IDENTITY, ADD and ADD1: the data types and dimensions of each feature level."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError


def tensor(kind, *sizes, **more):
    return dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind}"], sizes, **more)


IDENTITY = ["FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"]


@pytest.mark.parametrize("kind", IDENTITY)
@pytest.mark.parametrize("rank", range(1, 9))
def test_identity_takes_every_data_type_and_dimension_count(kind, rank):
    sizes = tuple(range(1, rank + 1))
    for scale_bias in (None, dml.DML_SCALE_BIAS(2, 0.5)):
        dml.validate(
            dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
                tensor(kind, *sizes, Strides=[0] * rank), tensor(kind, *sizes), scale_bias
            )
        )


@pytest.mark.parametrize(
    "kind, since",
    [("FLOAT32", "1_0"), ("INT32", "2_1"), ("UINT64", "4_1"), ("INT64", "4_1"), ("INT16", "5_1"), ("UINT8", "5_1")],
)
def test_add_takes_more_integers_with_each_level(kind, since):
    operand = tensor(kind, 1, 1, 2, 2)
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(operand, operand, operand)
    for level in dml.DML_FEATURE_LEVEL:
        if level >= dml.DML_FEATURE_LEVEL[f"DML_FEATURE_LEVEL_{since}"]:
            dml.validate(desc, level)
        else:
            with pytest.raises(DMLError, match=r"ELEMENT_WISE_ADD\.ATensor\.DataType"):
                dml.validate(desc, level)


def test_add_broadcasts_by_strides_and_not_by_sizes():
    a, out = tensor("FLOAT32", 2, 3), tensor("FLOAT32", 2, 3)
    dml.validate(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(a, tensor("FLOAT32", 2, 3, Strides=(0, 1)), out))
    with pytest.raises(
        DMLError, match=r"ELEMENT_WISE_ADD\.BTensor: must have the sizes of ATensor, \(2, 3\), found \(1, 3\)"
    ):
        dml.validate(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(a, tensor("FLOAT32", 1, 3), out))


def test_add1_fuses_an_activation():
    x = tensor("FLOAT16", 4)
    dml.validate(dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x))
    dml.validate(dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x, dml.DML_ACTIVATION_RELU_OPERATOR_DESC()))
    clip = dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=0, Max=1)
    with pytest.raises(
        DMLError, match=r"ELEMENT_WISE_ADD1\.FusedActivation: must be an activation that can be fused here"
    ):
        dml.validate(dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x, clip))
