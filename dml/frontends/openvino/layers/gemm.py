"""Products of matrices."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.shapes import broadcast_sizes, with_rank


@layer("MatMul")
def matmul(c: IrContext) -> IrValue:
    a, b = c.tensor(0), c.tensor(1)
    turn_a, turn_b = c.layer.flag("transpose_a"), c.layer.flag("transpose_b")
    if a.rank == 1:
        a, turn_a = a.view((1, a.sizes[0])), False
    if b.rank == 1:
        b, turn_b = b.view((b.sizes[0], 1)), False
    if turn_a:
        a = a.transpose(*range(a.rank - 2), a.rank - 1, a.rank - 2)
    if turn_b:
        b = b.transpose(*range(b.rank - 2), b.rank - 1, b.rank - 2)
    batch = broadcast_sizes(a.sizes[:-2], b.sizes[:-2]) if a.rank > 2 or b.rank > 2 else ()
    a, b = a.broadcast((*batch, *a.sizes[-2:])), b.broadcast((*batch, *b.sizes[-2:]))
    if len(batch) > 2:
        a, b = (t.packed().view((1, prod(batch), *t.sizes[-2:])) for t in (a, b))
    elif len(batch) < 2:
        a, b = (t.view(with_rank(t.sizes, 4), with_rank(t.desc.strides, 4, 0)) for t in (a, b))
    return op.gemm(a, b).view(c.sizes)
