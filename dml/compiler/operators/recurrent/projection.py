"""The input's contribution to a recurrent network: one matrix product for all steps."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.operators.gemm.layout import in_rows, transposed
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.operators.movement.views import drop
from dml.compiler.operators.recurrent.cells import Cell
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32


def project(builder: ProgramBuilder, x: Operand, addend: Operand | None, *, many_rows: bool = False) -> Operand:
    """Return the input's contribution to every gate at every step of x: {direction, step, row, gate * unit}, FLOAT32,
    ``joined_bias`` included. many_rows: there are so many rows that weights whose columns would be read are worth a
    copy."""
    x, w = drop(x, 0), drop(builder["WeightTensor"], 0)
    steps, batch, size = x.sizes
    directions, width, _ = w.sizes
    b = transposed(w)
    if many_rows and w.data_type == DML_TENSOR_DATA_TYPE_FLOAT32:
        b = in_rows(builder, b)
    gates = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (directions, steps, batch, width))
    if x.strides[0] == batch * x.strides[1] or steps == 1 or batch == 1:
        # Rows of all steps are evenly spaced: one matrix.
        step = x.strides[0] if batch == 1 else x.strides[1]
        a = x.view((1, steps * batch, size), (0, step, x.strides[2]))
        result = gates.view((directions, steps * batch, width), (steps * batch * width, width, 1))
        c = addend and addend.view((directions, 1, width), (width, 0, 1))
    else:
        a = x.view((1, steps, batch, size), (0, *x.strides))
        result = gates
        b = b.view((directions, 1, size, width), (b.strides[0], 0, *b.strides[1:]))
        c = addend and addend.view((directions, 1, 1, width), (width, 0, 0, 1))
    matmul(builder, a, b, c, result)
    return gates


def joined_bias(builder: ProgramBuilder, cell: Cell) -> Operand | None:
    """Return {direction, gate * unit}: the input's bias, plus the recurrence's for gates that join them."""
    bias = builder.get("BiasTensor")
    if bias is None:
        return None
    bias = drop(drop(bias, 0), 0)
    directions, both = bias.sizes
    width = both // 2
    stage = builder.prepare(bias)
    joined = stage.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (directions, width))
    constants: dict[str, Constant] = {"ADDED": cell.joined * (width // cell.gates)}
    stage.for_each("recurrent/bias.comp", joined, {"bias": bias}, constants=constants)
    return joined
