"""The rules of the softmaxes, each broken alone."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from harness import refuse
from sample_descriptors import sample

KINDS = ("SOFTMAX", "LOG_SOFTMAX", "HARDMAX")
#: Invalid fields and messages, for the forms along the last dimension and for those with axes.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"InputTensor": "1x2x3x4", "OutputTensor": "1x2x3x4"}, ".InputTensor: must have an effective"),
    ({"OutputTensor": "1x1x6x4"}, ".OutputTensor: must have the sizes of"),
    ({"OutputTensor": "FLOAT16 1x1x4x6"}, ".OutputTensor: must have the data type of"),
]
WRONG_AXES: list[tuple[dict[str, Any], str]] = [
    ({"Axes": (4,)}, "1.Axes: must be dimensions of InputTensor, from 0 to 3"),
    ({"Axes": (2, 2)}, "1.Axes: must be different dimensions"),
    ({"OutputTensor": "1x1x6x4"}, "1.OutputTensor: must have the sizes of"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes, message", WRONG)
def test_rows(kind: str, changes: dict[str, Any], message: str) -> None:
    dml.validate(sample(f"ACTIVATION_{kind}"))
    refuse(sample(f"ACTIVATION_{kind}", **changes), f"ACTIVATION_{kind}{message}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes, message", WRONG_AXES)
def test_axes(kind: str, changes: dict[str, Any], message: str) -> None:
    dml.validate(sample(f"ACTIVATION_{kind}1"))
    refuse(sample(f"ACTIVATION_{kind}1", **changes), f"ACTIVATION_{kind}{message}")
