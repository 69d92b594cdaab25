"""Running sums and products along an axis, of any length."""

from __future__ import annotations

import math

from dml import enums
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.lines import lines_along
from dml.compiler.operators.reduction.monoids import Monoid, product_of, sum_of
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.selection.lines import scan_sharing
from dml.descriptors.reduction import (
    DML_CUMULATIVE_PRODUCT_OPERATOR_DESC,
    DML_CUMULATIVE_SUMMATION_OPERATOR_DESC,
)

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
    """The running combination along ``axis``. ``result`` has the source's sizes and kind, and may be the same place.

    exclusive: of the elements before each one. backwards: from the last element on. Float sums are compensated.
    """
    lines = lines_along(axis, source, result)
    for x, y in in_parts(lines, builder.target.max_region, range(lines[0].rank - 1)):
        _scan(builder, monoid, x, y, exclusive=exclusive, backwards=backwards)


def _scan(builder: ProgramBuilder, monoid: Monoid, x: Operand, y: Operand, *, exclusive: bool, backwards: bool) -> None:
    """Along the last dimension."""
    length, lines = x.sizes[-1], math.prod(x.sizes[:-1])
    beside = lines > 1 and 0 < x.strides[-2] < x.strides[-1]
    sharing = scan_sharing(builder.target, lines, length, beside=beside)
    chunk, chunks = sharing.cut(length)
    compensated = monoid.glsl == "float" and monoid.combine == "a + b"

    def dispatch(tensors: dict[str, Bound], *, totals: bool) -> None:
        builder.dispatch(
            KERNEL,
            tensors,
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
                "ACC": monoid.glsl,
                "IDENTITY": monoid.identity,
                "COMPENSATED": int(compensated),
                "TOTALS": int(totals),
                "OFFSETS": int("offsets" in tensors),
            },
            code="\n".join([*monoid.function, coordinates("line", "x", x.rank, range(x.rank - 1))]),
            steps=-(-chunk // sharing.lanes),
        )

    if chunks == 1:
        dispatch({"x": read(x), "y": write(y)}, totals=False)
        return
    totals = builder.temporary(_TOTALS[DATA_TYPES[x.data_type].kind], (lines, chunks))
    dispatch({"x": read(x), "totals": write(totals)}, totals=True)
    scan(builder, monoid, totals, totals, 1, exclusive=True)
    dispatch({"x": read(x), "y": write(y), "offsets": read(totals)}, totals=False)


@lowering(DML_CUMULATIVE_SUMMATION_OPERATOR_DESC, DML_CUMULATIVE_PRODUCT_OPERATOR_DESC)
def cumulative(
    desc: DML_CUMULATIVE_SUMMATION_OPERATOR_DESC | DML_CUMULATIVE_PRODUCT_OPERATOR_DESC,
    builder: ProgramBuilder,
) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    if isinstance(desc, DML_CUMULATIVE_SUMMATION_OPERATOR_DESC):
        monoid, exclusive = sum_of(DATA_TYPES[source.data_type].kind), desc.HasExclusiveSum
    else:
        monoid, exclusive = product_of(DATA_TYPES[source.data_type].kind), desc.HasExclusiveProduct
    backwards = desc.AxisDirection == enums.DML_AXIS_DIRECTION_DECREASING
    scan(builder, monoid, source, result, desc.Axis, exclusive=exclusive, backwards=backwards)
