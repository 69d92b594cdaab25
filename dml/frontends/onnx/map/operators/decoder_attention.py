"""Attention of decoders over caches, of ONNX Runtime's com.microsoft domain."""

from __future__ import annotations

import numpy as np

from dml.errors import DMLError

from ...dtypes import BOOL, FLOAT32, INT32, UINT8, Array
from ...registry import onnx_op
from ..functions import gather, gather_elements, join, matmul, part, resized, slices
from ..node import OnnxNode, Unsupported
from ..traced_arrays import counted
from ..value import OnnxValue, cast, expanded, logical_and, maximum, reshape, transpose, where
from .attention import boolean_mask, refuse, refuse_attributes, split_heads
from .attention_products import products
from .group_query_attention import over_cache
from .key_value_cache import full_cache, written
from .rotary import turned

#: Maximum bytes of the mask of every head with which SparseAttention runs as DirectML's operator.
MOST_MASK = 16 << 20


@onnx_op("DecoderMaskedMultiHeadAttention", domain="com.microsoft")
def decoder_masked_multi_head_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Attention of a query {B, 1, N H} over a past and a new key and value, or over an encoder's {B, N, T, H}.

    With past_sequence_length the past has maximum length, and new rows are written at that position, in place if past
    and present share their memory. cache_indirection gives, for each position of a batch element, the beam that
    computed its row.
    """
    refuse(node, {}, {3: "qk"})
    refuse_attributes(node, output_qk=0)
    query, key, value = node.input(0, rank=3), node.optional(1), node.optional(2)
    heads = node.integer("num_heads", 1, least=1)
    if key is not None and key.rank == 4:
        assert value is not None
        if node.has(10):
            query = query + part(node.input(10, rank=1), 0, 0, query.shape[2])
        keys_values = [cast(x, FLOAT32) for x in (key, value)]
        return [products(node, query, keys_values, None, _bias(node, 3, 4, key.shape[2])), key, value]
    if key is None or value is None:
        query, key, value = slices(query, 2, [query.shape[2] // 3] * 3)
    query, key, value = _biased(node, 10, (query, key, value))
    rows = [split_heads(x, heads) for x in (key, value)]
    pasts = [node.optional(index, rank=4) for index in (5, 6)]
    if not node.has(7):
        presents = [row if past is None else join([past, row], 2) for past, row in zip(pasts, rows, strict=True)]
        opened = None
    else:
        past_length = _past_length(node, 7, rows[0].shape[0])
        shared = node.writes_in_place({5: 1, 6: 2})
        presents = []
        for past, row in zip(pasts, rows, strict=True):
            if past is None:
                raise DMLError("past_key and past_value must be given if past_sequence_length is")
            _check_room(node, 7, past.shape[2])
            presents.append(written(row, past, past_length, in_place=shared))
        opened = _up_to(node, past_length, presents[0].shape[2])
    keys_values = [cast(_of_beams(node, x, 8, 9), FLOAT32) for x in presents]
    bias = _bias(node, 3, 4, presents[0].shape[2])
    return [products(node, query, keys_values, opened, bias), *presents]


@onnx_op("DecoderMaskedSelfAttention", domain="com.microsoft")
def decoder_masked_self_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """DecoderMaskedMultiHeadAttention with its projections. Past and present hold keys and values, {2, B, N, T, H}."""
    refuse_attributes(node, do_rotary=0)
    x, weights, heads = node.input(0, rank=3), node.input(1, rank=2), node.integer("num_heads", 1, least=1)
    projected = matmul(x, weights)
    if node.has(2):
        projected = projected + node.input(2, rank=1)
    width = projected.shape[2] // 3
    fits = projected.shape[2] == 3 * width and width % heads == 0
    node.check(
        fits, f"the weights must have equally many columns for query, key and value, found shape {weights.shape}"
    )
    query, key, value = slices(projected, 2, [width] * 3)
    batch = x.shape[0]
    rows = join([split_heads(one_, heads) for one_ in (key, value)], 0)
    past = node.optional(4, rank=5)
    opened = None
    if past is None or not past.size:
        present = rows
    else:
        flat = (2 * batch, *past.shape[2:])
        if not node.has(6):
            present = join([reshape(past, flat), rows], 2)
        else:
            _check_room(node, 6, past.shape[3])
            length = _past_length(node, 6, 2 * batch)
            present = written(rows, reshape(past, flat), length, in_place=node.writes_in_place({4: 1}))
            opened = _up_to(node, part(length, 0, 0, batch), past.shape[3])
    keys_values = [cast(_of_beams(node, part(present, 0, index * batch, batch), 7, 8), FLOAT32) for index in range(2)]
    attended = products(node, query, keys_values, opened, _bias(node, 3, 5, present.shape[2]))
    return [attended, reshape(present, (2, batch, *present.shape[1:]))]


def multi_head_over_cache(node: OnnxNode, query: OnnxValue, key: OnnxValue, value: OnnxValue) -> list[OnnxValue | None]:
    """MultiHeadAttention with past_sequence_length: query, key and value {B, S, N H}, and pasts of maximum length."""
    heads, (batch, steps, _) = node.integer("num_heads", 1, least=1), query.shape
    query, key, value = _biased(node, 3, (query, key, value))
    pasts = [node.input(index, rank=4) for index in (6, 7)]
    room = pasts[0].shape[2]
    node.limit(8, room, steps, full_cache(room))
    lengths = _past_length(node, 8, batch)
    shared = node.writes_in_place({6: 1, 7: 2})
    presents = [
        written(split_heads(x, heads), past, lengths, in_place=shared)
        for x, past in zip((key, value), pasts, strict=True)
    ]
    if node.integer("unidirectional", 0):
        own = reshape(lengths, (batch, 1)) + node.constant(counted((1, steps)))
        opened = _up_to_each(node, own, room)
    else:
        opened = _up_to(node, lengths + (steps - 1), room)
    mask = node.optional(4)
    if mask is not None and mask.rank != 2:
        raise Unsupported(f"a mask of shape {mask.shape} over a cache is not mapped")
    if node.has(9):
        beams = node.input(9, rank=3).shape[1]
        keys_values = [_from_beams(node, x, 9, beams) for x in presents]
    else:
        keys_values = presents
    attended = products(node, query, [cast(x, FLOAT32) for x in keys_values], opened, _bias(node, 4, 5, room))
    return [attended, *presents]


def _biased(
    node: OnnxNode, index: int, inputs: tuple[OnnxValue, OnnxValue, OnnxValue]
) -> tuple[OnnxValue, OnnxValue, OnnxValue]:
    """Add the bias, if there is one, to query, key and value."""
    bias = node.optional(index, rank=1)
    if bias is None:
        return inputs
    shares = slices(bias, 0, [x.shape[2] for x in inputs])
    query, key, value = (x + share for x, share in zip(inputs, shares, strict=True))
    return query, key, value


def _past_length(node: OnnxNode, index: int, batch: int) -> OnnxValue:
    """Return a length that all batch elements share, as {B}."""
    length = node.input(index)
    node.check(length.size == 1, f"past_sequence_length must have one element, found shape {length.shape}")
    return expanded(reshape(cast(length, INT32), (1,)), (batch,))


def _check_room(node: OnnxNode, index: int, room: int) -> None:
    node.limit(index, room, 1, full_cache(room))


def _up_to(node: OnnxNode, last: OnnxValue, total: int) -> OnnxValue:
    """Return a mask of the keys up to each batch element's last position, {B, 1, 1, T}."""
    return _up_to_each(node, reshape(last, (last.size, 1)), total)


def _bias(node: OnnxNode, mask: int, bias: int, total: int) -> OnnxValue | None:
    """Return the bias of the scores, with the filter value where the mask {B, T} is 0."""
    added = node.optional(bias, rank=4)
    own_bias = None if added is None else resized(cast(added, FLOAT32), 3, total)
    given = node.optional(mask, rank=2)
    if given is None:
        return own_bias
    opened = reshape(resized(cast(given, INT32), 1, total), (given.shape[0], 1, 1, total)) > 0
    zero = node.constant(np.zeros((1, 1, 1, 1), np.float32))
    closed = where(opened, zero, zero.filled(node.number("mask_filter_value", -10000.0)))
    return closed if own_bias is None else own_bias + closed


def _of_beams(node: OnnxNode, x: OnnxValue, width: int, indirection: int) -> OnnxValue:
    """Reorder keys or values {B, N, T, H}: each position comes from the beam that computed it."""
    if not node.has(indirection):
        return x
    beams = int(node.single(width)) if node.has(width) else 1
    return _from_beams(node, x, indirection, beams)


def _from_beams(node: OnnxNode, x: OnnxValue, indirection: int, beams: int) -> OnnxValue:
    if beams == 1:
        return x
    batch, heads, total, size = x.shape
    came = reshape(cast(node.input(indirection), INT32), (batch // beams, beams, node.input(indirection).shape[-1]))
    came = resized(came, 2, total)
    first = node.constant((np.arange(batch // beams, dtype=np.int32) * beams).reshape(-1, 1, 1))
    rows = expanded(reshape(came + first, (batch, 1, total, 1)), (batch, heads, total, size))
    return gather_elements(x, rows, 0)


@onnx_op("SparseAttention", domain="com.microsoft")
def sparse_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Causal attention with grouped heads; a layout selects the blocks of keys for each block of queries.

    The layouts are compressed sparse rows, which the heads use cyclically. Past and present are caches of maximum
    length.
    """
    query, key, value = node.input(0, rank=3), node.optional(1), node.optional(2)
    heads, key_heads = node.integer("num_heads", 0, least=1), node.integer("kv_num_heads", 0, least=1)
    past_key, past_value = node.input(3, rank=4), node.input(4, rank=4)
    size, room = past_key.shape[3], past_key.shape[2]
    if key is None or value is None:
        query, key, value = slices(query, 2, (heads * size, key_heads * size, key_heads * size))
    batch, steps = query.shape[:2]
    node.limit(8, room, 0, full_cache(room))
    node.check(steps <= room, f"{full_cache(room)}, found {steps} new positions")
    lengths = reshape(cast(node.input(8), INT32), (batch,)) - steps
    lengths = maximum(lengths, lengths.filled(0))
    if node.integer("do_rotary", 0):
        query, key = turned(node, query, key, size, lengths, (9, 10), None)
    own = reshape(lengths, (batch, 1)) + node.constant(counted((1, steps)))

    def opened(first: int, count: int) -> OnnxValue:
        queries = part(own, 1, first, count)
        below = _up_to_each(node, queries, room)
        return logical_and(_blocks(node, queries, heads, room), reshape(below, (batch, 1, *below.shape[1:])))

    shared = node.writes_in_place({3: 1, 4: 2})
    if shared and past_key.dtype == query.dtype and 4 * batch * heads * steps * room <= MOST_MASK:
        return _attended_in_place(node, (query, key, value), past_key, lengths, opened(0, steps))
    presents = []
    for x, past in ((key, past_key), (value, past_value)):
        rows = cast(split_heads(x, key_heads), past.dtype)
        presents.append(written(rows, past, lengths, in_place=shared))
    keys_values = [cast(x, FLOAT32) for x in presents]
    return [products(node, query, keys_values, opened, None), *presents]


def _attended_in_place(
    node: OnnxNode,
    inputs: tuple[OnnxValue, OnnxValue, OnnxValue],
    past_key: OnnxValue,
    lengths: OnnxValue,
    opened: OnnxValue,
) -> list[OnnxValue | None]:
    """Return the outputs of DirectML's operator, which masks the scores of a few queries as a whole."""
    query, key, value = inputs
    batch, steps, width = query.shape
    room, size = past_key.shape[2:]
    sizes = (batch, width // size, steps, room)
    each = expanded(opened, (batch, sizes[1] // opened.shape[2], *opened.shape[2:]))
    outputs = over_cache(
        node,
        sizes[1],
        past_key.shape,
        QueryTensor=query,
        KeyTensor=key,
        ValueTensor=value,
        PastSequenceLengthsTensor=lengths,
        **boolean_mask(reshape(each, sizes), sizes),
    )
    return list(outputs.values())


def _up_to_each(node: OnnxNode, queries: OnnxValue, total: int) -> OnnxValue:
    """Return a mask {B, 1, S, T} of the keys up to each query {B, S}."""
    keys = node.constant(counted((1, 1, 1, total)))
    return keys <= reshape(queries, (queries.shape[0], 1, queries.shape[1], 1))


def _blocks(node: OnnxNode, queries: OnnxValue, heads: int, total: int) -> OnnxValue:
    """Return a mask {B, 1, L, S, T}: whether each layout selects the key's block for the block of the query {B, S}."""
    block = node.integer("sparse_block_size", 64, least=1)
    rows, columns = node.known(5), node.known(6)
    if rows is None or columns is None:
        raise Unsupported("block_row_indices and block_col_indices must be given")
    layouts = _layouts(rows, columns)
    count, blocks = layouts.shape[:2]
    node.check(heads % count == 0, f"num_heads must be a multiple of the {count} layouts, found {heads}")
    node.check(blocks * block >= total, f"{blocks} blocks of {block} must cover a cache of {total} positions")
    batch, steps = queries.shape
    picked = gather(node.constant(layouts), queries / block, 1)  # the picked rows: {layouts, B, S, blocks}
    wide = expanded(reshape(picked, (*picked.shape, 1)), (*picked.shape, block))
    wide = part(reshape(wide, (count, batch, steps, blocks * block)), 3, 0, total)
    return cast(reshape(transpose(wide, (1, 0, 2, 3)), (batch, 1, count, steps, total)), BOOL)


def _layouts(rows: Array, columns: Array) -> Array:
    """Convert compressed rows {layouts, blocks + 1} and columns to 0 and 1, {layouts, blocks, blocks}."""
    count, blocks = rows.shape[0], rows.shape[1] - 1
    layouts = np.zeros((count, blocks, blocks), UINT8)
    for layout in range(count):
        for row in range(blocks):
            layouts[layout, row, columns[layout, rows[layout, row] : rows[layout, row + 1]]] = 1
    return layouts
