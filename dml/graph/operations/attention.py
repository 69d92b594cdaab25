"""Attention."""

from __future__ import annotations

from dml import enums
from dml.arguments import checked
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.graph.builder import Tensor

from .sizes import sizes_of

__all__ = ["multihead_attention"]


@checked
def multihead_attention(
    query: Tensor, key: Tensor, value: Tensor, heads: int, *, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Compute scaled dot-product attention of {batch, sequence, heads * size} tensors.

    mask: INT32, 0 where keys are masked.
    """
    batch, sequence, width = sizes_of("multihead_attention", query, 3)
    kind = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
    if mask is not None:
        kind = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN
    outputs = query.builder.node(
        DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        {"OutputTensor": query.builder.output(query.data_type, (batch, sequence, value.sizes[-1]))},
        QueryTensor=query,
        KeyTensor=key,
        ValueTensor=value,
        MaskTensor=mask,
        Scale=scale if scale is not None else max(1, width // max(1, heads)) ** -0.5,
        MaskFilterValue=-10000.0,
        HeadCount=heads,
        MaskType=kind,
    )
    result = outputs["OutputTensor"]
    assert isinstance(result, Tensor)
    return result
