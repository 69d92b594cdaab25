"""Attention of ONNX Runtime's com.microsoft domain; ONNX's own Attention is a function of other operators."""

from __future__ import annotations

from typing import Any

from dml import enums
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.errors import DMLError

from ..registry import onnx_op
from ..trace import Node, Unsupported
from ..value import INT32, Value, cast, emit, expanded, matmul, part, reshape


@onnx_op("MultiHeadAttention", domain="com.microsoft")
def multi_head_attention(node: Node) -> list[Value | None]:
    """Query, key and value apart, {B, S, N H} each; masks of key lengths {B} or of keys {B, T}."""
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    heads = node.integer("num_heads", 1)
    if key is None or value is None or query.rank != 3 or key.rank != 3 or value.rank != 3:
        raise Unsupported(f"{node}: packed queries, keys and values are not mapped")
    if node.integer("unidirectional", 0):
        raise Unsupported(f"{node}: unidirectional is not mapped")
    batch, steps, width = query.shape
    past_key, past_value = node.optional(6), node.optional(7)
    total = key.shape[1] + (past_key.shape[2] if past_key is not None else 0)
    scale = node.number("scale", 0.0) or (width // heads) ** -0.5
    fields: dict[str, Any] = {
        "QueryTensor": query,
        "KeyTensor": key,
        "ValueTensor": value,
        "PastKeyTensor": past_key,
        "PastValueTensor": past_value,
        "BiasTensor": node.optional(3),
        **_mask(node, node.optional(4), batch, heads, steps, total),
    }
    relative = node.optional(5)
    if relative is not None:
        fields["RelativePositionBiasTensor"] = expanded(relative, (batch, heads, steps, total))
    outputs: dict[str, Any] = {"OutputTensor": ((batch, steps, value.shape[2]), query.dtype)}
    sizes = {"OutputPresentKeyTensor": width, "OutputPresentValueTensor": value.shape[2]}
    for at, (name, size) in enumerate(sizes.items(), 1):
        if node.wants(at):
            outputs[name] = ((batch, heads, total, size // heads), query.dtype)
    made = emit(
        DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        outputs,
        node.builder,
        Scale=scale,
        MaskFilterValue=node.number("mask_filter_value", -10000.0),
        HeadCount=heads,
        **fields,
    )
    return [made["OutputTensor"], made.get("OutputPresentKeyTensor"), made.get("OutputPresentValueTensor")]


def _mask(node: Node, mask: Value | None, batch: int, heads: int, steps: int, total: int) -> dict[str, Any]:
    if mask is None:
        return {"MaskType": enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE}
    held = cast(mask, INT32)
    if mask.shape == (batch,):
        kind = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH
        return {"MaskType": kind, "MaskTensor": reshape(held, (1, batch))}
    if mask.shape == (batch, total):
        whole = expanded(reshape(held, (batch, 1, 1, total)), (batch, heads, steps, total))
    elif mask.shape == (batch, steps, total):
        whole = expanded(reshape(held, (batch, 1, steps, total)), (batch, heads, steps, total))
    else:
        raise Unsupported(f"{node}: a mask of shape {mask.shape} is not mapped")
    return {"MaskType": enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN, "MaskTensor": whole}


@onnx_op("Attention", domain="com.microsoft")
def attention(node: Node) -> Value:
    """Self-attention: the input's product with the weights of query, key and value, then attention of heads."""
    x, weights, bias = node.input(0), node.input(1), node.optional(2)
    heads = node.integer("num_heads", 1)
    if node.has(4) or node.has(5) or node.integer("unidirectional", 0) or node.wants(1):
        raise Unsupported(f"{node}: past, unidirectional and relative bias are not mapped")
    projected = matmul(x, weights)
    if bias is not None:
        projected = projected + bias
    width = projected.shape[-1]
    sizes = node.ints("qkv_hidden_sizes") or [width // 3] * 3
    if sum(sizes) != width:
        raise DMLError(f"{node}: qkv_hidden_sizes {sizes} do not make up {width}")
    query, key, value = (part(projected, 2, sum(sizes[:at]), size) for at, size in enumerate(sizes))
    batch, steps = x.shape[:2]
    made = emit(
        DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        {"OutputTensor": ((batch, steps, sizes[2]), x.dtype)},
        node.builder,
        QueryTensor=query,
        KeyTensor=key,
        ValueTensor=value,
        Scale=node.number("scale", 0.0) or (sizes[0] // heads) ** -0.5,
        MaskFilterValue=node.number("mask_filter_value", -10000.0),
        HeadCount=heads,
        **_mask(node, node.optional(3), batch, heads, steps, steps),
    )
    return made["OutputTensor"]
