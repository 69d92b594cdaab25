"""Multi-head attention in float64 NumPy, head by head."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def heads_of(x: Array, heads: int) -> Array:
    """{batch, sequence, head * element} -> {batch, head, sequence, element}."""
    batch, sequence, hidden = x.shape
    return x.reshape(batch, sequence, heads, hidden // heads).transpose(0, 2, 1, 3)


def with_past(past: Array | None, new: Array, lengths: Array | None) -> tuple[Array, Array]:
    """{batch, head, past + new, element}: the first ``lengths`` past positions, the new ones, zeros; and the ends."""
    batch, heads, count, size = new.shape
    room = 0 if past is None else past.shape[2]
    total = np.zeros((batch, heads, room + count, size))
    ends = np.full(batch, room + count)
    for b in range(batch):
        n = room if lengths is None else int(lengths[b])
        if past is not None:
            total[b, :, :n] = past[b, :, :n]
        total[b, :, n : n + count] = new[b]
        ends[b] = n + count
    return total, ends


def open_keys(kind: str, mask: Array | None, shape: tuple[int, int, int, int]) -> Array:
    """Which scores {batch, head, query, key} no mask touches."""
    batch, _, _, keys = shape
    result = np.ones(shape, bool)
    position = np.arange(keys)
    if kind == "BOOLEAN":
        result[:] = mask != 0
    for b in range(batch):
        if kind == "KEY_SEQUENCE_LENGTH":
            result[b] = position < mask[0, b]
        elif kind == "KEY_SEQUENCE_END_START":
            result[b] = (position < mask[0, b]) & (position >= mask[1, b])
        elif kind == "KEY_QUERY_SEQUENCE_LENGTH_START_END":
            # {key lengths, query starts and the last end, key starts and the last end}; starts through the batch.
            start, end = mask[2 * batch + 1 + b] - b * keys, mask[2 * batch + 2 + b] - b * keys
            result[b] = (position >= start) & (position < min(end, start + mask[b]))
    return result


def attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    scale: float,
    kind: str = "NONE",
    mask: Array | None = None,
    filter_value: float = 0.0,
    relative: Array | None = None,
    past: tuple[Array | None, Array | None] = (None, None),
    lengths: Array | None = None,
) -> tuple[Array, Array, Array]:
    """query {B, N, S, H}, key {B, M, K, H}, value {B, M, K, V}, N a multiple of M, biases added.

    Returns output, keys, values.
    """
    batch, heads, queries, _ = query.shape
    key, ends = with_past(past[0], key, lengths)
    value, _ = with_past(past[1], value, lengths)
    _, key_heads, keys, _ = key.shape
    untouched = open_keys(kind, mask, (batch, heads, queries, keys))
    output = np.zeros((batch, queries, heads, value.shape[-1]))
    for b in range(batch):
        for n in range(heads):
            m = n // (heads // key_heads)
            scores = scale * (query[b, n] @ key[b, m].T)
            if relative is not None:
                scores = scores + relative[b, n]
            scores = np.where(untouched[b, n], scores, scores + filter_value)[:, : ends[b]]
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            output[b, :, n] = weights @ value[b, m, : ends[b]]
    return output.reshape(batch, queries, -1), key, value
