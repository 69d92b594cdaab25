"""Compiled graphs of traced sizes, and those that they are for plain ones."""

from __future__ import annotations

from collections.abc import Iterator

from dml.api.operator import CompiledOperator
from dml.compiler.pattern import ProgramPattern
from dml.traced import Numbers, filled, numbers_in


class CompiledPattern:
    """A compiled graph whose tensors have TracedInts among their sizes."""

    def __init__(self, compiled: CompiledOperator) -> None:
        self._compiled = compiled
        self._program = ProgramPattern(compiled.program)

    @property
    def numbers(self) -> Iterator[int]:
        """Those that are not the same for all of its graphs."""
        yield from self._program.numbers
        yield from numbers_in([self._compiled.input_fields, self._compiled.output_fields])

    def filled(self, numbers: Numbers) -> CompiledOperator:
        """The graph with these for its ``numbers``."""
        compiled = self._compiled
        inputs, outputs = filled([compiled.input_fields, compiled.output_fields], numbers)
        return compiled.of_sizes(self._program.filled(numbers), inputs, outputs)
