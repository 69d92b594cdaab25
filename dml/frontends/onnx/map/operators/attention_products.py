"""Attention by products and a softmax, for features that DirectML's operator lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import dml.graph.operations as op
from dml.errors import DMLError

from ...dtypes import FLOAT32
from ..functions import join, matmul, part
from ..node import OnnxNode
from ..value import OnnxValue, cast, expanded, reshape, unary, where
from .activation import softmax_along
from .attention import CLOSED, flat_heads, split_heads

#: Maximum bytes of scores in memory at once, half of them before their softmax.
MOST_SCORES = 128 << 20

#: A mask of the keys that queries attend to, or a function that returns those of a range of queries: first, count.
Opened = OnnxValue | Callable[[int, int], OnnxValue]


def products(
    node: OnnxNode, query: OnnxValue, keys_values: Sequence[OnnxValue], opened: Opened | None, bias: OnnxValue | None
) -> OnnxValue:
    """Attention of a query {B, S, N H} over keys and values {B, M, T, H} in float32; the result has the query's type.

    opened: mask of the keys that each query attends to. bias: added to the scores. Both broadcast to {B, N, S, T}. A
    sink adds a score to the softmax and has no value. A long prompt is split so that its scores take at most
    ``MOST_SCORES`` bytes.
    """
    batch, steps, _ = query.shape
    row = 4 * batch * (query.shape[2] // keys_values[0].shape[3]) * keys_values[0].shape[2]
    if 2 * row * steps <= MOST_SCORES or steps == 1:
        return _attended(node, query, keys_values, _masks(opened, 0, steps), bias)
    count, parts = max(1, MOST_SCORES // (2 * row)), []
    for index in range(0, steps, count):
        own = min(count, steps - index)
        mask, own_bias = _masks(opened, index, own), _rows(bias, index, own)
        parts.append(_attended(node, part(query, 1, index, own), keys_values, mask, own_bias))
    return join(parts, 1)


def _masks(opened: Opened | None, first: int, count: int) -> OnnxValue | None:
    """Return the mask of a range of queries."""
    return opened(first, count) if callable(opened) else _rows(opened, first, count)


def _rows(x: OnnxValue | None, first: int, count: int) -> OnnxValue | None:
    return x if x is None or x.shape[2] in (1, count) else part(x, 2, first, count)


def _attended(
    node: OnnxNode, query: OnnxValue, keys_values: Sequence[OnnxValue], opened: OnnxValue | None, bias: OnnxValue | None
) -> OnnxValue:
    (batch, steps, width), (_, key_heads, total, size) = query.shape, keys_values[0].shape
    heads = width // size
    queries = split_heads(cast(query, FLOAT32), heads)
    grouped = (batch, key_heads, heads // key_heads * steps)
    scores = matmul(reshape(queries, (*grouped, size)), keys_values[0], transpose_b=True)
    scores = reshape(scores, (batch, heads, steps, total)) * (node.number("scale", 0.0) or size**-0.5)
    softcap = node.number("softcap", 0.0)
    if softcap > 0:
        scores = unary(op.tanh, scores * (1 / softcap)) * softcap
    if bias is not None:
        scores = scores + expanded(bias, scores.shape)
    if opened is not None:
        outer = (heads,) if opened.rank == 4 else (heads // opened.shape[2], opened.shape[2])
        wide = reshape(scores, (batch, *outer, steps, total))
        scores = reshape(where(opened, wide, wide.filled(CLOSED)), scores.shape)
    weights = _weights(node, scores)
    value_size = keys_values[1].shape[3]
    mixed = reshape(matmul(reshape(weights, (*grouped, total)), keys_values[1]), (batch, heads, steps, value_size))
    return cast(flat_heads(mixed), query.dtype)


def _weights(node: OnnxNode, scores: OnnxValue) -> OnnxValue:
    """Return the weight of each key for each query."""
    batch, heads, steps, total = scores.shape
    sink = node.optional(11, rank=1) if node.op == "GroupQueryAttention" else None
    if sink is None and not node.integer("smooth_softmax", 0):
        return softmax_along(scores, 3)
    if sink is not None and sink.size != heads:
        raise DMLError(f"head_sink must have {heads} elements, found shape {sink.shape}")
    column = node.constant(np.zeros(1, np.float32)) if sink is None else cast(sink, FLOAT32)
    column = expanded(reshape(column, (1, column.size, 1, 1)), (batch, heads, steps, 1))
    return part(softmax_along(join([scores, column], 3), 3), 3, 0, total)
