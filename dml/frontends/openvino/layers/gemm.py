"""Products of matrices."""

from __future__ import annotations

from functools import reduce
from math import prod

import dml.graph.operations as op
from dml.frontends.meaning import integers
from dml.frontends.openvino.compressed import Compressed
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor

#: Working memory in bytes per looked-up weight, a FLOAT32.
_LOOKED_UP = 4


@layer("MatMul")
def matmul(c: IrContext) -> IrValue:
    a, turn_a, turn_b = c.tensor(0), c.layer.flag("transpose_a"), c.layer.flag("transpose_b")
    if a.rank == 1:
        a, turn_a = a.packed().view((1, a.sizes[0])), False
    weights = c.stored(1)
    is_matrix = isinstance(weights, Compressed) and len(weights.sizes) == 2
    parts = weights.parts(c.graph, _LOOKED_UP) if is_matrix else []
    if not parts:
        return _product(a, c.tensor(1), turn_a, turn_b).view(c.sizes)
    if turn_b:  # each part has columns of the product
        columns = [_product(a, part, turn_a, True) for part in parts]
        return op.join(columns, columns[0].rank - 1).view(c.sizes)
    pieces = op.split(a, a.rank - (2 if turn_a else 1), [part.sizes[0] for part in parts])
    products = [_product(*pair, turn_a, False) for pair in zip(pieces, parts, strict=True)]
    return reduce(op.add, products).view(c.sizes)


def _product(a: Tensor, b: Tensor, turn_a: bool, turn_b: bool) -> Tensor:
    if b.rank == 1:
        b, turn_b = b.packed().view((b.sizes[0], 1)), False
    if b.rank == 2 and a.rank > 2 and not turn_a:  # all rows in one product
        a = a.reshape(prod(a.sizes[:-1]), a.sizes[-1])
    return integers.matmul(a, b, turn_a, turn_b)
