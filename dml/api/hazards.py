"""Checks overlaps between the bindings of one dispatch, by the rules of the pages of BindInputs and BindOutputs.

Ranges that are only read may overlap. Others may not, with one exception: an operator that executes in place may write
an output over an input of exactly the same bytes. A binding reads or writes its tensor's TotalTensorSizeInBytes, or the
bytes that a temporary or persistent resource needs, however long the bound range is. References:
idmlbindingtable-bindinputs, idmlbindingtable-bindoutputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from dml.errors import DMLError
from dml.runtime.recording import Place
from dml.tensors import DML_BUFFER_TENSOR_DESC

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator


@dataclass(frozen=True)
class BoundRange:
    """``size`` bytes of a buffer that a dispatch uses. name: for messages. tensor: the tensor in it, if any."""

    name: str
    place: Place
    size: int
    tensor: DML_BUFFER_TENSOR_DESC | None = None

    def __str__(self) -> str:
        return f"{self.name} (bytes {self.place.offset} to {self.place.offset + self.size})"

    def overlaps(self, other: BoundRange) -> bool:
        start, others = self.place.offset, other.place.offset
        return self.place.buffer is other.place.buffer and start < others + other.size and others < start + self.size

    def is_same_region(self, other: BoundRange) -> bool:
        return self.place == other.place and self.size == other.size


def check_execution(
    compiled: CompiledOperator,
    inputs: Sequence[BoundRange],
    outputs: Sequence[BoundRange],
    temporary: BoundRange | None,
    persistent: BoundRange | None,
) -> None:
    """Raise DMLError if a dispatch of the operator cannot have these bindings."""
    for output in outputs:
        for one in inputs:
            if output.overlaps(one):
                refusal = _not_in_place(compiled, one, output)
                if refusal:
                    raise DMLError(f"{output} overlaps {one} of the same buffer: {refusal}")
    for one, other in combinations(outputs, 2):
        _require_apart(one, other)
    kept = [] if persistent is None else [persistent]
    scratch = [] if temporary is None else [temporary]
    for output in outputs:
        for one in (*kept, *scratch):
            _require_apart(output, one)
    for one in scratch:
        for read in (*inputs, *kept):
            _require_apart(one, read)


def check_initialization(inputs: Sequence[BoundRange], outputs: Sequence[BoundRange]) -> None:
    """Raise DMLError if an initializer cannot have these bindings. outputs: the persistent resources."""
    for output in outputs:
        for one in inputs:
            if output.place.buffer is one.place.buffer:
                raise DMLError(f"{output} and {one} are in one buffer: an initializer's inputs must be in others")
    for one, other in combinations(outputs, 2):
        _require_apart(one, other)


def _require_apart(one: BoundRange, other: BoundRange) -> None:
    if one.overlaps(other):
        raise DMLError(f"{one} overlaps {other} of the same buffer: written ranges must not overlap")


def _not_in_place(compiled: CompiledOperator, one: BoundRange, output: BoundRange) -> str:
    """Return why the output may not overwrite the input; "" if it may.

    DirectML's pages allow it for single operators, never for graphs, whose nodes may read an input after another node
    has written an output. They do not mention layouts: an element must have the place of its result, or another
    invocation would read it too late. ADAM_OPTIMIZER's page excepts its training step, which all elements read.
    """
    if not compiled.in_place:
        return f"{compiled.label} does not execute in place"
    if not one.is_same_region(output):
        return "in place, the regions must be identical"
    assert one.tensor is not None
    assert output.tensor is not None
    if one.name.endswith(".TrainingStepTensor") or _layout(one.tensor) != _layout(output.tensor):
        return "in place, each element must have the place of its result: sizes, strides and element size must match"
    return ""


def _layout(tensor: DML_BUFFER_TENSOR_DESC) -> tuple[int, list[tuple[int, int]]]:
    """Return an element's bits, and size and stride of each dimension of more than one element."""
    return tensor.element_bits, [pair for pair in zip(tensor.Sizes, tensor.strides, strict=True) if pair[0] > 1]
