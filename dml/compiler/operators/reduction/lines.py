"""Tensors as lines along one of their dimensions, for scans and selections."""

from __future__ import annotations

from dml.compiler.builder import merge_around
from dml.compiler.program import Operand


def lines_along(axis: int, *operands: Operand) -> tuple[Operand, ...]:
    """View the operands as (lines..., length), with the lines' dimensions merged; at least one line dimension remains.

    The operands have equal sizes except along ``axis``, where each keeps its own.
    """
    merged_axis, merged = merge_around(axis, *operands)
    return tuple(_last(operand, merged_axis) for operand in merged)


def _last(operand: Operand, axis: int) -> Operand:
    if operand.rank == 1:
        return operand.view((1, *operand.sizes), (0, *operand.strides))
    return operand.permuted([d for d in range(operand.rank) if d != axis] + [axis])
