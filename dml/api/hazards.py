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
    """``size`` bytes of a buffer that a dispatch uses. name: its name in messages. tensor: the tensor in it, if any."""

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
        for bound in inputs:
            if output.overlaps(bound):
                refusal = _not_in_place(compiled, bound, output)
                if refusal:
                    raise DMLError(f"{output} overlaps {bound} of the same buffer: {refusal}")
    for bound, other in combinations(outputs, 2):
        _require_apart(bound, other)
    kept = [] if persistent is None else [persistent]
    scratch = [] if temporary is None else [temporary]
    for output in outputs:
        for bound in (*kept, *scratch):
            _require_apart(output, bound)
    for bound in scratch:
        for read in (*inputs, *kept):
            _require_apart(bound, read)


def check_initialization(inputs: Sequence[BoundRange], outputs: Sequence[BoundRange]) -> None:
    """Raise DMLError if an initializer cannot have these bindings. outputs: the persistent resources."""
    for output in outputs:
        for bound in inputs:
            if output.place.buffer is bound.place.buffer:
                raise DMLError(
                    f"{output} and {bound} are in one buffer: an initializer's inputs must be in other buffers"
                )
    for bound, other in combinations(outputs, 2):
        _require_apart(bound, other)


def _require_apart(first: BoundRange, second: BoundRange) -> None:
    if first.overlaps(second):
        raise DMLError(f"{first} overlaps {second} of the same buffer: written ranges must not overlap")


def _not_in_place(compiled: CompiledOperator, source: BoundRange, output: BoundRange) -> str:
    """Return why the output may not overwrite the input; "" if it may.

    DirectML's pages allow it for single operators, never for graphs, whose nodes may read an input after another node
    has written an output. They do not mention layouts: an element and its result must share their place in memory, else
    another invocation may overwrite the element before it is read. ADAM_OPTIMIZER's page excepts its training step,
    which all elements read.
    """
    if not compiled.in_place:
        return f"{compiled.label} does not execute in place"
    if not source.is_same_region(output):
        return "in place, the regions must be identical"
    assert source.tensor is not None
    assert output.tensor is not None
    if source.name.endswith(".TrainingStepTensor") or _layout(source.tensor) != _layout(output.tensor):
        return "in place, each element must have the place of its result: sizes, strides and element size must match"
    return ""


def _layout(tensor: DML_BUFFER_TENSOR_DESC) -> tuple[int, list[tuple[int, int]]]:
    """Return an element's bits, and size and stride of each dimension of more than one element."""
    return tensor.element_bits, [pair for pair in zip(tensor.Sizes, tensor.strides, strict=True) if pair[0] > 1]
