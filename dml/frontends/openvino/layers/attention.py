"""Attention."""

from __future__ import annotations

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.shapes import with_size


@layer("ScaledDotProductAttention")
def scaled_dot_product_attention(c: IrContext) -> IrValue:
    """Compute softmax(scale * query x key + mask) x value.

    A boolean mask excludes the keys where it is false; a causal one excludes the keys after each query. A sink, input
    5, adds a score to each query's softmax and has no value.
    """
    query, key, value = c.tensor(0), c.tensor(1), c.tensor(2)
    scale = float(c.single(4)) if len(c.values) > 4 else query.sizes[-1] ** -0.5
    scores = op.gemm(query, key, transpose_b=True, alpha=scale)
    if c.layer.flag("causal"):
        rows, columns = scores.sizes[-2:]
        hidden = np.where(np.tri(rows, columns, dtype=bool), 0.0, -np.inf)
        scores = scores + c.graph.constant(hidden, scores.data_type)
    elif len(c.values) > 3 and not _is_nothing(c.values[3]):
        mask = c.tensor(3)
        if mask.data_type == enums.DML_TENSOR_DATA_TYPE_UINT8:
            scores = op.if_(mask, scores, -np.inf)
        else:
            scores = scores + mask
    return op.gemm(_weights(c, scores), value).reshape(*c.sizes)


def _weights(c: IrContext, scores: Tensor) -> Tensor:
    if len(c.values) < 6:
        return op.softmax(scores)
    sizes, last = scores.sizes, scores.rank - 1
    sink = c.tensor(5).broadcast(with_size(sizes, last, 1))
    return op.slice_(op.softmax(op.join([scores, sink], last)), [0] * scores.rank, sizes)


def _is_nothing(mask: IrValue) -> bool:
    """Return whether the mask is a scalar zero, which means no mask if a scale follows."""
    return not isinstance(mask, Tensor) and mask.size == 1 and mask.dtype.name != "bool" and not np.any(mask)
