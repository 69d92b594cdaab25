"""ONNX's own Attention."""

from __future__ import annotations

from functools import partial
from math import inf, prod
from typing import Any

import numpy as np

from dml import capability, enums
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC

from ...dtypes import BOOL, FLOAT16, FLOAT32, Array, Shape
from ...registry import onnx_op
from ..functions import matmul, reduce
from ..node import OnnxNode
from ..traced_arrays import of_shape
from ..value import OnnxValue, cast, emit, expanded, logical_and, reshape, where
from .activation import softmax_along
from .attention import boolean_mask, flat_heads, split_heads

_Sizes = tuple[int, int, int, int]


@onnx_op("Attention", since=23)
def onnx_attention(node: OnnxNode) -> list[OnnxValue | None] | None:
    """Attention of a query {B, N, S, H} or {B, S, N H} over keys and values of M heads; past and present {B, M, T, H}.

    Returns None for what DirectML's operator lacks, which the function of ONNX's schema computes: limits on scores
    (softcap), lengths of padded keys, windows, the scores as an output, and types other than float32 and float16.
    Rows without a key to attend to are zero.
    """
    inputs = [node.input(index) for index in range(3)]
    past = [x for index in (4, 5) if (x := node.optional(index, rank=4)) is not None and x.shape[2]]
    mask = node.optional(3)
    if not _is_plain(node, [*inputs, *past], mask):
        return None
    query, key, value = inputs
    if query.rank == 4:
        heads, key_heads = query.shape[1], key.shape[1]
    else:
        heads, key_heads = node.integer("q_num_heads", 0, least=1), node.integer("kv_num_heads", 0, least=1)
        query, key, value = (split_heads(x, n) for x, n in ((query, heads), (key, key_heads), (value, key_heads)))
    (batch, _, steps, size), new = query.shape, key.shape[2]
    before = past[0].shape[2] if past else 0
    total = before + new
    fits = heads % key_heads == 0 and size == key.shape[3] and new == value.shape[2] and key_heads == value.shape[1]
    if not fits or (mask is not None and mask.shape[-1] != total):
        return None
    sizes = (batch, heads, steps, total)
    causal = bool(node.integer("is_causal", 0)) and not (steps == 1 and new == 1)
    if causal and new != steps and before:
        return None
    opened, bias = None, None
    if causal:
        opened = node.constant(of_shape((1, 1, steps, total), partial(_causal, aligned=new != steps)))
    if mask is not None and mask.dtype == BOOL:
        opened = mask if opened is None else logical_and(mask, opened)
    elif mask is not None:
        bias = cast(mask, query.dtype)
    scale = node.number("scale", size**-0.5)
    presents: list[OnnxValue] = [key, value]
    if steps == 1 and inputs[0].rank == 4 and not past:
        result = _of_one_query(query, key, value, opened, bias, scale)
    else:
        result, *presents = _by_operator(node, (query, key, value), past, sizes, scale, opened, bias)
    if mask is not None:
        result = where(_attends(opened, bias), result, result.filled(0))
    if inputs[0].rank == 3:
        result = flat_heads(result)
    return [result, *presents]


def _is_plain(node: OnnxNode, tensors: list[OnnxValue], mask: OnnxValue | None) -> bool:
    """Whether DirectML's operator supports everything that the node requests."""
    query = tensors[0]
    windows = max(node.integer(name, -1) for name in ("left_window_size", "right_window_size"))
    level = capability.operator_introduced(enums.DML_OPERATOR_MULTIHEAD_ATTENTION1)
    return (
        not (node.has(6) or node.wants(3) or node.number("softcap", 0.0) > 0 or windows >= 0)
        and node.builder.device.feature_level >= level
        and query.dtype in (FLOAT32, FLOAT16)
        and all(x.dtype == query.dtype and prod(x.shape) > 0 for x in tensors)
        and len({x.rank for x in tensors[:3]}) == 1
        and query.rank in (3, 4)
        and (mask is None or (1 <= mask.rank <= 4 and mask.dtype in (BOOL, FLOAT32, FLOAT16)))
    )


def _causal(shape: Shape, *, aligned: bool) -> Array:
    """Return the mask of the keys up to each query's own. shape: {1, 1, S, T}.

    The last query corresponds to the last key or, if ``aligned``, the first query to the first key.
    """
    return np.tri(shape[2], shape[3], 0 if aligned else shape[3] - shape[2], dtype=bool)[None, None]


def _attends(opened: OnnxValue | None, bias: OnnxValue | None) -> OnnxValue:
    """Return whether each row attends to a key, {..., S, 1}."""
    if bias is None:
        assert opened is not None
        found = cast(opened, FLOAT32)
        return _most(found) > 0
    if opened is not None:
        bias = where(opened, bias, bias.filled(-inf))
    return _most(bias) > -inf


def _most(x: OnnxValue) -> OnnxValue:
    return reduce(x, enums.DML_REDUCE_FUNCTION_MAX, [x.rank - 1])


def _by_operator(
    node: OnnxNode, parts: tuple[OnnxValue, OnnxValue, OnnxValue], past: list[OnnxValue], sizes: _Sizes, scale: float,
    opened: OnnxValue | None, bias: OnnxValue | None,
) -> list[OnnxValue]:  # fmt: skip
    """Attend with DirectML's operator. Returns the result {B, N, S, H}, and the present keys and values."""
    query, key, value = parts
    batch, heads, steps, total = sizes
    key_heads, value_size = key.shape[1], value.shape[3]
    names = ("QueryTensor", "KeyTensor", "ValueTensor")
    fields = {name: flat_heads(x) for name, x in zip(names, parts, strict=True)}
    fields |= dict(zip(("PastKeyTensor", "PastValueTensor"), past, strict=False))
    if bias is not None:
        fields["RelativePositionBiasTensor"] = expanded(bias, sizes)
    plain = {"MaskType": enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE}
    masked = plain if opened is None else boolean_mask(opened, sizes)
    outputs: dict[str, Any] = {"OutputTensor": ((batch, steps, heads * value_size), query.dtype)}
    if past:
        outputs["OutputPresentKeyTensor"] = (batch, key_heads, total, key.shape[3]), query.dtype
        outputs["OutputPresentValueTensor"] = (batch, key_heads, total, value_size), query.dtype
    found = emit(
        DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, outputs, node.builder, Scale=scale, MaskFilterValue=-inf,
        QueryHeadCount=heads, KeyValueHeadCount=key_heads, **fields, **masked,
    )  # fmt: skip
    result = split_heads(found["OutputTensor"], heads)
    if not past:
        return [result, key, value]
    return [result, found["OutputPresentKeyTensor"], found["OutputPresentValueTensor"]]


def _of_one_query(
    query: OnnxValue, key: OnnxValue, value: OnnxValue, opened: OnnxValue | None, bias: OnnxValue | None, scale: float
) -> OnnxValue:
    """Attend by products on keys and values in their own layout: the operator requires another order of dimensions.

    The query heads that share a key head are the rows of one product.
    """
    (batch, heads, _, size), (_, key_heads, total, _) = query.shape, key.shape
    rows = reshape(query * scale, (batch, key_heads, heads // key_heads, size))
    scores = reshape(matmul(rows, key, transpose_b=True), (batch, heads, 1, total))
    if bias is not None:
        scores = scores + bias
    if opened is not None:
        scores = where(opened, scores, scores.filled(-inf))
    weights = reshape(softmax_along(scores, 3), (batch, key_heads, heads // key_heads, total))
    return reshape(matmul(weights, value), (batch, heads, 1, value.shape[3]))
