"""Gathers: each output element is the input's at a position given by indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dml.compiler.apply import apply, raw
from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.movement.move import move_each
from dml.compiler.operators.movement.views import trailing
from dml.compiler.operators.quantization import dequantize_blocks
from dml.compiler.parts import Box, boxes, cut, narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Leaf
from dml.descriptors import movement as d
from dml.shapes import gather_kept, gathered_nd_sizes, gathered_sizes, with_size


def indexed(dimensions: Sequence[tuple[int, int]]) -> tuple[dict[str, Constant], dict[str, int], str]:
    """Return the (size, stride) of each indexed dimension as constants, and GLSL: TUPLE, extent(k) and pitch(k)."""
    extents: dict[str, Constant] = {f"EXTENT_{k}": size for k, (size, _) in enumerate(dimensions)}
    pitches = {f"PITCH_{k}": stride for k, (_, stride) in enumerate(dimensions)}
    count = len(dimensions)
    code = [f"const uint TUPLE = {count}u;", *(_cases(name, count) for name in ("extent", "pitch"))]
    return extents, pitches, "\n".join(code)


def box_code(box: Box) -> tuple[dict[str, Constant], str]:
    """Return constants and GLSL for ``box``, a range of positions in the indexed dimensions: part_start(k) and
    part_size(k), its start and its size along dimension k."""
    starts: dict[str, Constant] = {f"PART_START_{k}": start for k, (start, _) in enumerate(box)}
    part_sizes: dict[str, Constant] = {f"PART_SIZE_{k}": size for k, (_, size) in enumerate(box)}
    return (
        starts | part_sizes,
        f"\n#define IN_PARTS 1\n{_cases('part_start', len(box))}\n{_cases('part_size', len(box))}",
    )


def _cases(name: str, count: int) -> str:
    """Return GLSL uint name(k): the constant NAME_k."""
    cases = "".join(f"k == {k}u ? {name.upper()}_{k} : " for k in range(count - 1))
    return f"uint {name}(uint k) {{ return {cases}{name.upper()}_{count - 1}; }}"


def _gather(
    builder: ProgramBuilder,
    result: Operand,
    source: Operand,
    indices: Operand,
    dimensions: Sequence[tuple[int, int]],
    step: int,
) -> None:
    """Write to ``result`` the source's elements at the indices. All three operands have the output's sizes, with stride
    0 where they do not vary.

    dimensions: (size, stride) of the input's dimensions that an index tuple addresses. step: from one index of a tuple
    to the next.
    """
    if result.epilogue is None:  # an epilogue needs values, not raw bits
        result, source = raw(result), raw(source)
    result, source, indices = merge(result, source, indices)
    whole = _Lookup(result, source, indices, tuple(dimensions), step)
    for box, part in whole.parts(builder):
        extents, pitches, code = indexed(dimensions)
        if box is not None:
            more, text = box_code(box)
            extents, code = extents | more, code + text
        move_each(
            builder,
            "movement/gather.comp",
            part.result,
            {"source": part.source},
            {"indices": part.indices},
            pitches=pitches,
            constants={**extents, "STEP": step},
            code=code,
            reads_result=box is not None,
        )


@dataclass(frozen=True)
class _Lookup:
    """The arguments of ``_gather``, with merged dimensions."""

    result: Operand
    source: Operand
    indices: Operand
    dimensions: tuple[tuple[int, int], ...]
    step: int

    def parts(self, builder: ProgramBuilder) -> Iterator[tuple[Box | None, _Lookup]]:
        """Yield parts small enough to be bound.

        If indexed dimensions are cut, the box holds a part's range of positions: each part writes the elements whose
        indices are in the range and keeps the others.
        """
        rank = self.result.rank
        counts, pitches = zip(*self.dimensions, strict=True)
        zeros = (0,) * len(counts)
        # After the output's dimensions come the indexed dimensions, then one for the indices of a tuple.
        views = [
            self.result.view((*self.result.sizes, *counts, 1), (*self.result.strides, *zeros, 0)),
            self.source.view((*self.source.sizes, *counts, 1), (*self.source.strides, *pitches, 0)),
            self.indices.view((*self.indices.sizes, *counts, len(counts)), (*self.indices.strides, *zeros, self.step)),
        ]
        axes = range(rank + len(counts))
        extents = cut(views, builder.target.max_region, axes) or views[0].sizes[:-1]
        is_cut = extents[rank:] != counts
        for box in boxes(views[0].sizes[:-1], extents):
            result, source, indices = (narrow(view, axes, box) for view in views)
            sizes = result.sizes[:rank]
            part = replace(
                self,
                result=result.view(sizes, result.strides[:rank]),
                source=builder.crop(source).view(sizes, source.strides[:rank]),
                indices=builder.crop(indices).view(sizes, indices.strides[:rank]),
            )
            yield box[rank:] if is_cut else None, part


@lowering(d.DML_GATHER_OPERATOR_DESC, epilogue=Epilogues.ANY)
def gather(desc: d.DML_GATHER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, indices, result = builder["InputTensor"], builder["IndicesTensor"], builder["OutputTensor"]

    def gathered(source: Operand, to: Operand) -> None:
        gather_along(builder, to, source, indices, desc.Axis, desc.IndexDimensions)

    if source.data_type == desc.InputTensor.DataType:
        gathered(source, result)
        return
    # A graph left the input quantized (see dml/graph/blocks.py): only the gathered elements are dequantized.
    rows = builder.temporary(source.data_type, result.sizes)
    gathered(source, rows)
    per_block = []
    for stored in (builder.get("InputTensor.Scales"), builder.get("InputTensor.ZeroPoints")):
        if stored is not None:
            sizes = (*result.sizes[:-1], stored.sizes[-1])
            if stored.sizes[-2] == source.sizes[-2]:
                own = builder.temporary(stored.data_type, sizes)
                gathered(stored, own)
            else:
                own = stored.view(sizes, (*(0,) * (result.rank - 1), stored.strides[-1]))
            per_block.append(own)
    if per_block:
        dequantize_blocks(builder, result, rows, per_block)
    else:
        apply(builder, Leaf(0), result, [rows])


def gather_along(
    builder: ProgramBuilder, result: Operand, source: Operand, indices: Operand, axis: int, index_dimensions: int
) -> None:
    """Write to ``result`` the slices of ``source`` along an axis at the indices, whose last ``index_dimensions``
    dimensions take its place."""
    rank = result.rank
    lead, kept = gather_kept(source.sizes, indices.sizes, axis, index_dimensions)
    before, after = slice(lead, axis), slice(axis + 1, rank)
    inner = slice(rank - kept, rank)
    sizes = gathered_sizes(source.sizes, indices.sizes, axis, index_dimensions)
    source_view = source.view(sizes, (*source.strides[before], *(0,) * kept, *source.strides[after]))
    zeros = (0,) * (axis - lead), (0,) * (rank - axis - 1)
    indices_view = indices.view(sizes, (*zeros[0], *indices.strides[inner], *zeros[1]))
    dimension = (source.sizes[axis], source.strides[axis])
    _gather(builder, result, trailing(source_view, rank), trailing(indices_view, rank), [dimension], 0)


@lowering(d.DML_GATHER_ELEMENTS_OPERATOR_DESC, epilogue=Epilogues.ANY)
def gather_elements(desc: d.DML_GATHER_ELEMENTS_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, indices, result = builder["InputTensor"], builder["IndicesTensor"], builder["OutputTensor"]
    strides = with_size(source.strides, desc.Axis, 0)
    dimension = (source.sizes[desc.Axis], source.strides[desc.Axis])
    _gather(builder, result, source.view(result.sizes, strides), indices, [dimension], 0)


@lowering(d.DML_GATHER_ND_OPERATOR_DESC, d.DML_GATHER_ND1_OPERATOR_DESC, epilogue=Epilogues.ANY)
def gather_nd(desc: d.DML_GATHER_ND_OPERATOR_DESC | d.DML_GATHER_ND1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, indices, result = builder["InputTensor"], builder["IndicesTensor"], builder["OutputTensor"]
    batches = getattr(desc, "BatchDimensionCount", 0)
    source = trailing(source, desc.InputDimensionCount)
    indices = trailing(indices, desc.IndicesDimensionCount)
    tuples, coordinates = indices.sizes[:-1], indices.sizes[-1]
    rest = batches + coordinates
    sizes = gathered_nd_sizes(source.sizes, indices.sizes, batches)
    source_strides = (*source.strides[:batches], *(0,) * (len(tuples) - batches), *source.strides[rest:])
    source_view = source.view(sizes, source_strides)
    indices_view = indices.view(sizes, indices.strides[:-1] + (0,) * (source.rank - rest))
    dimensions = list(zip(source.sizes[batches:rest], source.strides[batches:rest], strict=True))
    _gather(
        builder,
        result,
        trailing(source_view, result.rank),
        trailing(indices_view, result.rank),
        dimensions,
        indices.strides[-1],
    )
