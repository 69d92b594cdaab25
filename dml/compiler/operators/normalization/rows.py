"""Normalization of rows in one dispatch, statistics and result, if rows are many or short enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dml.compiler.builder import ProgramBuilder, merge_axes
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.operators.normalization.rows_kernel import RowOperands, kernel_code
from dml.compiler.parts import cut, in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression
from dml.compiler.selection.lines import (
    WALKS,
    HeldRows,
    held_rows,
    holds_vectors,
    normalization_fits_one_dispatch,
    normalization_sharing,
)

KERNEL, HELD_KERNEL = "normalization/rows.comp", "normalization/held.comp"


@dataclass(frozen=True)
class Normalization:
    """A normalization and what follows it. finish: the result as an expression of the normalized element (leaf 0) and
    the parameters (leaves 1, 2, ...).

    parameters, statistics: operands by name that broadcast to the source's sizes; the kernel reads parameters, and
    writes the statistics ``mean`` and ``variance``, if any, once per row.
    """

    source: Operand
    result: Operand
    axes: Sequence[int]
    epsilon: float
    use_mean: bool
    use_variance: bool
    finish: Expression
    parameters: Mapping[str, Operand]
    statistics: Mapping[str, Operand] = field(default_factory=dict)


def normalize_rows(builder: ProgramBuilder, normalization: Normalization) -> bool:
    """Add the dispatch; return False if the rows need reductions that split them."""
    whole = _operands(normalization)
    views, outer, most = tuple(whole.named.values()), range(whole.kept), builder.target.max_region
    held = (
        None
        if whole.rows.interleaved
        else held_rows(builder.target, whole.rows.segments * whole.x.sizes[-1], whole.unit, segmented=whole.segmented)
    )
    if held is None and not normalization_fits_one_dispatch(builder.target, whole.rows):
        return False
    if cut(views, most, outer) is None:
        return False
    for part in in_parts(views, most, outer):
        operands = replace(whole, named=dict(zip(whole.named, part, strict=True)))
        if held is None:
            _dispatch(builder, normalization, operands)
        else:
            _dispatch_held(builder, normalization, operands, held)
    return True


def _operands(normalization: Normalization) -> RowOperands:
    """View all operands as (kept dimensions..., reduced dimensions...), each part merged, innermost in memory last."""
    x = normalization.source
    full = {"y": normalization.result, "x": x, **normalization.parameters, **normalization.statistics}
    operands = [operand.broadcast(x.sizes) for operand in full.values()]
    kept, outer = merge_axes(operands, [axis for axis in range(x.rank) if axis not in normalization.axes])
    reduced, inner = merge_axes(operands, sorted(set(normalization.axes), key=lambda axis: -x.strides[axis]))
    views = (operand.view((*kept, *reduced), (*o, *i)) for operand, o, i in zip(operands, outer, inner, strict=True))
    return RowOperands(dict(zip(full, views, strict=True)), tuple(normalization.parameters), len(kept))


def _bound(normalization: Normalization, operands: RowOperands) -> dict[str, Bound]:
    vector = operands.unit > 1
    return {
        "y": write(operands.y, vector=vector),
        "x": read(operands.x, vector=vector),
        **{
            name: read(operands.named[name], vector=vector and name in operands.varying) for name in operands.parameters
        },
        **{name: write(operands.named[name]) for name in normalization.statistics},
    }


def _dispatch_held(
    builder: ProgramBuilder, normalization: Normalization, operands: RowOperands, held: HeldRows
) -> None:
    packed = operands.vectors > 0 and holds_vectors(builder.target, DATA_TYPES[operands.x.data_type].bits)
    code, constants = kernel_code(operands, normalization.finish, held=True, packed=packed)
    builder.dispatch(
        HELD_KERNEL,
        _bound(normalization, operands),
        count=operands.rows.rows * held.lanes,
        workgroup=held.workgroup,
        constants={
            "ROWS": operands.rows.rows,
            "SEGMENTS": operands.rows.segments,
            "LENGTH": operands.x.sizes[-1],
            "EPSILON": normalization.epsilon,
            **constants,
        },
        defines={
            "SEGMENTED": int(operands.segmented),
            "LANES": held.lanes,
            "STEPS": held.steps,
            "SUBGROUP": held.subgroup,
            "PACKED": int(packed),
            "VECTORS": operands.vectors,
            "UNIT": operands.unit,
            "USE_MEAN": int(normalization.use_mean),
            "USE_VARIANCE": int(normalization.use_variance),
        },
        code=code,
        steps=held.steps,
        each=operands.unit,
    )


def _dispatch(builder: ProgramBuilder, normalization: Normalization, operands: RowOperands) -> None:
    rows = operands.rows
    sharing = normalization_sharing(builder.target, rows)
    iterations = WALKS * rows.iterations(sharing.lanes)
    code, constants = kernel_code(operands, normalization.finish)
    builder.dispatch(
        KERNEL,
        _bound(normalization, operands),
        count=rows.rows * sharing.lanes,
        workgroup=sharing.workgroup,
        constants={
            "ROWS": rows.rows,
            "SEGMENTS": rows.segments,
            "LENGTH": operands.x.sizes[-1],
            "EPSILON": normalization.epsilon,
            **constants,
        },
        defines={
            "LANES": sharing.lanes,
            "STAGGER": f"{sharing.stagger}u",
            "TOGETHER": sharing.together,
            "UNIT": operands.unit,
            "USE_MEAN": int(normalization.use_mean),
            "USE_VARIANCE": int(normalization.use_variance),
        },
        code=code,
        steps=iterations,
        each=operands.unit,
    )
