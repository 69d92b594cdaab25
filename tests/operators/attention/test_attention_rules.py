"""Descriptions that MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1 reject."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from attention_cases import MASKS, Case, data, describe

import dml
from harness import tensor


def changed(case: Case, **changes: Any) -> dml.OperatorDesc:
    case = case.consistent
    return replace(describe(case, data(case)), **changes)


def float32(*sizes: int) -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor("FLOAT32", sizes)


def int32(*sizes: int) -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor("INT32", sizes)


FULL = Case((2, 3, 4, 2, 5, 6), bias=True, relative=True, present=True)
IN_PLACE = Case((2, 3, 4, 5, 5, 6), (4, 2), in_place=True)
SHARED = Case((2, 3, 4, 2, 5, 6), (4, 2), lengths=True)


@pytest.mark.parametrize(
    ("case", "changes", "message"),
    [
        (FULL, {"QueryTensor": None}, "exactly one of QueryTensor"),
        (FULL, {"StackedQueryKeyTensor": float32(2, 3, 2, 2, 5)}, "StackedQueryKeyTensor: exactly one of"),
        (FULL, {"StackedKeyValueTensor": float32(2, 4, 2, 2, 5)}, "StackedKeyValueTensor: exactly one of"),
        (FULL, {"HeadCount": 0}, "HeadCount: must be at least 1"),
        (FULL, {"HeadCount": 3}, "QueryTensor: must have a last size that is a multiple of 3"),
        (FULL, {"QueryTensor": float32(2, 2, 3, 10)}, "QueryTensor: must have size 1 in the dimensions before"),
        (FULL, {"KeyTensor": float32(1, 4, 10)}, "KeyTensor: must have the query's batch size 2"),
        (FULL, {"KeyTensor": float32(2, 4, 12)}, "KeyTensor: must have the query's head size 5"),
        (FULL, {"ValueTensor": float32(2, 5, 12)}, "ValueTensor: must have the key's batch and sequence sizes"),
        (FULL, {"BiasTensor": float32(31)}, "BiasTensor: must have sizes .32,."),
        (FULL, {"BiasTensor": float32(2, 32)}, "BiasTensor: must have sizes .32,."),
        (FULL, {"PastValueTensor": None}, "PastValueTensor: must be given if and only if PastKeyTensor"),
        (FULL, {"PastKeyTensor": float32(2, 2, 2, 6)}, "PastKeyTensor: must have sizes"),
        (FULL, {"PastValueTensor": float32(2, 2, 3, 6)}, "PastValueTensor: must have sizes"),
        (FULL, {"OutputPresentKeyTensor": float32(2, 2, 4, 5)}, "OutputPresentKeyTensor: must have sizes .2, 2, 6, 5"),
        (FULL, {"OutputPresentValueTensor": float32(2, 2, 6, 5)}, "OutputPresentValueTensor: must have sizes"),
        (FULL, {"RelativePositionBiasTensor": float32(2, 2, 3, 4)}, "RelativePositionBiasTensor: must have sizes"),
        (FULL, {"OutputTensor": float32(2, 3, 10)}, "OutputTensor: must have sizes .2, 3, 12"),
        (FULL, {"MaskTensor": int32(2, 2, 3, 6)}, "MaskTensor: must be given if and only if MaskType"),
        (replace(FULL, mask="BOOLEAN"), {"MaskTensor": None}, "MaskTensor: must be given if and only if MaskType"),
        (replace(FULL, mask="BOOLEAN"), {"MaskTensor": int32(2, 1, 3, 6)}, "MaskTensor: must have sizes .2, 2, 3, 6"),
        (replace(FULL, mask=MASKS[1]), {"MaskTensor": int32(1, 3)}, "MaskTensor: must have sizes .1, 2"),
        (replace(FULL, mask=MASKS[2]), {"MaskTensor": int32(1, 2)}, "MaskTensor: must have sizes .2, 2"),
        (replace(FULL, mask=MASKS[3]), {"MaskTensor": int32(7)}, "MaskTensor: must have sizes .8,"),
        (
            Case(source="query key value"),
            {"StackedQueryKeyValueTensor": float32(2, 3, 2, 2, 5)},
            "StackedQueryKeyValueTensor: must have sizes .2, 3, 2, 3, 5",
        ),
        (
            Case(source="key value"),
            {"StackedKeyValueTensor": float32(2, 4, 3, 2, 5)},
            "StackedKeyValueTensor: must have sizes .2, 4, 2, 2, 5",
        ),
        (SHARED, {"QueryHeadCount": 5}, "QueryHeadCount: must be a multiple of KeyValueHeadCount, 2"),
        (SHARED, {"KeyValueHeadCount": 0}, "KeyValueHeadCount: must be at least 1"),
        (SHARED, {"PastKeyTensor": None, "PastValueTensor": None}, "OutputPresentKeyTensor: must be given if"),
        (IN_PLACE, {"PastSequenceLengthsTensor": float32(2)}, "PastSequenceLengthsTensor: must be INT32, or with"),
        (IN_PLACE, {"OutputPresentValueTensor": None}, "OutputPresentValueTensor: must be given if"),
        (IN_PLACE, {"OutputPresentKeyTensor": float32(2, 2, 3, 5)}, "OutputPresentKeyTensor: must have room for 4"),
        (IN_PLACE, {"OutputPresentValueTensor": float32(2, 2, 8, 6)}, "OutputPresentValueTensor: must have sizes"),
        (SHARED, {"PastSequenceLengthsTensor": float32(3)}, "PastSequenceLengthsTensor: must have sizes .2,"),
        (SHARED, {"PastSequenceLengthsTensor": tensor("FLOAT16", (2,))}, "PastSequenceLengthsTensor: must be INT32"),
        (Case(source="query key", newer=True), {"KeyValueHeadCount": 1}, "KeyValueHeadCount: must be QueryHeadCount"),
    ],
)  # fmt: skip
def test_refuses(case: Case, changes: dict[str, Any], message: str) -> None:
    dml.validate(changed(case))
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(changed(case, **changes))
