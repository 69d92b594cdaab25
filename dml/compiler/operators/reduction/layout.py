"""Operand layouts of a reduction: the kept dimensions, and the elements per step of its kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dml.compiler.builder import merge_axes
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.lanes import adjacent
from dml.compiler.program import Operand
from dml.compiler.selection.devices import keeps
from dml.compiler.selection.lines import reduction_takes_vectors
from dml.compiler.target import Target


@dataclass(frozen=True)
class ReductionLayout:
    """Inputs and results as ``kept_first`` makes them: (kept dimensions, reduced dimensions).

    kept: number of kept dimensions. rows: indices of inputs that do not vary along the reduced dimensions. wide, unit:
    adjacent results, and adjacent reduced elements, per step of an invocation; one of them is 1.
    """

    inputs: tuple[Operand, ...]
    results: tuple[Operand, ...]
    kept: int
    rows: frozenset[int]
    wide: int
    unit: int

    @classmethod
    def of(
        cls, target: Target, inputs: Sequence[Operand], results: Sequence[Operand], kept: int, *, words: int
    ) -> ReductionLayout:
        """Return the layout. words: of an accumulator."""
        rows = frozenset(i for i in range(1, len(inputs)) if not any(inputs[i].strides[kept:]))
        full = [operand for i, operand in enumerate(inputs) if i not in rows]
        unit = adjacent(full, inputs[0].rank - 1) if reduction_takes_vectors(target, inputs[0].count) else 1
        wide = adjacent(full, kept - 1) if unit == 1 else 1
        if not keeps(target, wide * max(len(rows), words)):
            wide = 1
        return cls(tuple(inputs), tuple(results), kept, rows, wide, unit)

    @property
    def rank(self) -> int:
        return self.inputs[0].rank

    @property
    def kept_sizes(self) -> tuple[int, ...]:
        return self.inputs[0].sizes[: self.kept]

    @property
    def reduced_sizes(self) -> tuple[int, ...]:
        return self.inputs[0].sizes[self.kept :]

    @property
    def count(self) -> int:
        """Elements per result."""
        return math.prod(self.kept_sizes)

    @property
    def steps(self) -> int:
        """Number of steps of a reduction to one result."""
        return math.prod(self.reduced_sizes) // self.unit

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of adjacent results' elements, which are contiguous in memory; 0 if they are not."""
        first = self.inputs[0]
        if self.wide == 1 and not 0 < first.strides[self.kept - 1] < first.strides[-1]:
            return 0
        return first.sizes[self.kept - 1] * DATA_TYPES[first.data_type].bits // 8


def kept_first(
    inputs: Sequence[Operand], axes: Sequence[int], results: Sequence[Operand], *, in_order: bool
) -> tuple[list[Operand], int]:
    """Return inputs and results as (kept dimensions, reduced dimensions), merged, and the number of kept dimensions.

    in_order: keep the reduced elements in row-major order; otherwise the innermost in memory come last.
    """
    sizes = inputs[0].sizes
    operands = [operand.broadcast(sizes) for operand in inputs]
    kept_axes = [d for d in range(len(sizes)) if d not in axes]
    reduced_axes = sorted(set(axes))
    if not in_order:
        reduced_axes.sort(key=lambda d: -operands[0].strides[d])
    kept, kept_strides = merge_axes([*operands, *results], kept_axes)
    reduced, reduced_strides = merge_axes(operands, reduced_axes)
    viewed = [
        operand.view((*kept, *reduced), (*outer, *inner))
        for operand, outer, inner in zip(operands, kept_strides, reduced_strides, strict=False)
    ]
    stored = [
        operand.view((*kept, *(1 for _ in reduced)), (*outer, *(0 for _ in reduced)))
        for operand, outer in zip(results, kept_strides[len(operands) :], strict=True)
    ]
    return [*viewed, *stored], len(kept)
