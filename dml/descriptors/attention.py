"""Descriptions of multi-head attention.

Letters: B batch size, S query sequence length, K key sequence length, P past length, T = P + K, N heads, H head size.
"""

from __future__ import annotations

from ..enums import DML_MULTIHEAD_ATTENTION_MASK_TYPE
from ..enums.own import OWN_OPERATOR_TYPE
from .base import Input, OperatorDesc, OptionalInput, OptionalOutput, Output, operator, own_operator, shared_fields


@shared_fields
class AttentionDesc(OperatorDesc):
    """The fields with which all multi-head attentions begin."""

    QueryTensor: OptionalInput = None
    KeyTensor: OptionalInput = None
    ValueTensor: OptionalInput = None
    StackedQueryKeyTensor: OptionalInput = None
    StackedKeyValueTensor: OptionalInput = None
    StackedQueryKeyValueTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    MaskTensor: OptionalInput = None
    RelativePositionBiasTensor: OptionalInput = None
    PastKeyTensor: OptionalInput = None
    PastValueTensor: OptionalInput = None


@operator
class DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(AttentionDesc):
    """softmax(query x key^T * Scale + mask + bias) x value, for HeadCount heads.

    QueryTensor: {B, S, N * H}. KeyTensor, ValueTensor: {B, K, N * H}. StackedQueryKeyTensor, StackedKeyValueTensor: {B,
    K, N, 2, H}, both interleaved by head. StackedQueryKeyValueTensor: {B, K, N, 3, H}, all three. BiasTensor: {2 or 3
    parts, N * H in all}. PastKeyTensor, PastValueTensor: {B, N, P, H}. RelativePositionBiasTensor: {B, N, S, T}.
    MaskTensor: as MaskType says. Scale: the factor of query x key^T. OutputTensor: {B, S, N * H of values}.
    OutputPresentKeyTensor, OutputPresentValueTensor: {B, N, T, H}.
    """

    OutputTensor: Output
    OutputPresentKeyTensor: OptionalOutput = None
    OutputPresentValueTensor: OptionalOutput = None
    Scale: float
    MaskFilterValue: float
    HeadCount: int
    MaskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE


@operator
class DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(AttentionDesc):
    """MULTIHEAD_ATTENTION with fewer key and value heads than query heads, and past lengths per batch.

    Consecutive query heads share a key and value head. PastSequenceLengthsTensor: {B}, the filled length of the past
    tensors. Without past tensors PastSequenceLengthsTensor is INT32, and the present tensors {B, N, T, H} are a cache
    of any length T >= K that already holds the past: new keys and values are written into it in place, other rows are
    not written. The other tensors are as in MULTIHEAD_ATTENTION, where N is QueryHeadCount or KeyValueHeadCount.
    """

    PastSequenceLengthsTensor: OptionalInput = None
    OutputTensor: Output
    OutputPresentKeyTensor: OptionalOutput = None
    OutputPresentValueTensor: OptionalOutput = None
    Scale: float
    MaskFilterValue: float
    QueryHeadCount: int
    KeyValueHeadCount: int
    MaskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE


@own_operator(OWN_OPERATOR_TYPE.OWN_OPERATOR_INSERT_ROWS)
class OWN_INSERT_ROWS_OPERATOR_DESC(OperatorDesc):
    """Write rows into a cache of keys or values in place. An operator of ours: front ends create it, no query lists
    it.

    RowsTensor: {B, N, K, H}. PositionsTensor: {B}, the position of each batch element's first row; below 0 means 0.
    OutputTensor: {B, N, T, H}, bound to memory that holds the cache: other rows keep their values, and rows at
    positions starting at T are dropped.
    """

    RowsTensor: Input
    PositionsTensor: Input
    OutputTensor: Output
