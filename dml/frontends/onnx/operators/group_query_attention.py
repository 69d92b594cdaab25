"""GroupQueryAttention of ONNX Runtime's com.microsoft domain: attention of language models over a cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml import enums
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC
from dml.errors import DMLError

from ..dtypes import FLOAT32, INT32, INT64, Array
from ..functions import part, resized
from ..node import OnnxNode
from ..registry import onnx_op
from ..value import OnnxValue, cast, emit, expanded, reshape
from .attention import boolean_mask, both, refuse, refuse_attributes
from .rotary import rotated

_NOT_MAPPED = {11: "head_sink", 12: "k_scale", 13: "v_scale", 14: "q_norm_weight", 15: "k_norm_weight"}
_CLOSED = float(np.finfo(np.float32).min)


@onnx_op("GroupQueryAttention", domain="com.microsoft")
def group_query_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Query {B, S, N H}, key and value {B, S, M H}, or all three side by side; past and present {B, M, P, H}.

    The past of each batch element is as long as its number in seqlens_k says, which counts the new positions but one.
    Where all the positions are new (a first prompt) there is no past, whatever the tensors hold.
    """
    refuse(node, _NOT_MAPPED, {3: "output_qk"})
    refuse_attributes(
        node, softcap=0.0, smooth_softmax=0, qk_output=0, sliding_window_cache=0, k_quant_type="NONE",
        v_quant_type="NONE",
    )  # fmt: skip
    heads, key_heads = node.integer("num_heads", 0), node.integer("kv_num_heads", 0)
    query, key, value = _parts(node, heads, key_heads)
    batch, steps, width = query.shape
    size = width // heads
    past_key = node.optional(3, rank=4)
    room = 0 if past_key is None else past_key.shape[2]
    present, prompt = _positions(node, steps, room)
    lengths = None if prompt else reshape(cast(node.input(5), INT32), (batch,)) + (1 - steps)
    if node.integer("do_rotary", 0):
        query, key = _turned(node, query, key, size, lengths)
    fields: dict[str, Any] = {"QueryTensor": query, "KeyTensor": key, "ValueTensor": value}
    if lengths is not None:
        fields["PastKeyTensor"], fields["PastValueTensor"] = past_key, node.optional(4, rank=4)
        fields["PastSequenceLengthsTensor"] = lengths
    sizes = (batch, heads, steps, steps if prompt else room + steps)
    made = _attended(node, fields, sizes, (key_heads, size), lengths)
    results: list[OnnxValue | None] = [cast(made["OutputTensor"], query.dtype)]
    for name in ("OutputPresentKeyTensor", "OutputPresentValueTensor"):
        results.append(cast(resized(made[name], 2, present), query.dtype))
    return results


def _positions(node: OnnxNode, steps: int, room: int) -> tuple[int, bool]:
    """The positions in the present tensors, and whether all of them are new. room: those in the past tensors."""

    def sizes_of(total: Array) -> tuple[int, bool]:
        count = int(total.reshape(-1)[:1].sum())
        return max(count, room), not room or (steps > 1 and count == steps)

    found: tuple[int, bool] = node.decided(6, sizes_of)
    return found


def _attended(
    node: OnnxNode,
    fields: dict[str, Any],
    sizes: tuple[int, int, int, int],
    keys: tuple[int, int],
    past: OnnxValue | None,
) -> dict[str, OnnxValue]:
    """The operator's outputs, in float32 as the lengths are that come with them: float16 does not hold every length.

    sizes: batch, heads, queries and keys. keys: how many heads of keys, and elements of a head. past: {B} or None.
    """
    batch, heads, steps, total = sizes
    key_heads, size = keys
    bias = node.optional(10, rank=4)
    if bias is not None:
        fields["RelativePositionBiasTensor"] = expanded(resized(bias, 3, total), sizes)
    fields = {name: cast(tensor, FLOAT32) for name, tensor in fields.items() if tensor is not None}
    held = ((batch, key_heads, total, size), FLOAT32)
    return emit(
        DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC,
        {
            "OutputTensor": ((batch, steps, heads * size), FLOAT32),
            "OutputPresentKeyTensor": held,
            "OutputPresentValueTensor": held,
        },
        node.builder,
        Scale=node.number("scale", 0.0) or size**-0.5,
        MaskFilterValue=_CLOSED,
        QueryHeadCount=heads,
        KeyValueHeadCount=key_heads,
        **fields,
        **_mask(node, sizes, past),
    )


def _parts(node: OnnxNode, heads: int, key_heads: int) -> list[OnnxValue]:
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if heads < 1 or key_heads < 1 or heads % key_heads or query.rank != 3 or query.shape[2] < heads:
        raise DMLError(
            f"{node}: query must have rank 3, and num_heads be a multiple of kv_num_heads, found shape {query.shape}, "
            f"{heads} and {key_heads}"
        )
    if key is not None and value is not None:
        node.check(key.rank == value.rank == 3, f"key and value must have rank 3, found {key.shape} and {value.shape}")
        return [query, key, value]
    size = query.shape[2] // (heads + 2 * key_heads)
    widths = [heads * size, key_heads * size, key_heads * size]
    if not size or sum(widths) != query.shape[2]:
        raise DMLError(f"{node}: a query of shape {query.shape} does not hold {heads} and twice {key_heads} heads")
    return [part(query, 2, sum(widths[:at]), width) for at, width in enumerate(widths)]


def _turned(node: OnnxNode, query: OnnxValue, key: OnnxValue, size: int, past: OnnxValue | None) -> list[OnnxValue]:
    """Query and key with their rotary embeddings. past: {B}, None where there is none."""
    batch, steps = query.shape[:2]
    positions = node.constant(np.arange(steps)[None])
    given = node.optional(9)
    if given is not None and past is None:
        positions = reshape(part(reshape(cast(given, INT64), (1, given.size)), 1, 0, 1), (1, 1)) + positions
    elif given is not None:
        positions = reshape(cast(given, INT64), (batch, steps))
    elif past is not None:
        positions = reshape(cast(past, INT64), (batch, 1)) + positions
    interleaved = bool(node.integer("rotary_interleaved", 0))
    made = []
    for x in (query, key):
        split = reshape(x, (batch, steps, x.shape[2] // size, size))
        turned = rotated(split, positions, node.input(7, rank=2), node.input(8, rank=2), interleaved=interleaved)
        made.append(reshape(turned, x.shape))
    return made


def _mask(node: OnnxNode, sizes: tuple[int, int, int, int], past: OnnxValue | None) -> dict[str, Any]:
    """What a query may not look at: what comes after it and what is further back than the window.

    What is behind the new positions of a past that is not full is left out already.
    """
    _, _, steps, total = sizes
    causal, window = node.integer("causal", 1), node.integer("local_window_size", -1)
    if window < 0 and (not causal or (past is not None and steps == 1)):
        return {"MaskType": enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE}
    keys = np.arange(total, dtype=np.int32).reshape(1, 1, 1, total)
    own = np.arange(steps, dtype=np.int32).reshape(1, 1, steps, 1)
    if past is None:
        near = (keys <= own) & (keys > own - window if window >= 0 else True)
        return boolean_mask(node.constant(near), sizes)
    queries = reshape(past, (past.size, 1, 1, 1)) + node.constant(own)
    opened = node.constant(keys) <= queries
    if window >= 0:
        opened = both(opened, node.constant(keys) > queries - window)
    return boolean_mask(opened, sizes)
