"""Multi-head attention in float64 NumPy, head by head. With `Rounded` numbers, results have a bound of the float32
error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.references.rounded import Numbers, each, joined
from dml.conformance.references.softmax import softmax

Array = npt.NDArray[Any]


def heads_of(x: Numbers, heads: int) -> Numbers:
    """{batch, sequence, head * element} -> {batch, head, sequence, element}."""
    batch, sequence, hidden = x.shape
    return each(x, lambda v: v.reshape(batch, sequence, heads, hidden // heads).transpose(0, 2, 1, 3))


def with_past(past: Numbers | None, new: Numbers, lengths: Array | None) -> tuple[Numbers, Array]:
    """Return {batch, head, past + new, element}: the first ``lengths`` past positions, the new positions, then zeros.
    Also return the number of positions before the zeros."""
    batch, _, count, _ = new.shape
    room = 0 if past is None else past.shape[2]
    filled = np.full(batch, room) if lengths is None else np.asarray(lengths).astype(int)
    if past is None:
        return new, filled + count

    def row(b: int) -> Numbers:
        rest = each(past[b : b + 1, :, filled[b] :], np.zeros_like)
        return joined([past[b : b + 1, :, : filled[b]], new[b : b + 1], rest], 2)

    return joined([row(b) for b in range(batch)], 0), filled + count


def open_keys(kind: str, mask: Array | None, shape: tuple[int, int, int, int]) -> Array:
    """Return whether each score {batch, head, query, key} is unmasked."""
    batch, _, _, keys = shape
    result = np.ones(shape, bool)
    if mask is None:
        return result
    position = np.arange(keys)
    if kind == "BOOLEAN":
        result[:] = mask != 0
    for b in range(batch):
        if kind == "KEY_SEQUENCE_LENGTH":
            result[b] = position < mask[0, b]
        elif kind == "KEY_SEQUENCE_END_START":
            result[b] = (position < mask[0, b]) & (position >= mask[1, b])
        elif kind == "KEY_QUERY_SEQUENCE_LENGTH_START_END":
            # The mask holds the key lengths, then the starts of the queries and their end, then the starts of the keys
            # and their end. Starts count through the batch.
            start, end = mask[2 * batch + 1 + b] - b * keys, mask[2 * batch + 2 + b] - b * keys
            result[b] = (position >= start) & (position < min(end, start + mask[b]))
    return result


def attention(
    query: Numbers,
    key: Numbers,
    value: Numbers,
    *,
    scale: float,
    kind: str = "NONE",
    mask: Array | None = None,
    filter_value: float = 0.0,
    relative: Numbers | None = None,
    past: tuple[Numbers | None, Numbers | None] = (None, None),
    lengths: Array | None = None,
) -> tuple[Numbers, Numbers, Numbers]:
    """Attention of query {B, N, S, H}, key {B, M, K, H}, value {B, M, K, V}, biases included; N is a multiple of M.

    Returns output, keys, values.
    """
    batch, heads, queries, _ = query.shape
    key, ends = with_past(past[0], key, lengths)
    value, _ = with_past(past[1], value, lengths)
    _, key_heads, keys, _ = key.shape
    untouched = open_keys(kind, mask, (batch, heads, queries, keys))
    rows = []
    for b in range(batch):
        of_heads = []
        for n in range(heads):
            m = n // (heads // key_heads)
            end = int(ends[b])
            scores = scale * (query[b, n] @ each(key[b, m], np.transpose))
            if relative is not None:
                scores = scores + relative[b, n]
            scores = (scores + np.where(untouched[b, n], 0.0, np.float32(filter_value)))[:, :end]
            of_heads.append(softmax(scores, (1,)) @ value[b, m, :end])
        rows.append(each(joined(of_heads, 1), lambda v: v[None]))
    return joined(rows, 0), key, value
