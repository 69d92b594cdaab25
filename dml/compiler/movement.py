"""Operators that move elements without changing them."""

from __future__ import annotations

from dml.compiler.builder import Builder, merge_around
from dml.compiler.lowering import lowering
from dml.compiler.target import Target
from dml.descriptors.movement import DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC


@lowering(DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC)
def reverse_subsequences(desc: DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, program: Builder, target: Target) -> None:
    source, result = program["InputTensor"], program["OutputTensor"]
    lengths = program["SequenceLengthsTensor"].broadcast(source.sizes)
    axis = desc.Axis
    at, (result, source, lengths) = merge_around(desc.Axis, result, source, lengths)
    program.for_each(
        "movement/reverse_subsequences.comp",
        result,
        {"source": source, "lengths": lengths},
        constants={"AXIS_SIZE": source.sizes[at]},
        defines={"AXIS": at},
    )
