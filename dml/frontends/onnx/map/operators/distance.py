"""Distances between rows."""

from __future__ import annotations

import dml.graph.operations as op

from ...registry import onnx_op
from ..functions import matmul, total
from ..node import OnnxNode
from ..value import OnnxValue, expanded, maximum, transpose, unary


@onnx_op("CDist", domain="com.microsoft")
def distances(node: OnnxNode) -> OnnxValue:
    """Return the squared distances between A's rows and B's, as ``a*a + b*b - 2*a*b`` like ONNX Runtime, or their
    roots."""
    a, b = node.input(0, rank=2), node.input(1, rank=2)
    metric = node.one_of("metric", "sqeuclidean", ("sqeuclidean", "euclidean"))
    node.check(a.shape[1] == b.shape[1], f"rows of A and B must have the same size, found {a.shape} and {b.shape}")
    shape = (a.shape[0], b.shape[0])
    squares = expanded(total(a * a, (1,)), shape) + expanded(transpose(total(b * b, (1,)), (1, 0)), shape)
    squared = squares - matmul(a, b, transpose_b=True) * 2.0
    squared = maximum(squared, squared.filled(0))
    return squared if metric == "sqeuclidean" else unary(op.sqrt, squared)
