"""Running sums and products along an axis, of any length."""

from __future__ import annotations

import math

from dml import enums
from dml.compiler.apply import apply, copy
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.lanes import adjacent
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import part
from dml.compiler.operators.reduction.lines import lines_along
from dml.compiler.operators.reduction.monoids import Monoid, product_of, sum_of
from dml.compiler.parts import boxes, cut, in_parts, narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import node
from dml.compiler.selection.lines import scan_sharing
from dml.descriptors.reduction import DML_CUMULATIVE_PRODUCT_OPERATOR_DESC, DML_CUMULATIVE_SUMMATION_OPERATOR_DESC

KERNEL = "reduction/scan.comp"
_TOTALS = {
    "float": enums.DML_TENSOR_DATA_TYPE_FLOAT32,
    "int": enums.DML_TENSOR_DATA_TYPE_INT32,
    "uint": enums.DML_TENSOR_DATA_TYPE_UINT32,
    "int64": enums.DML_TENSOR_DATA_TYPE_INT64,
    "uint64": enums.DML_TENSOR_DATA_TYPE_UINT64,
}


def scan(
    builder: ProgramBuilder,
    monoid: Monoid,
    source: Operand,
    result: Operand,
    axis: int,
    *,
    exclusive: bool = False,
    backwards: bool = False,
) -> None:
    """Compute the running combination along ``axis``. ``result`` has the source's sizes and kind, and may be the same
    memory.

    exclusive: each result leaves out its own element. backwards: starts at the last element. Float sums are
    compensated.
    """
    lines = lines_along(axis, source, result)
    most, outer = builder.target.max_region, range(lines[0].rank - 1)
    extents = None if cut(lines, most, outer) else cut(lines, most, range(lines[0].rank))
    if extents is None:
        for x, y in in_parts(lines, most, outer):
            _scan(builder, monoid, x, y, None, exclusive=exclusive, backwards=backwards)
        return
    for box in boxes(lines[0].sizes[:-1], extents[:-1]):
        x, y = (narrow(operand, outer, box) for operand in lines)
        _scan_in_parts(builder, monoid, x, y, extents[-1], exclusive=exclusive, backwards=backwards)


def _scan_in_parts(
    builder: ProgramBuilder, monoid: Monoid, x: Operand, y: Operand, step: int, *, exclusive: bool, backwards: bool
) -> None:
    """Scan along the last dimension, ``step`` elements at a time; each part continues the previous ones."""
    length, axis = x.sizes[-1], x.rank - 1
    before: Operand | None = builder.temporary(_TOTALS[DATA_TYPES[x.data_type].kind], (math.prod(x.sizes[:-1]), 1))
    assert before is not None
    apply(builder, node(monoid.identity, glsl=monoid.glsl), before, [])
    starts = range(0, length, step)
    for start in reversed(starts) if backwards else starts:
        own_x, own_y = (part(each, axis, start, min(step, length - start)) for each in (x, y))
        before = _scan(builder, monoid, own_x, own_y, before, exclusive=exclusive, backwards=backwards)


def _scan(
    builder: ProgramBuilder,
    monoid: Monoid,
    x: Operand,
    y: Operand,
    before: Operand | None,
    *,
    exclusive: bool,
    backwards: bool,
) -> Operand | None:
    """Scan along the last dimension, after earlier elements whose combination is ``before``, {line, 1}, or None.

    Return the combination of all elements, if ``before`` is given.
    """
    length, lines = x.sizes[-1], math.prod(x.sizes[:-1])
    interleaved = lines > 1 and 0 < x.strides[-2] < x.strides[-1]
    sharing = scan_sharing(builder.target, lines, length, interleaved=interleaved, unit=adjacent((x, y), x.rank - 1))
    unit = sharing.items if sharing.vectors else 1
    chunk, chunks = sharing.cut(length // unit)
    chunk *= unit
    compensated = monoid.glsl == "float" and monoid.combine == "a + b"

    def dispatch(tensors: dict[str, Operand], *, totals: bool) -> None:
        bound = {
            name: (read if name in ("x", "offsets") else write)(each, vector=sharing.vectors and name in ("x", "y"))
            for name, each in tensors.items()
        }
        builder.dispatch(
            KERNEL,
            bound,
            count=lines * chunks * sharing.lanes,
            workgroup=sharing.workgroup,
            constants={
                "LINES": lines,
                "LENGTH": length,
                "CHUNKS": chunks,
                "CHUNK": chunk,
                "EXCLUSIVE": exclusive,
                "BACKWARDS": backwards,
            },
            defines={
                "LANES": sharing.lanes,
                "ITEMS": sharing.items,
                "VECTORS": int(sharing.vectors),
                "SUBGROUP": sharing.subgroup,
                "ACC": monoid.glsl,
                "IDENTITY": monoid.identity,
                "COMPENSATED": int(compensated),
                "TOTALS": int(totals),
                "OFFSETS": int("offsets" in tensors),
            },
            code="\n".join(
                [
                    *monoid.function,
                    coordinates("line", "x", x.rank, range(x.rank - 1)),
                    *(_moves(monoid, {name: tensors[name] for name in ("x", "y") if name in tensors}, unit)),
                ]
            ),
            steps=-(-chunk // sharing.lanes),
        )

    if chunks == 1 and before is None:
        dispatch({"x": x, "y": y}, totals=False)
        return None
    totals = builder.temporary(_TOTALS[DATA_TYPES[x.data_type].kind], (lines, chunks))
    dispatch({"x": x, "totals": totals}, totals=True)
    after = None
    if before is None:
        scan(builder, monoid, totals, totals, 1, exclusive=True)
    else:
        sums = builder.temporary(totals.data_type, (lines, 1 + chunks))
        copy(builder, part(sums, 1, 0, 1), before)
        copy(builder, part(sums, 1, 1, chunks), totals)
        scan(builder, monoid, sums, sums, 1)
        copy(builder, totals, part(sums, 1, 0, chunks))
        after = part(sums, 1, chunks, 1)
    dispatch({"x": x, "y": y, "offsets": totals}, totals=False)
    return after


def _moves(monoid: Monoid, tensors: dict[str, Operand], items: int) -> list[str]:
    """Return load_items(at, v) and store_items(at, v), which move the vectors from index ``at``, reversed in a
    backwards scan."""
    if items == 1:
        return []
    lines: list[str] = []
    for name, operand in tensors.items():
        is_read = name == "x"
        first = f"at / {DATA_TYPES[operand.data_type].per_vector}u"
        vectors = lanes.variables(f"{name}_", operand, items)
        head = "void load_items(uint at, out" if is_read else "void store_items(uint at,"
        lines.append(f"{head} {monoid.glsl} v[{items}]) {{")
        if is_read:
            lines += lanes.load(name, vectors, first)
            elements = [lanes.element(name, operand, vectors, k) for k in range(items)]
            lines += [f"    v[{k}] = BACKWARDS ? {elements[-1 - k]} : {elements[k]};" for k in range(items)]
        else:
            lines += lanes.clear(vectors)
            values = [f"(BACKWARDS ? v[{items - 1 - k}] : v[{k}])" for k in range(items)]
            lines += [lanes.put(name, operand, vectors, k, "at", values[k]) for k in range(items)]
            lines += lanes.store(name, vectors, first)
        lines.append("}")
    return lines


@lowering(DML_CUMULATIVE_SUMMATION_OPERATOR_DESC, DML_CUMULATIVE_PRODUCT_OPERATOR_DESC)
def cumulative(
    desc: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC | DML_CUMULATIVE_PRODUCT_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    if isinstance(desc, DML_CUMULATIVE_SUMMATION_OPERATOR_DESC):
        monoid, exclusive = sum_of(DATA_TYPES[source.data_type].kind), desc.HasExclusiveSum
    else:
        monoid, exclusive = product_of(DATA_TYPES[source.data_type].kind), desc.HasExclusiveProduct
    backwards = desc.AxisDirection == enums.DML_AXIS_DIRECTION_DECREASING
    scan(builder, monoid, source, result, desc.Axis, exclusive=exclusive, backwards=backwards)
