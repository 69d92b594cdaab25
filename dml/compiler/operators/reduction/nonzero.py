"""NONZERO_COORDINATES: counts per chunk, then positions by a scan of the counts, which keeps the elements' order."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.monoids import sum_of
from dml.compiler.operators.reduction.scan import scan
from dml.compiler.selection.lines import nonzero_chunk
from dml.descriptors.reduction import DML_NONZERO_COORDINATES_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32

KERNEL = "reduction/nonzero.comp"


@lowering(DML_NONZERO_COORDINATES_OPERATOR_DESC)
def nonzero_coordinates(desc: DML_NONZERO_COORDINATES_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Write the coordinates of nonzero elements; NaN is nonzero. Rows after the count, which the page leaves undefined,
    are zeroed so that they do not expose other data of the process."""
    x, count, y = builder["InputTensor"], builder["OutputCountTensor"], builder["OutputCoordinatesTensor"]
    y = y.view(y.sizes[-2:], y.strides[-2:])
    chunk = nonzero_chunk(x.count)
    chunks = -(-x.count // chunk)
    before = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (1, chunks))
    sizes = {"CHUNK": chunk, "CHUNKS": chunks, "COLUMNS": y.sizes[1]}
    builder.dispatch(
        KERNEL,
        {"x": read(x), "before": write(before)},
        space=x.sizes,
        count=chunks,
        constants=sizes,
        defines={"COUNTS": 1},
        steps=chunk,
    )
    scan(builder, sum_of("uint"), before, before, 1, exclusive=True)
    builder.dispatch(
        KERNEL,
        {"x": read(x), "before": read(before), "count": write(count), "y": write(y)},
        space=x.sizes,
        count=chunks,
        constants=sizes,
        defines={"COUNTS": 0},
        steps=chunk,
        each=1 + y.sizes[1],
    )
