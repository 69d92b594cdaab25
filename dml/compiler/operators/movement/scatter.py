"""Scatters: the input with updates written at positions given by indices.

If several updates have the same position, the last in row-major order wins, on every device: a first pass stores the
index of the last update of each position, a second pass writes the output element by element.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.kernels.prelude import read, update
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.gather import indexed
from dml.compiler.operators.movement.move import move_each
from dml.compiler.operators.movement.views import fill, raw, trailing
from dml.compiler.program import Operand
from dml.descriptors import movement as d
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides


def _mark(
    builder: ProgramBuilder,
    winners: Operand,
    numbers: tuple[int, ...],
    indices: Operand,
    dimensions: Sequence[tuple[int, int]],
    step: int,
) -> None:
    """Write 1 + the index of the last update of each position to ``winners`` (cleared first); 0 where there is none.

    winners, indices: viewed over the updates' sizes. numbers: strides of the update index over those sizes.
    """
    winners, numbered, indices = merge(winners, winners.view(winners.sizes, numbers, -winners.base), indices)
    extents, pitches, code = indexed(dimensions)
    terms = " + ".join(f"c[{axis}] * NUMBER_{axis}" for axis in range(winners.rank))
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
    dimensions: Sequence[tuple[int, int]],
) -> None:
    """Write the output: updates where ``winners`` has one, else the source. All operands have the output's sizes.

    dimensions: (size, stride) of the dimensions that an update's index counts.
    """
    result, source, winners, updates = merge(raw(result), raw(source), winners, raw(updates))
    extents, pitches, code = indexed(dimensions)
    move_each(
        builder,
        "movement/scatter_write.comp",
        result,
        {"source": source, "updates": updates},
        {"winners": winners},
        pitches=pitches,
        constants=extents,
        code=code,
        split_axes=range(result.rank),
    )


@lowering(d.DML_SCATTER_OPERATOR_DESC)
def scatter(desc: d.DML_SCATTER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, indices, updates = builder["InputTensor"], builder["IndicesTensor"], builder["UpdatesTensor"]
    result, axis = builder["OutputTensor"], desc.Axis

    def without_axis(operand: Operand, sizes: tuple[int, ...]) -> Operand:
        return operand.view(sizes, (*operand.strides[:axis], 0, *operand.strides[axis + 1 :]))

    winners, updates = builder.crop(builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, result.sizes)), builder.crop(updates)
    fill(builder, winners, 0)
    # Updates of one position differ only in their coordinate along the axis, so that is their index.
    numbers = tuple(int(dimension == axis) for dimension in range(result.rank))
    axis_of_winners = (result.sizes[axis], winners.strides[axis])
    _mark(builder, without_axis(winners, indices.sizes), numbers, indices, [axis_of_winners], 0)
    axis_of_updates = (updates.sizes[axis], updates.strides[axis])
    _write(builder, result, source, winners, without_axis(updates, result.sizes), [axis_of_updates])


@lowering(d.DML_SCATTER_ND_OPERATOR_DESC)
def scatter_nd(desc: d.DML_SCATTER_ND_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, indices, updates = builder["InputTensor"], builder["IndicesTensor"], builder["UpdatesTensor"]
    result = builder["OutputTensor"]
    indices = trailing(indices, desc.IndicesDimensionCount)
    tuples, coordinates = indices.sizes[:-1], indices.sizes[-1]
    # A tuple addresses a position in the input's first dimensions; the block there spans the others.
    blocks = desc.InputDimensionCount - coordinates
    places = trailing(source, desc.InputDimensionCount).sizes[:coordinates]
    winners = builder.crop(builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, places))
    fill(builder, winners, 0)
    flat = tuples or (1,)
    _mark(
        builder,
        winners.view(flat, (0,) * len(flat)),
        packed_strides(flat),
        indices.view(flat, indices.strides[:-1] or (0,)),
        list(zip(places, winners.strides, strict=True)),
        indices.strides[-1],
    )
    updates = builder.crop(trailing(updates, len(tuples) + blocks))
    over_blocks = winners.view(places + result.sizes[result.rank - blocks :], winners.strides + (0,) * blocks)
    block_of = updates.view(over_blocks.sizes, (0,) * coordinates + updates.strides[len(tuples) :])
    _write(
        builder,
        result,
        source,
        trailing(over_blocks, result.rank),
        trailing(block_of, result.rank),
        list(zip(tuples, updates.strides, strict=False)) or [(1, 0)],
    )
