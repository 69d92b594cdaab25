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


def normalize_rows(builder: ProgramBuilder, what: Normalization) -> bool:
    """Add the dispatch; return False if the rows need reductions that split them."""
    whole = _operands(what)
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
        of = replace(whole, named=dict(zip(whole.named, part, strict=True)))
        if held is None:
            _dispatch(builder, what, of)
        else:
            _dispatch_held(builder, what, of, held)
    return True


def _operands(what: Normalization) -> RowOperands:
    """View all operands as (kept dimensions..., reduced dimensions...), each part merged, innermost in memory last."""
    x = what.source
    full = {"y": what.result, "x": x, **what.parameters, **what.statistics}
    operands = [operand.broadcast(x.sizes) for operand in full.values()]
    kept, outer = merge_axes(operands, [axis for axis in range(x.rank) if axis not in what.axes])
    reduced, inner = merge_axes(operands, sorted(set(what.axes), key=lambda axis: -x.strides[axis]))
    views = (operand.view((*kept, *reduced), (*o, *i)) for operand, o, i in zip(operands, outer, inner, strict=True))
    return RowOperands(dict(zip(full, views, strict=True)), tuple(what.parameters), len(kept))


def _bound(what: Normalization, of: RowOperands) -> dict[str, Bound]:
    vector = of.unit > 1
    return {
        "y": write(of.y, vector=vector),
        "x": read(of.x, vector=vector),
        **{name: read(of.named[name], vector=vector and name in of.varying) for name in of.parameters},
        **{name: write(of.named[name]) for name in what.statistics},
    }


def _dispatch_held(builder: ProgramBuilder, what: Normalization, of: RowOperands, held: HeldRows) -> None:
    packed = of.vectors > 0 and holds_vectors(builder.target, DATA_TYPES[of.x.data_type].bits)
    code, constants = kernel_code(of, what.finish, held=True, packed=packed)
    builder.dispatch(
        HELD_KERNEL,
        _bound(what, of),
        count=of.rows.rows * held.lanes,
        workgroup=held.workgroup,
        constants={
            "ROWS": of.rows.rows,
            "SEGMENTS": of.rows.segments,
            "LENGTH": of.x.sizes[-1],
            "EPSILON": what.epsilon,
            **constants,
        },
        defines={
            "SEGMENTED": int(of.segmented),
            "LANES": held.lanes,
            "STEPS": held.steps,
            "SUBGROUP": held.subgroup,
            "PACKED": int(packed),
            "VECTORS": of.vectors,
            "UNIT": of.unit,
            "USE_MEAN": int(what.use_mean),
            "USE_VARIANCE": int(what.use_variance),
        },
        code=code,
        steps=held.steps,
        each=of.unit,
    )


def _dispatch(builder: ProgramBuilder, what: Normalization, of: RowOperands) -> None:
    rows = of.rows
    sharing = normalization_sharing(builder.target, rows)
    iterations = WALKS * rows.iterations(sharing.lanes)
    code, constants = kernel_code(of, what.finish)
    builder.dispatch(
        KERNEL,
        _bound(what, of),
        count=rows.rows * sharing.lanes,
        workgroup=sharing.workgroup,
        constants={
            "ROWS": rows.rows,
            "SEGMENTS": rows.segments,
            "LENGTH": of.x.sizes[-1],
            "EPSILON": what.epsilon,
            **constants,
        },
        defines={
            "LANES": sharing.lanes,
            "STAGGER": f"{sharing.stagger}u",
            "TOGETHER": sharing.together,
            "UNIT": of.unit,
            "USE_MEAN": int(what.use_mean),
            "USE_VARIANCE": int(what.use_variance),
        },
        code=code,
        steps=iterations,
        each=of.unit,
    )
