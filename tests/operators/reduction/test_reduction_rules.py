"""The rules of the reductions, scans and selections, each broken alone."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from harness import refuse
from sample_descriptors import sample

#: Invalid ``Axes`` of a reduction of 1x2x4x6, and messages.
AXES: list[tuple[dict[str, Any], str]] = [
    ({"Axes": (2, 4)}, "Axes: must be dimensions of InputTensor, from 0 to 3"),
    ({"Axes": (1, 1)}, "Axes: must be different dimensions"),
]
TOP_K: list[tuple[dict[str, Any], str]] = [
    ({"Axis": 4}, "Axis: must be a dimension of InputTensor, from 0 to 3"),
    ({"K": 0}, "K: must be from 1 to 6, the size of InputTensor along Axis"),
    ({"K": 7}, "K: must be from 1 to 6, the size of InputTensor along Axis"),
    ({"OutputValueTensor": "1x2x3x3"}, "OutputValueTensor: must have sizes (1, 2, 4, 3)"),
    ({"OutputIndexTensor": "UINT32 1x2x3x4"}, "OutputIndexTensor: must have sizes (1, 2, 4, 3)"),
    ({"OutputIndexTensor": "INT32 1x2x4x3"}, "OutputIndexTensor"),
    ({"OutputValueTensor": "FLOAT16 1x2x4x3"}, "OutputValueTensor: must have the data type of InputTensor"),
]
CUMULATIVE: list[tuple[dict[str, Any], str]] = [
    ({"Axis": 4}, "Axis: must be a dimension of InputTensor, from 0 to 3"),
    ({"OutputTensor": "1x2x6x4"}, "OutputTensor: must have the sizes of"),
    ({"OutputTensor": "FLOAT16 1x2x4x6"}, "OutputTensor: must have the data type of"),
    ({"OutputTensor": "2x4x6"}, "OutputTensor: must have the dimension count of"),
]
ARGUMENT: list[tuple[dict[str, Any], str]] = [
    *AXES,
    ({"OutputTensor": "UINT32 1x2x1x6"}, "OutputTensor: must have sizes (1, 2, 4, 1)"),
    ({"OutputTensor": "1x2x4x1"}, "OutputTensor"),
]
WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    "REDUCE": [
        *AXES,
        ({"OutputTensor": "1x2x4x6"}, "OutputTensor: must have sizes (1, 2, 1, 6)"),
        ({"OutputTensor": "2x1x6"}, "OutputTensor: must have sizes (1, 2, 1, 6)"),
        ({"OutputTensor": "FLOAT16 1x2x1x6"}, "OutputTensor: must have the data type of InputTensor"),
    ],
    "ARGMIN": ARGUMENT,
    "ARGMAX": ARGUMENT,
    "CUMULATIVE_SUMMATION": CUMULATIVE,
    "CUMULATIVE_PRODUCT": CUMULATIVE,
    "TOP_K": TOP_K,
    "TOP_K1": TOP_K,
    "NONZERO_COORDINATES": [
        ({"OutputCountTensor": "UINT32 1x1x1x2"}, "OutputCountTensor: must have sizes (1, 1, 1, 1)"),
        ({"OutputCoordinatesTensor": "UINT32 1x1x47x4"}, "OutputCoordinatesTensor: must have size 48"),
        ({"OutputCoordinatesTensor": "UINT32 1x2x48x4"}, "OutputCoordinatesTensor: must have leading sizes 1"),
        ({"OutputCoordinatesTensor": "UINT32 1x1x48x2"}, "OutputCoordinatesTensor: must have a size from 3 to 4"),
        ({"OutputCoordinatesTensor": "UINT32 1x1x48x5"}, "OutputCoordinatesTensor: must have a size from 3 to 4"),
        ({"OutputCoordinatesTensor": "INT32 1x1x48x4"}, "OutputCoordinatesTensor"),
    ],
}


@pytest.mark.parametrize(
    "operator, changes, message",
    [(operator, changes, message) for operator, wrong in WRONG.items() for changes, message in wrong],
)
def test_each_rule(operator: str, changes: dict[str, Any], message: str) -> None:
    dml.validate(sample(operator))
    refuse(sample(operator, **changes), f"{operator}.{message}")
