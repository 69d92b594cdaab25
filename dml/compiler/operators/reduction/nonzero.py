"""NONZERO_COORDINATES: counts per chunk, then positions by a scan of the counts, which keeps the elements' order."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dml.compiler.apply import copy
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.gather import box_code
from dml.compiler.operators.movement.views import part
from dml.compiler.operators.reduction.monoids import sum_of
from dml.compiler.operators.reduction.scan import scan
from dml.compiler.parts import Box, boxes, cut, in_ranges, narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
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
    most, axes = builder.target.max_region, range(x.rank)
    if x.region.size > most and not x.is_packed:  # few ranges of its elements would fit a binding
        packed = builder.temporary(x.data_type, x.sizes)
        copy(builder, packed, x)
        x = packed
    parts = in_ranges([x], most)
    rows = [box[0] for box in boxes(y.sizes[:1], cut([y], most, (0,)) or y.sizes[:1])]
    in_parts = len(parts) > 1 or len(rows) > 1
    chunk = nonzero_chunk(_elements(parts[0][1]))
    chunks = [-(-_elements(box) // chunk) for _, box in parts]
    before = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (1, sum(chunks)))

    def dispatch(number: int, tensors: Mapping[str, Bound], more: Mapping[str, Constant], *, counts: bool) -> None:
        """Add a dispatch over a part of x."""
        own = narrow(x, axes, parts[number][1])
        constants: dict[str, Constant] = {"CHUNK": chunk, "CHUNKS": chunks[number], "COLUMNS": y.sizes[1], **more}
        code = ""
        if in_parts:
            starts, code = box_code(parts[number][1])
            constants |= starts | {"FIRST_CHUNK": sum(chunks[:number])}
        builder.dispatch(
            KERNEL,
            {"x": read(own), "before": (write if counts else read)(before), **tensors},
            space=own.sizes,
            count=chunks[number],
            constants=constants,
            defines={"COUNTS": int(counts)},
            code=code,
            steps=chunk,
            each=1 if counts else 1 + y.sizes[1],
        )

    for number in range(len(parts)):
        dispatch(number, {}, {}, counts=True)
    scan(builder, sum_of("uint"), before, before, 1, exclusive=True)
    for number in range(len(parts)):
        for first, held in rows:
            tensors = {"count": write(count), "y": write(part(y, 0, first, held))}
            dispatch(number, tensors, _places(x, *parts[number], first, held) if in_parts else {}, counts=False)


def _places(x: Operand, before: int, box: Box, first: int, held: int) -> dict[str, Constant]:
    """Return the kernel's constants for a part of x with ``before`` elements before it, which writes up to ``held``
    rows of the coordinates from row ``first`` on."""
    is_last = before + _elements(box) == x.count
    return {"BEFORE": before, "TOTAL": x.count, "IS_LAST": is_last, "FIRST_ROW": first, "ROWS": held}


def _elements(box: Box) -> int:
    return math.prod(size for _, size in box)
