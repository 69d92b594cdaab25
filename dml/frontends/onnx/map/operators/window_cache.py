"""GroupQueryAttention over a cache that keeps the newest positions of a longer sequence (sliding_window_cache)."""

from __future__ import annotations

import numpy as np

from ...dtypes import FLOAT32, INT32
from ..functions import gather_elements, join
from ..node import OnnxNode
from ..traced_arrays import counted
from ..value import OnnxValue, cast, expanded, logical_and, maximum, minimum, reshape, where, within
from .attention import split_heads
from .attention_products import products
from .key_value_cache import KeyValueCache
from .rotary import turned


def windowed(node: OnnxNode, query: OnnxValue, key: OnnxValue, value: OnnxValue) -> list[OnnxValue | None]:
    """Return the outputs over a cache whose C rows hold the newest positions of a longer sequence.

    It holds ``_resident`` of T positions: when it is full, a new position drops all positions before the window at
    once.
    """
    past_key, past_value = node.input(3, rank=4), node.input(4, rank=4)
    (batch, steps, _), (_, heads, room, _) = query.shape, past_key.shape
    size, window = key.shape[2] // heads, node.integer("local_window_size", -1)
    totals = reshape(cast(node.input(5), INT32), (batch,)) + 1
    given = node.optional(16)
    new = minimum(totals, totals.filled(steps)) if given is None else reshape(cast(given, INT32), (batch,))
    before = totals - new
    if node.integer("do_rotary", 0):
        query, key = turned(node, query, key, size, before)
    by_batch = (batch, 1, 1, 1)
    kept, last = _resident(before, room, window), _resident(totals, room, window)
    first_kept, first_last = reshape(before - kept, by_batch), reshape(totals - last, by_batch)
    row, step, nowhere = _counted(node, room), _counted(node, steps), 1 << 29
    old = where(row < reshape(kept, by_batch), first_kept + row, node.constant(np.array(nowhere, np.int32)))
    own = reshape(before, by_batch) + step
    fresh = where(step < reshape(new, by_batch), own, node.constant(np.array(nowhere, np.int32)))
    positions = join([old, fresh], 3)
    queries = reshape(own, (batch, 1, steps, 1))
    opened = logical_and(positions <= queries, positions > queries - window)
    bias = node.optional(10, rank=4)
    if bias is not None:
        bias = _bias_columns(bias, positions, (batch, query.shape[2] // size, steps, room + steps))
    # The position of each row that stays, in the past with the new rows appended
    wanted = first_last + row
    source = where(wanted < reshape(before, by_batch), wanted - first_kept, wanted - reshape(before, by_batch) + room)
    source = within(source, 0, room + steps - 1)
    keys_values, presents = [], []
    for index, (x, past) in enumerate(((key, past_key), (value, past_value))):
        cache = KeyValueCache.of(node, index, heads, size)
        rows = cache.stored(split_heads(x, heads))
        rows = join([past, cast(rows, past.dtype)], 2)
        keys_values.append(cast(cache.loaded(rows), FLOAT32))
        presents.append(gather_elements(rows, expanded(reshape(source, (batch, 1, room, 1)), past.shape), 2))
    return [products(node, query, keys_values, opened, bias), *presents]


def _counted(node: OnnxNode, count: int) -> OnnxValue:
    return node.constant(counted((1, 1, 1, count)))


def _resident(total: OnnxValue, room: int, window: int) -> OnnxValue:
    """Return how many of ``total`` positions, {B}, remain in a cache of ``room`` positions."""
    dropped = room - window + 1
    over = maximum(total - room, total.filled(0))
    return total - (over + (dropped - 1)) / dropped * dropped


def _bias_columns(bias: OnnxValue, positions: OnnxValue, shape: tuple[int, int, int, int]) -> OnnxValue:
    """Select the columns of a bias that belong to the keys' positions."""
    bias = expanded(cast(bias, FLOAT32), (*shape[:3], bias.shape[3]))
    columns = minimum(positions, positions.filled(bias.shape[3] - 1))
    return gather_elements(bias, expanded(columns, shape), 3)
