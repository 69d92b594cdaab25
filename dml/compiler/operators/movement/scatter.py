"""Scatters: the input with updates written at positions given by indices.

If several updates have the same position, the last in row-major order wins, on every device: a first pass stores the
index of the last update of each position, a second pass writes the output element by element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dml.compiler.apply import raw
from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.kernels.prelude import read, update
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.gather import box_code, indexed
from dml.compiler.operators.movement.move import move_each
from dml.compiler.operators.movement.views import fill, trailing
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.descriptors import movement as d
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.shapes import with_size
from dml.tensors import packed_strides


@dataclass(frozen=True)
class _Scatter:
    """A scatter, in parts of the result that fit a binding.

    result, source, updates: over the result's sizes; the updates do not vary along ``addressed``, the dimensions that
    indices address. indices: over the tuples' sizes; those of a tuple are ``step`` apart. aligned: dimensions that
    tuples and result share. numbers: strides, over the tuples' sizes, with which an update's number is computed.
    dimensions: (size, stride) of the updates' dimensions that their numbers count.
    """

    builder: ProgramBuilder
    result: Operand
    source: Operand
    updates: Operand
    indices: Operand
    addressed: tuple[int, ...]
    aligned: tuple[int, ...]
    step: int
    numbers: tuple[int, ...]
    dimensions: tuple[tuple[int, int], ...]

    def lower(self) -> None:
        sizes = self.result.sizes
        operands = [self.result, self.source, words(sizes, self._position_strides(sizes))]
        extents = cut(operands, self.builder.target.max_region, range(len(sizes))) or sizes
        for box in boxes(sizes, extents):
            held = tuple(size for _, size in box)
            strides = self._position_strides(held)
            count = math.prod(size for size, stride in zip(held, strides, strict=True) if stride)
            winners = self.builder.crop(self.builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (count,)))
            fill(self.builder, winners, 0)
            winners = winners.view(held, strides)
            self._mark_all(winners, box)
            self._write_all(winners, box)

    def _position_strides(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Return packed strides over the positions; 0 along the other dimensions."""
        varying = {*self.addressed, *self.aligned}
        strides = packed_strides([size if axis in varying else 1 for axis, size in enumerate(sizes)])
        return tuple(stride if axis in varying else 0 for axis, stride in enumerate(strides))

    def _mark_all(self, winners: Operand, box: Box) -> None:
        """Mark the positions of a part of the result with their last updates."""
        tuples = narrow(self.indices, self.aligned, tuple(box[axis] for axis in self.aligned))
        over_tuples = tuple(winners.strides[axis] if axis in self.aligned else 0 for axis in range(tuples.rank))
        positions = [(self.result.sizes[axis], winners.strides[axis]) for axis in self.addressed]
        own = tuple(box[axis] for axis in self.addressed)
        is_cut = any(held < size for (_, held), (size, _) in zip(own, positions, strict=True))
        # A dimension for the indices of a tuple, which are bound together.
        view = tuples.view((*tuples.sizes, len(own)), (*tuples.strides, self.step))
        axes = range(tuples.rank)
        extents = cut([view], self.builder.target.max_region, axes) or tuples.sizes
        for part in boxes(tuples.sizes, extents):
            indices = self.builder.crop(narrow(view, axes, part))
            counts = indices.sizes[:-1]
            _mark(
                self.builder,
                narrow(winners.view(tuples.sizes, over_tuples), axes, part),
                self.numbers,
                sum(start * stride for (start, _), stride in zip(part, self.numbers, strict=True)),
                indices.view(counts, indices.strides[:-1]),
                positions,
                self.step,
                own if is_cut else None,
            )

    def _write_all(self, winners: Operand, box: Box) -> None:
        """Write a part of the result; in passes over parts of the updates if these are larger than a binding."""
        rank = len(box)
        result, source, updates = (narrow(each, range(rank), box) for each in (self.result, self.source, self.updates))
        counts, pitches = zip(*self.dimensions, strict=True)
        # After the result's dimensions come those that the updates' numbers count.
        operands = [result, source, winners]
        views = [each.view((*each.sizes, *counts), (*each.strides, *(0,) * len(counts))) for each in operands]
        views.append(updates.view((*updates.sizes, *counts), (*updates.strides, *pitches)))
        axes = range(rank + len(counts))
        extents = cut(views, self.builder.target.max_region, axes) or views[0].sizes
        for part in boxes(views[0].sizes, extents):
            *others, updates = (narrow(view, axes, part) for view in views)
            _write(
                self.builder,
                *(each.view(each.sizes[:rank], each.strides[:rank]) for each in (*others, self.builder.crop(updates))),
                dimensions=self.dimensions,
                box=part[rank:] if extents[rank:] != counts else None,
            )


def _mark(
    builder: ProgramBuilder,
    winners: Operand,
    numbers: tuple[int, ...],
    first: int,
    indices: Operand,
    dimensions: Sequence[tuple[int, int]],
    step: int,
    box: Box | None,
) -> None:
    """Write to ``winners``, for each position, 1 + the number of its last update, or 0 if it has none. The previous
    contents are cleared.

    winners, indices: viewed over the updates' sizes. numbers: strides that give an update's number from its coordinates
    in those sizes. first: the number of the first update. box: the range of positions in ``winners``; None if it has
    all.
    """
    winners, numbered, indices = merge(winners, winners.view(winners.sizes, numbers, -winners.base), indices)
    extents, pitches, code = indexed(dimensions)
    terms = " + ".join(f"c[{axis}] * NUMBER_{axis}" for axis in range(winners.rank))
    if first:
        terms += " + FIRST_NUMBER"
        extents["FIRST_NUMBER"] = first
    if box is not None:
        more, text = box_code(box)
        extents, code = extents | more, code + text
    builder.dispatch(
        "movement/scatter_mark.comp",
        {"winners": update(winners), "indices": read(indices)},
        space=winners.sizes,
        constants={
            **extents,
            **pitches,
            "STEP": step,
            **{f"NUMBER_{axis}": stride for axis, stride in enumerate(numbered.strides)},
        },
        code=f"{code}\nuint number(uint c[{winners.rank}]) {{ return {terms}; }}",
    )


def _write(
    builder: ProgramBuilder,
    result: Operand,
    source: Operand,
    winners: Operand,
    updates: Operand,
    *,
    dimensions: Sequence[tuple[int, int]],
    box: Box | None,
) -> None:
    """Write the output: updates where ``winners`` has one, else the source. All operands have the output's sizes.

    dimensions: (size, stride) of the dimensions that an update's index counts. box: the part of these dimensions that
    ``updates`` has, and whose elements are written; None if it has all. Other elements keep their values, except that
    the first part also writes the source's elements.
    """
    result, source, winners, updates = merge(raw(result), raw(source), winners, raw(updates))
    extents, pitches, code = indexed(dimensions)
    if box is not None:
        more, text = box_code(box)
        extents, code = extents | more | {"KEEPS": int(any(start for start, _ in box))}, code + text
    move_each(
        builder,
        "movement/scatter_write.comp",
        result,
        {"source": source, "updates": updates},
        {"winners": winners},
        pitches=pitches,
        constants=extents,
        code=code,
        reads_result=box is not None,
    )


@lowering(d.DML_SCATTER_OPERATOR_DESC)
def scatter(desc: d.DML_SCATTER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    indices, updates, result, axis = (
        builder["IndicesTensor"],
        builder["UpdatesTensor"],
        builder["OutputTensor"],
        desc.Axis,
    )
    _Scatter(
        builder,
        result,
        builder["InputTensor"],
        updates.view(result.sizes, with_size(updates.strides, axis, 0)),
        indices,
        addressed=(axis,),
        aligned=tuple(other for other in range(result.rank) if other != axis),
        step=0,
        # Updates of one position differ only in their coordinate along the axis, so that is their index.
        numbers=tuple(int(dimension == axis) for dimension in range(result.rank)),
        dimensions=((updates.sizes[axis], updates.strides[axis]),),
    ).lower()


@lowering(d.DML_SCATTER_ND_OPERATOR_DESC)
def scatter_nd(desc: d.DML_SCATTER_ND_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """A tuple addresses a position in the input's first dimensions; the block there spans the others."""
    result = builder["OutputTensor"]
    first, rank = result.rank - desc.InputDimensionCount, desc.InputDimensionCount
    indices = trailing(builder["IndicesTensor"], desc.IndicesDimensionCount)
    tuples, coordinates = indices.sizes[:-1], indices.sizes[-1]
    updates = trailing(builder["UpdatesTensor"], len(tuples) + rank - coordinates)
    flat = tuples or (1,)
    _Scatter(
        builder,
        result,
        builder["InputTensor"],
        updates.view(result.sizes, (0,) * (first + coordinates) + updates.strides[len(tuples) :]),
        indices.view(flat, indices.strides[:-1] or (0,)),
        addressed=tuple(range(first, first + coordinates)),
        aligned=(),
        step=indices.strides[-1],
        numbers=packed_strides(flat),
        dimensions=tuple(zip(tuples, updates.strides, strict=False)) or ((1, 0),),
    ).lower()
