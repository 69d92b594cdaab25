"""All faults of a description at once: the first is the one that is raised, and each would be raised alone."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError
from dml.validator.base import Check
from dml.validator.common import check_operator
from dml.validator.faults import faults_of
from sample_descriptors import NAMES, sample


def tensor(*sizes, of="FLOAT32", **more):
    return dml.DML_BUFFER_TENSOR_DESC(of, sizes, **more)


def messages(desc, level="6_4"):
    return [error.message for error in dml.validate(desc, level, all=True)]


def first(desc, level):
    """Return the message of a Check that stops at the first fault, if there is one."""
    try:
        check_operator(Check(desc, dml.DML_FEATURE_LEVEL[f"DML_FEATURE_LEVEL_{level}"]))
    except DMLError as error:
        return [error.message]
    return []


def raised(desc):
    with pytest.raises(DMLError) as caught:
        dml.validate(desc)
    return caught.value.message


@pytest.mark.parametrize("name", NAMES)
def test_valid_descriptions_have_no_faults(name):
    assert dml.validate(sample(name), all=True) == []


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", ["1_0", "3_0"])
def test_the_first_is_the_one_that_is_raised(name, level):
    """Give each tensor of each sample, one at a time, an invalid type and invalid sizes."""
    desc = sample(name)
    for info in desc.fields_info:
        if info.type != "tensor" or getattr(desc, info.name) is None:
            continue
        for wrong in (tensor(*(3,) * 9), tensor(7, 1, 5, 2, of="UINT4"), tensor(2, 3, 4, 5)):
            changed = desc.replace(**{info.name: wrong})
            found = messages(changed, level)
            assert found[:1] == first(changed, level)
            assert len(set(found)) == len(found)


def test_several_faults_of_one_description():
    gemm = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=tensor(1, 1, 2, 3, of="INT32"),
        BTensor=tensor(1, 1, 4, 5, of="FLOAT16"),
        OutputTensor=tensor(1, 1, 2, 6, of="FLOAT16"),
        Alpha=float("nan"),
        Beta=1e60,
        TransA=0,
        TransB=0,
    )
    found = messages(gemm)
    assert raised(gemm) == found[0]
    for start in ("GEMM.Alpha: must not be NaN", "GEMM.Beta: must be an infinity", "GEMM.ATensor.DataType: must be",
                  "GEMM.BTensor: must have ", "GEMM.OutputTensor: "):  # fmt: skip
        assert any(message.startswith(start) for message in found), (start, found)
    # a different data type of B follows from A's fault
    assert not any("must have the data type" in message for message in found)


def test_a_fault_of_each_tensor_and_two_of_one():
    wrong = tensor(1, 2, 3, of="UINT4")
    found = messages(sample("GRU").replace(InputTensor=wrong, WeightTensor=wrong))
    assert [message.partition(":")[0] for message in found[:4]] == [
        "GRU.InputTensor.DimensionCount",
        "GRU.InputTensor.DataType",
        "GRU.WeightTensor.DimensionCount",
        "GRU.WeightTensor.DataType",
    ]


def test_a_level_that_lacks_the_operator_is_one_fault():
    assert len(messages(sample("FOLD"), "1_0")) == 1


def test_bugs_in_rules_are_not_swallowed(monkeypatch):
    """An exception that a rule raises without having found a fault is not swallowed."""
    from dml.validator import base

    def broken(desc, check):
        raise ZeroDivisionError

    monkeypatch.setitem(base._RULES, dml.DML_GEMM_OPERATOR_DESC, broken)
    with pytest.raises(ZeroDivisionError):
        faults_of(sample("GEMM"), dml.DML_FEATURE_LEVEL_6_4)
