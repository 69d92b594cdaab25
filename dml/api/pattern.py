"""Compiled graphs of traced sizes, and those that they are for plain ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dml.api.operator import CompiledOperator, Field
from dml.compiler.pattern import ProgramPattern
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.traced import TracedInt


class CompiledPattern:
    """A compiled graph whose tensors have TracedInts among their sizes."""

    def __init__(self, compiled: CompiledOperator) -> None:
        self._compiled = compiled
        self._program = ProgramPattern(compiled.program)

    @property
    def numbers(self) -> Iterator[int]:
        """Those that are not the same for all of its graphs."""
        yield from self._program.numbers
        for _, tensor in (*self._compiled.input_fields, *self._compiled.output_fields):
            if isinstance(tensor, DML_BUFFER_TENSOR_DESC):
                yield from (number for number in _numbers(tensor) if type(number) is TracedInt)

    def filled(self, numbers: Mapping[int, int]) -> CompiledOperator:
        """The graph with these for its ``numbers``."""
        compiled = self._compiled
        fields = [[_filled(field, numbers) for field in each] for each in (compiled.input_fields, compiled.output_fields)]
        return compiled.of_sizes(self._program.filled(numbers), *fields)


def _numbers(tensor: DML_BUFFER_TENSOR_DESC) -> list[int]:
    return [*tensor.Sizes, *(tensor.Strides or ()), tensor.TotalTensorSizeInBytes]


def _filled(field: Field, numbers: Mapping[int, int]) -> Field:
    name, tensor = field
    if not isinstance(tensor, DML_BUFFER_TENSOR_DESC) or not any(type(n) is TracedInt for n in _numbers(tensor)):
        return field
    get = numbers.get
    sizes = tuple([get(size, size) for size in tensor.Sizes])
    strides = None if tensor.Strides is None else tuple([get(stride, stride) for stride in tensor.Strides])
    total = get(tensor.TotalTensorSizeInBytes, tensor.TotalTensorSizeInBytes)
    alignment = tensor.GuaranteedBaseOffsetAlignment
    return name, DML_BUFFER_TENSOR_DESC(tensor.DataType, sizes, strides, total, alignment, tensor.Flags)
