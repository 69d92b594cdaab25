"""Rules of the operators that move elements."""

from __future__ import annotations

from ..descriptors import DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
from .base import Check, rule, with_size


@rule(DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC)
def reverse_subsequences(desc: DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="InputTensor")
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")
    check.sizes("SequenceLengthsTensor", with_size(desc.InputTensor.Sizes, desc.Axis, 1), why="1 along Axis")
