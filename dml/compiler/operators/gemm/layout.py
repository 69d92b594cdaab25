"""Layouts of matrices: transposes, reads of four elements at a time, and copies that allow them."""

from __future__ import annotations

from collections.abc import Sequence

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.program import Operand
from dml.compiler.scalar import Leaf
from dml.compiler.selection.gemm import columns_collide, is_worth_packing
from dml.compiler.selection.stored_weights import keeps_wider
from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_DATA_TYPE_FLOAT32


def transposed(matrix: Operand) -> Operand:
    """Transpose the matrix: another view of the same elements."""
    sizes, strides = matrix.sizes, matrix.strides
    return matrix.view((*sizes[:-2], sizes[-1], sizes[-2]), (*strides[:-2], strides[-1], strides[-2]))


def with_aligned_rows(
    stage: ProgramBuilder, data_type: DML_TENSOR_DATA_TYPE, sizes: Sequence[int], count: int = 4
) -> Operand:
    """Return a temporary whose rows begin at multiples of ``count`` elements, so that ``count`` elements can be read at
    once."""
    *outer, columns = sizes
    whole = stage.temporary(data_type, (*outer, -(-columns // count) * count))
    return whole.view(tuple(sizes), whole.strides)


def vector_direction(operand: Operand, *, store: bool = False, count: int = 4) -> str | None:
    """Return the direction, "row" or "column", along which ``count`` elements can be read or stored at once; else None.

    The elements must be contiguous, and aligned to their number. Reads may pass the end of a row, never that of the
    region.
    """
    *batch, row, column = operand.strides
    *counts, rows, columns = operand.sizes
    last = operand.base + sum((size - 1) * stride for size, stride in zip(operand.sizes, operand.strides, strict=True))
    elements = operand.region.size * 8 // DATA_TYPES[operand.data_type].bits
    outer = [stride for stride, size in zip(batch, counts, strict=True) if size > 1] + [operand.base]
    if DATA_TYPES[operand.data_type].bits < 16 or last // count * count + count > elements:
        return None
    if column == 1 and not any(step % count for step in (*outer, row if rows > 1 else 0, columns if store else 0)):
        return "row"
    if (
        row == 1
        and rows >= count
        and not store
        and not any(step % count for step in (*outer, column if columns > 1 else 0))
    ):
        return "column"
    return None


def readable(builder: ProgramBuilder, operand: Operand, uses: int) -> Operand:
    """Return the operand, or a copy in 32-bit words read four elements at a time if each is used often enough.

    A wider copy of a constant is kept only if it is small; else it is made in each run.
    """
    whole_words = DATA_TYPES[operand.data_type].bits == 32
    keeps = whole_words or keeps_wider("product", operand.region.size)
    is_worth = is_worth_packing(builder.target, uses, known=operand.is_static and keeps)
    if not is_worth or (whole_words and vector_direction(operand) is not None):
        return operand
    if operand.strides[-1] > operand.strides[-2]:
        return transposed(readable(builder, transposed(operand), uses))
    data_type = operand.data_type if whole_words else DML_TENSOR_DATA_TYPE_FLOAT32
    return _copied(builder.prepare(operand) if keeps else builder, operand, data_type, count=4)


def without_collisions(builder: ProgramBuilder, b: Operand, uses: int) -> Operand:
    """Return b, or a copy with contiguous rows if its contiguous columns collide in a CPU's cache."""
    stride, known = b.strides[-1], b.region.size if b.is_static else None
    is_column = DATA_TYPES[b.data_type].bits == 32 and vector_direction(b) == "column"
    if not is_column or not columns_collide(builder.target, stride, uses, known):
        return b
    return _copied(builder.prepare(b), b, b.data_type, count=4)


def in_rows(builder: ProgramBuilder, operand: Operand) -> Operand:
    """Return the operand, or a copy in FLOAT32, with the elements of a row contiguous, for reads of four at a time."""
    if operand.data_type == DML_TENSOR_DATA_TYPE_FLOAT32 and vector_direction(operand) == "row":
        return operand
    return _copied(builder.prepare(operand), operand, DML_TENSOR_DATA_TYPE_FLOAT32, count=4)


def in_eights(builder: ProgramBuilder, operand: Operand) -> Operand:
    """Return the operand, or a copy in its data type that can be read in vectors of eight elements."""
    if vector_direction(operand, count=8) is not None:
        return operand
    if operand.strides[-1] > operand.strides[-2]:
        return transposed(in_eights(builder, transposed(operand)))
    return _copied(builder.prepare(operand), operand, operand.data_type, count=8)


def _copied(stage: ProgramBuilder, operand: Operand, data_type: DML_TENSOR_DATA_TYPE, *, count: int) -> Operand:
    """Return a copy in rows for reads of ``count`` elements; elements that repeat along a dimension are copied once."""
    distinct = operand.distinct
    copy = with_aligned_rows(stage, data_type, distinct.sizes, count=count)
    apply(stage, Leaf(0), copy, [distinct])
    return copy.broadcast(operand.sizes)
