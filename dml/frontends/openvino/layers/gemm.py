"""Products of matrices."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer


@layer("MatMul")
def matmul(c: IrContext) -> IrValue:
    a, b = c.tensor(0), c.tensor(1)
    turn_a, turn_b = c.layer.flag("transpose_a"), c.layer.flag("transpose_b")
    if a.rank == 1:
        a, turn_a = a.packed().view((1, a.sizes[0])), False
    if b.rank == 1:
        b, turn_b = b.packed().view((b.sizes[0], 1)), False
    if b.rank == 2 and a.rank > 2 and not turn_a:  # all rows in one product
        a = a.reshape(prod(a.sizes[:-1]), a.sizes[-1])
    return op.gemm(a, b, transpose_a=turn_a, transpose_b=turn_b).view(c.sizes)
