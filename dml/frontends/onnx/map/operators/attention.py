"""Attention of ONNX Runtime's com.microsoft domain."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from dml import enums
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.errors import DMLError

from ...dtypes import BOOL, INT32, DType
from ...registry import onnx_op
from ..functions import join, matmul, part, slices
from ..node import OnnxNode, Unsupported
from ..traced_arrays import counted
from ..value import OnnxValue, cast, emit, expanded, logical_and, reshape, transpose, where
from .gemm import integer_product


@onnx_op("MultiHeadAttention", domain="com.microsoft")
def multi_head_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Attention with query, key and value {B, S, N H}, packed {B, S, N, 3 or 2, H}, or key and value {B, N, T, H}.

    Key and value {B, N, T, H}, of cross-attention, already include their bias: only the query's is added. See ``_mask``
    for the masks.
    """
    query, key, value = node.input(0, least=3), node.optional(1), node.optional(2)
    heads = node.integer("num_heads", 1, least=1, most=query.shape[2])
    refuse(node, {}, {3: "qk"})
    if node.has(8) and key is not None and value is not None and query.rank == key.rank == value.rank == 3:
        from .decoder_attention import multi_head_over_cache  # imported here, because it imports this module

        return multi_head_over_cache(node, query, key, value)
    refuse(node, {8: "past_sequence_length", 9: "cache_indirection"}, {})
    fields: dict[str, Any] = {"BiasTensor": node.optional(3)}
    batch, steps, *rest = query.shape
    size = rest[-1] if query.rank == 5 else rest[0] // heads
    if query.rank == 5 and key is None and value is None:
        fields["StackedQueryKeyValueTensor"] = query
        new, value_size = steps, size
    elif key is not None and key.rank == 5 and value is None and query.rank == 3:
        fields |= {"QueryTensor": query, "StackedKeyValueTensor": key}
        new, value_size = key.shape[1], size
    elif key is not None and value is not None and query.rank == 3 and key.rank == value.rank and key.rank in (3, 4):
        if key.rank == 4:
            key, value = flat_heads(key), flat_heads(value)
            if node.has(3):
                bias, columns = node.input(3, rank=1), sum(x.shape[2] for x in (query, key, value))
                node.check(
                    bias.size == columns,
                    f"bias has {bias.size} elements instead of {columns}: query's, key's and value's",
                )
                query = query + part(bias, 0, 0, query.shape[2])
                del fields["BiasTensor"]
        fields |= {"QueryTensor": query, "KeyTensor": key, "ValueTensor": value}
        new, value_size = key.shape[1], value.shape[2] // heads
    else:
        shapes = [item.shape for item in (query, key, value) if item is not None]
        raise DMLError(f"query, key and value of shapes {shapes} are not supported by the operator")
    past_key, past_value = node.optional(6, rank=4), node.optional(7, rank=4)
    past = past_key.shape[2] if past_key is not None else 0
    if past:
        fields |= {"PastKeyTensor": past_key, "PastValueTensor": past_value}
    sizes = (batch, heads, steps, past + new)
    fields |= _mask(node, node.optional(4), node.optional(5), sizes, past, query.dtype)
    return _attended(node, fields, sizes, (size, value_size), query)


def split_heads(x: OnnxValue, heads: int) -> OnnxValue:
    """Return {batch, sequence, heads * element} as {batch, head, sequence, element}."""
    return transpose(reshape(x, (*x.shape[:2], heads, x.shape[2] // heads)), (0, 2, 1, 3))


def flat_heads(x: OnnxValue) -> OnnxValue:
    """Return {batch, head, sequence, element} as {batch, sequence, heads * element}."""
    return reshape(transpose(x, (0, 2, 1, 3)), (x.shape[0], x.shape[2], x.shape[1] * x.shape[3]))


def refuse(node: OnnxNode, inputs: dict[int, str], outputs: dict[int, str]) -> None:
    """Raise Unsupported if any of these inputs or outputs is present."""
    for index, name in inputs.items():
        if node.has(index):
            raise Unsupported(f"input {name} is not mapped")
    for index, name in outputs.items():
        if node.wants(index):
            raise Unsupported(f"output {name} is not mapped")


def refuse_attributes(node: OnnxNode, **plain: Any) -> None:
    """Raise Unsupported for an attribute that differs from its default."""
    for name, value in plain.items():
        found = node.text(name, value) if isinstance(value, str) else node.attributes.get(name, value)
        if found != value:
            raise Unsupported(f"{name} = {found!r} is not mapped")


def _attended(
    node: OnnxNode,
    fields: dict[str, Any],
    sizes: tuple[int, int, int, int],
    head_sizes: tuple[int, int],
    like: OnnxValue,
) -> list[OnnxValue | None]:
    """Return output, present key and present value. sizes: batch, heads, queries and all keys."""
    batch, heads, steps, total = sizes
    outputs: dict[str, Any] = {"OutputTensor": ((batch, steps, heads * head_sizes[1]), like.dtype)}
    for name, size in zip(("OutputPresentKeyTensor", "OutputPresentValueTensor"), head_sizes, strict=True):
        if node.wants(1) or node.wants(2):
            outputs[name] = ((batch, heads, total, size), like.dtype)
    results = emit(
        DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        outputs,
        node.builder,
        Scale=node.number("scale", 0.0) or head_sizes[0] ** -0.5,
        HeadCount=heads,
        **fields,
    )
    return [results["OutputTensor"], results.get("OutputPresentKeyTensor"), results.get("OutputPresentValueTensor")]


_MASK = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE
#: The score of a key that no query may attend to.
CLOSED = float(np.finfo(np.float32).min)


def _mask(
    node: OnnxNode,
    mask: OnnxValue | None,
    relative: OnnxValue | None,
    sizes: tuple[int, int, int, int],
    past: int,
    dtype: DType,
) -> dict[str, Any]:
    """Return an operator's fields for its mask, ``unidirectional`` and the bias of the scores, ``relative``.

    mask: key lengths {B}; ends and starts {2 B}; lengths and starts {3 B + 2}; or a mask of keys {B, T}, of queries and
    keys {B, S, T}, or of whole sequences {B, 1, M, M}. It adds mask_filter_value to scores, so that a query whose keys
    are all masked attends to them; ``unidirectional`` hides later keys from it even then.
    """
    steps, total = sizes[2:]
    filter_value = node.number("mask_filter_value", -10000.0)
    numbers = None if mask is None else cast(mask, INT32)
    if node.integer("unidirectional", 0):
        if numbers is not None:
            zero = node.constant(np.zeros((1, 1, 1, 1), dtype))
            # At most half of the range: the sum with `relative` stays finite, and above the scores of hidden later keys
            closed = zero.filled(max(filter_value, float(ml_dtypes.finfo(dtype).min) / 2))
            masked = where(_open_keys(node, numbers, sizes, past), zero, closed)
            relative = masked if relative is None else relative + masked
        triangle = node.constant(np.tri(steps, total, past, dtype=bool)[None, None])
        fields = boolean_mask(triangle, sizes) | {"MaskFilterValue": CLOSED}
    else:
        fields = _plain_mask(node, numbers, sizes, past) | {"MaskFilterValue": filter_value}
    if relative is not None:
        fields["RelativePositionBiasTensor"] = expanded(relative, sizes)
    return fields


def _plain_mask(
    node: OnnxNode, numbers: OnnxValue | None, sizes: tuple[int, int, int, int], past: int
) -> dict[str, Any]:
    batch = sizes[0]
    if numbers is None:
        return {"MaskType": _MASK.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE}
    vectors = {
        (batch,): (_MASK.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH, (1, batch)),
        (2 * batch,): (_MASK.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START, (2, batch)),
        (3 * batch + 2,): (
            _MASK.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END,
            (3 * batch + 2,),
        ),
    }
    if numbers.shape in vectors:
        kind, shape = vectors[numbers.shape]
        return {"MaskType": kind, "MaskTensor": reshape(numbers, shape)}
    return boolean_mask(_open_keys(node, numbers, sizes, past), sizes)


def boolean_mask(opened: OnnxValue, sizes: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return the mask fields for a mask of the keys to attend to, which broadcasts to {batch, heads, queries, keys}."""
    whole = expanded(cast(opened, INT32), sizes)
    return {"MaskType": _MASK.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN, "MaskTensor": whole}


def _open_keys(node: OnnxNode, mask: OnnxValue, sizes: tuple[int, int, int, int], past: int) -> OnnxValue:
    """Return a mask of the keys that queries attend to, {B, 1, S or 1, T}."""
    batch, _, steps, total = sizes
    keys = node.constant(counted((1, 1, 1, total)))
    if mask.shape in ((batch,), (2 * batch,)):
        rows = reshape(mask, (mask.size // batch, batch, 1, 1, 1))
        ends = reshape(part(rows, 0, 0, 1), (batch, 1, 1, 1))
        opened = keys < ends
        if rows.shape[0] == 2:
            opened = logical_and(opened, keys >= reshape(part(rows, 0, 1, 1), (batch, 1, 1, 1)))
        return opened
    if mask.rank == 4 and mask.shape[0] in (1, batch) and mask.shape[2] >= past + steps and mask.shape[3] >= total:
        mask = part(part(mask, 2, past, steps), 3, 0, total)
    elif mask.shape == (batch, total):
        mask = reshape(mask, (batch, 1, 1, total))
    elif mask.shape == (batch, steps, total):
        mask = reshape(mask, (batch, 1, steps, total))
    else:
        raise Unsupported(f"a mask of shape {mask.shape} is not mapped")
    return cast(mask, BOOL)


@onnx_op("Attention", domain="com.microsoft")
def attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Self-attention: multiply the input by the weights of query, key and value, then attend per head."""
    x, weights, bias = node.input(0, rank=3), node.input(1, rank=2), node.optional(2)
    refuse(node, {6: "past_sequence_length"}, {})
    projected = matmul(x, weights)
    return _self_attention(
        node, projected if bias is None else projected + bias, mask=3, past=4, relative=node.optional(5)
    )


@onnx_op("QAttention", domain="com.microsoft")
def quantized_attention(node: OnnxNode) -> list[OnnxValue | None]:
    """Attention with quantized input and weights; scales and zero points have one element, or one per column."""
    x, weights, bias = node.input(0, rank=3), node.input(1, rank=2), node.input(2)
    projected = integer_product(x, weights, node.input(3), node.input(4), node.optional(6), node.optional(7), bias)
    return _self_attention(node, projected, mask=5, past=8, relative=None)


def _self_attention(
    node: OnnxNode, projected: OnnxValue, *, mask: int, past: int, relative: OnnxValue | None
) -> list[OnnxValue | None]:
    """Attention over packed query, key and value. mask, past: indices of these inputs.

    The past holds keys and values of earlier positions, {2, B, N, P, H}; the second output holds all positions.
    """
    refuse_attributes(node, do_rotary=0, past_present_share_buffer=0)
    batch, steps, width = projected.shape
    heads = node.integer("num_heads", 1, least=1)
    sizes = node.each("qkv_hidden_sizes", 3, width // 3)
    if min(sizes) < heads or sum(sizes) != width or any(size % heads for size in sizes):
        raise DMLError(
            f"qkv_hidden_sizes must be multiples of num_heads = {heads} and add up to {width}, found {sizes}"
        )
    names = ("QueryTensor", "KeyTensor", "ValueTensor")
    fields: dict[str, Any] = dict(zip(names, slices(projected, 2, sizes), strict=True))
    before, count = node.optional(past, rank=5), 0
    if before is not None and before.size:
        count = before.shape[3]
        for index, name in enumerate(("PastKeyTensor", "PastValueTensor")):
            fields[name] = reshape(part(before, 0, index, 1), before.shape[1:])
    key_size, value_size = sizes[1] // heads, sizes[2] // heads
    all_sizes = (batch, heads, steps, count + steps)
    fields |= _mask(node, node.optional(mask), relative, all_sizes, count, projected.dtype)
    attended, *present = _attended(node, fields, all_sizes, (key_size, value_size), projected)
    if not node.wants(1):
        return [attended, None]
    return [attended, join([reshape(item, (1, *item.shape)) for item in present if item is not None], 0)]
