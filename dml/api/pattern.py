"""Compiled graphs with traced sizes, and the graphs made from them for plain sizes."""

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
        """Yield the traced numbers of the program and of its bindings' fields."""
        yield from self._program.numbers
        yield from numbers_in([self._compiled.input_fields, self._compiled.output_fields])

    def filled(self, numbers: Numbers) -> CompiledOperator:
        """Return the graph for these ``numbers``."""
        compiled = self._compiled
        inputs, outputs = filled([compiled.input_fields, compiled.output_fields], numbers)
        return compiled.of_sizes(self._program.filled(numbers), inputs, outputs)
