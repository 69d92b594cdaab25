"""GroupQueryAttention of ONNX Runtime's com.microsoft domain: attention of language models over a cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import enums
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC
from dml.errors import DMLError

from ...dtypes import FLOAT32, INT32, Array, Shape
from ...registry import onnx_op
from ..functions import part, resized, slices
from ..node import OnnxNode
from ..traced_arrays import counted, of_shape
from ..value import OnnxValue, cast, emit, expanded, logical_and, maximum, reshape
from .attention import CLOSED, boolean_mask, refuse, refuse_attributes, split_heads
from .attention_products import products
from .key_value_cache import KeyValueCache, full_cache, inserted, inserted_in_place
from .normalization import root_mean_square
from .rotary import turned
from .window_cache import windowed


@onnx_op("GroupQueryAttention", domain="com.microsoft")
def group_query_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Attention of a query {B, S, N H} over key and value {B, S, M H}, or all three packed; past and present {B, M, P,
    H}.

    seqlens_k holds, for each batch element, the length of past and new positions together, minus one. If all positions
    are new (a first prompt) the past is empty, even if the tensors hold one. If past and present share their memory,
    new rows are written in place and lengths stay data, so that one plan serves every step.

    DirectML's operator has no limit on scores (softcap), no sink and no integer past: attention with these is computed
    by products and a softmax.
    """
    refuse(node, {}, {3: "output_qk"})
    refuse_attributes(node, qk_output=0)
    heads, key_heads = node.integer("num_heads", 0), node.integer("kv_num_heads", 0)
    query, key, value = _parts(node, heads, key_heads)
    steps = query.shape[1]
    size = query.shape[2] // heads
    query, key = _normalized(node, query, key, size)
    past_key = node.optional(3, rank=4)
    room = 0 if past_key is None else past_key.shape[2]
    if node.integer("sliding_window_cache", 0):
        window = node.integer("local_window_size", -1)
        node.check(window > 0, f"sliding_window_cache takes a local_window_size above 0, found {window}")
        if room >= window:
            return windowed(node, query, key, value)
        # A cache shorter than the window keeps all positions until it is full.
        full = f"the cache holds {room} positions of a window of {window}, too few for this sequence"
        node.limit(5, room, 1, full)
        node.limit(6, room, 0, full)
    if past_key is not None and node.has(4) and node.writes_in_place({3: 1, 4: 2}):
        return _in_place(node, (query, key, value), past_key)
    present, prompt = _positions(node, steps, room)
    lengths = None if prompt else _lengths(node, steps)
    if node.integer("do_rotary", 0):
        query, key = turned(node, query, key, size, lengths)
    if _is_composed(node):
        return _composed(node, (query, key, value), (key_heads, present), lengths)
    fields: dict[str, Any] = {"QueryTensor": query, "KeyTensor": key, "ValueTensor": value}
    if lengths is not None:
        fields["PastKeyTensor"], fields["PastValueTensor"] = past_key, node.optional(4, rank=4)
    fields = {name: tensor for name, tensor in fields.items() if tensor is not None}
    if any(tensor.dtype != query.dtype for tensor in fields.values()):
        fields = {name: cast(tensor, FLOAT32) for name, tensor in fields.items()}
    if lengths is not None:
        fields["PastSequenceLengthsTensor"] = lengths
    positions = steps if prompt else room + steps
    outputs = _attended(node, fields, positions, key_heads, lengths)
    results: list[OnnxValue | None] = [cast(outputs["OutputTensor"], query.dtype)]
    for name in ("OutputPresentKeyTensor", "OutputPresentValueTensor"):
        present_dtype = query.dtype if past_key is None else past_key.dtype
        results.append(cast(resized(outputs[name], 2, present), present_dtype))
    return results


def _in_place(
    node: OnnxNode, parts: tuple[OnnxValue, OnnxValue, OnnxValue], past_key: OnnxValue
) -> list[OnnxValue | None]:
    """Return the outputs where past and present share memory: a cache of maximum length."""
    query, key, value = parts
    steps, key_heads, room = query.shape[1], past_key.shape[1], past_key.shape[2]
    full = full_cache(room)
    node.limit(5, room, 1, full)
    node.limit(6, room, 0, full)
    node.check(steps <= room, f"{full}, found {steps} new positions")
    lengths = _lengths(node, steps)
    if node.integer("do_rotary", 0):
        query, key = turned(node, query, key, query.shape[2] // node.integer("num_heads", 0), lengths)
    if _is_composed(node) or past_key.dtype != query.dtype:
        return _composed(node, (query, key, value), (key_heads, room), lengths, in_place=True)
    fields: dict[str, Any] = {
        "QueryTensor": query,
        "KeyTensor": key,
        "ValueTensor": value,
        "PastSequenceLengthsTensor": lengths,
    }
    outputs = _attended(node, fields, room, key_heads, lengths)
    return [outputs["OutputTensor"], outputs["OutputPresentKeyTensor"], outputs["OutputPresentValueTensor"]]


def _lengths(node: OnnxNode, steps: int) -> OnnxValue:
    """Return the length of each batch element's past, {B}: 0 for a first prompt, which is padded at its end.

    A chunk's rows starting at query_seqlens are padding: their results are unspecified, and later chunks overwrite them
    in the cache.
    """
    ends = cast(node.input(5), INT32)
    new = node.optional(16)
    lengths = ends + (1 - steps) if new is None else ends + 1 - cast(new, INT32)
    lengths = reshape(lengths, (lengths.size,))
    return maximum(lengths, lengths.filled(0))


def _normalized(node: OnnxNode, query: OnnxValue, key: OnnxValue, size: int) -> tuple[OnnxValue, OnnxValue]:
    """Apply root mean square normalization to each head of query and key, if the node has weights for it."""
    node.check(node.has(14) == node.has(15), "q_norm_weight and k_norm_weight must be given together")
    if not node.has(14):
        return query, key
    epsilon, normalized = node.number("qk_norm_epsilon", 1e-6), []
    for x, index, name in ((query, 14, "q_norm_epsilon"), (key, 15, "k_norm_epsilon")):
        weight = node.input(index, rank=1)
        node.check(weight.size == size, f"input {index} must have {size} elements, found shape {weight.shape}")
        split = reshape(x, (*x.shape[:2], x.shape[2] // size, size))
        normalized.append(reshape(root_mean_square(split, weight, [3], node.number(name, epsilon)), x.shape))
    return normalized[0], normalized[1]


def _positions(node: OnnxNode, steps: int, room: int) -> tuple[int, bool]:
    """Return the number of positions in the present tensors, and whether all are new. room: the length of the past
    tensors."""

    def sizes_of(total: Array) -> tuple[int, bool]:
        count = int(total.reshape(-1)[:1].sum())
        return max(count, room), not room or (steps > 1 and count == steps)

    found: tuple[int, bool] = node.decided(6, sizes_of)
    return found


def _attended(
    node: OnnxNode, fields: dict[str, Any], total: int, key_heads: int, past: OnnxValue | None
) -> dict[str, OnnxValue]:
    """Return the operator's outputs by name, in the fields' data type. total: positions in its present tensors. past:
    {B}."""
    query: OnnxValue = fields["QueryTensor"]
    (batch, steps, width), heads = query.shape, node.integer("num_heads", 0)
    size, sizes = width // heads, (batch, heads, steps, total)
    bias = node.optional(10, rank=4)
    if bias is not None:
        fields["RelativePositionBiasTensor"] = expanded(cast(resized(bias, 3, total), query.dtype), sizes)
    return over_cache(node, heads, (batch, key_heads, total, size), **fields, **_mask(node, sizes, past))


def over_cache(node: OnnxNode, heads: int, present: Shape, **fields: Any) -> dict[str, OnnxValue]:
    """Attend with DirectML's operator; return its outputs by name. heads: number of query heads. present: sizes of the
    present keys and values {B, M, P, H}. fields: inputs, with QueryTensor {B, S, N H}, and the mask's type."""
    query: OnnxValue = fields["QueryTensor"]
    _, key_heads, _, size = present
    return emit(
        DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC,
        {
            "OutputTensor": (query.shape, query.dtype),
            "OutputPresentKeyTensor": (present, query.dtype),
            "OutputPresentValueTensor": (present, query.dtype),
        },
        node.builder,
        Scale=node.number("scale", 0.0) or size**-0.5,
        MaskFilterValue=CLOSED,
        QueryHeadCount=heads,
        KeyValueHeadCount=key_heads,
        **fields,
    )


def _parts(node: OnnxNode, heads: int, key_heads: int) -> list[OnnxValue]:
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if heads < 1 or key_heads < 1 or heads % key_heads or query.rank != 3 or query.shape[2] < heads:
        raise DMLError(
            f"query must have rank 3, and num_heads be a multiple of kv_num_heads, found shape {query.shape}, "
            f"{heads} and {key_heads}"
        )
    if key is not None and value is not None:
        node.check(key.rank == value.rank == 3, f"key and value must have rank 3, found {key.shape} and {value.shape}")
        return [query, key, value]
    size = query.shape[2] // (heads + 2 * key_heads)
    widths = [heads * size, key_heads * size, key_heads * size]
    if not size or sum(widths) != query.shape[2]:
        raise DMLError(
            f"a packed query must hold {heads} heads of queries and {key_heads} each of keys and values, found shape "
            f"{query.shape}"
        )
    return slices(query, 2, widths)


def _mask(node: OnnxNode, sizes: tuple[int, int, int, int], past: OnnxValue | None) -> dict[str, Any]:
    """Mask the keys after each query and those before its window.

    The unused positions of a past that is not full are masked already.
    """
    _, _, steps, total = sizes
    causal, window = node.integer("causal", 1), node.integer("local_window_size", -1)
    if window < 0 and (not causal or (past is not None and steps == 1)):
        return {"MaskType": enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE}
    return boolean_mask(_opened(node, steps, total, past, window), sizes)


def _opened(node: OnnxNode, steps: int, total: int, past: OnnxValue | None, window: int) -> OnnxValue:
    """Return a mask of the keys up to each query's own position, {B or 1, 1, S, T}. window: -1 for none."""
    if past is None:
        return node.constant(of_shape((1, 1, steps, total), lambda shape: _window_mask(shape, window)))
    keys = node.constant(counted((1, 1, 1, total)))
    queries = reshape(past, (past.size, 1, 1, 1)) + node.constant(counted((1, 1, steps, 1)))
    opened = keys <= queries
    if window >= 0:
        opened = logical_and(opened, keys > queries - window)
    return opened


def _window_mask(shape: Shape, window: int) -> Array:
    """Return the mask of a first prompt. shape: {1, 1, S, T}."""
    keys, own = np.arange(shape[3]), np.arange(shape[2])[:, None]
    is_open = (keys <= own) & (keys > own - window if window >= 0 else True)
    return is_open.reshape(shape)


# Attention by products


def _is_composed(node: OnnxNode) -> bool:
    quantized = any(node.text(name, "NONE") != "NONE" for name in ("k_quant_type", "v_quant_type"))
    return quantized or node.number("softcap", 0.0) > 0 or node.integer("smooth_softmax", 0) == 1 or node.has(11)


def _composed(
    node: OnnxNode,
    parts: tuple[OnnxValue, OnnxValue, OnnxValue],
    keys: tuple[int, int],
    past: OnnxValue | None,
    *,
    in_place: bool = False,
) -> list[OnnxValue | None]:
    """Return output, present key and present value. keys: number of key heads, and of positions in the present
    tensors.

    in_place: the present tensors share the memory of the past ones.
    """
    query, *new = parts
    (_, steps, _), (key_heads, room) = query.shape, keys
    size = new[0].shape[2] // key_heads
    total = steps if past is None else room
    presents, keys_values = [], []
    for index, x in enumerate(new):
        cache = KeyValueCache.of(node, index, key_heads, size)
        split = split_heads(x, key_heads)
        rows = cache.stored(split)
        before = node.optional(3 + index, rank=4)
        if before is not None:
            rows = cast(rows, before.dtype)
            if in_place:
                assert past is not None
                rows = inserted_in_place(rows, before.shape, past)
            elif past is not None:
                rows = inserted(rows, resized(before, 2, room), past)
        presents.append(resized(rows, 2, room))
        keys_values.append(cast(cache.loaded(part(rows, 2, 0, total)), FLOAT32))
    bias = node.optional(10, rank=4)
    wide = None if bias is None else resized(cast(bias, FLOAT32), 3, total)
    mixed = products(node, query, keys_values, _open_keys(node, steps, total, past), wide)
    return [mixed, *presents]


def _open_keys(node: OnnxNode, steps: int, total: int, past: OnnxValue | None) -> OnnxValue | None:
    """Return a mask of the keys that queries attend to; None if they attend to all."""
    causal, window = node.integer("causal", 1), node.integer("local_window_size", -1)
    if causal or window >= 0:
        return _opened(node, steps, total, past, window)
    if past is None:
        return None
    last = reshape(past, (past.size, 1, 1, 1)) + (steps - 1)
    return node.constant(counted((1, 1, 1, total))) <= last
