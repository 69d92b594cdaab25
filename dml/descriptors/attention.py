"""Descriptions of the attention operators."""
from __future__ import annotations

from ..enums import DML_MULTIHEAD_ATTENTION_MASK_TYPE
from .base import OperatorDesc, OptionalInput, OptionalOutput, Output, operator


@operator
class DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MULTIHEAD_ATTENTION.

    Reference: dml_multihead_attention_operator_desc.
    """

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
    OutputTensor: Output
    OutputPresentKeyTensor: OptionalOutput = None
    OutputPresentValueTensor: OptionalOutput = None
    Scale: float
    MaskFilterValue: float
    HeadCount: int
    MaskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE


@operator
class DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MULTIHEAD_ATTENTION1.

    Reference: dml_multihead_attention1_operator_desc.
    """

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
    PastSequenceLengthsTensor: OptionalInput = None
    OutputTensor: Output
    OutputPresentKeyTensor: OptionalOutput = None
    OutputPresentValueTensor: OptionalOutput = None
    Scale: float
    MaskFilterValue: float
    QueryHeadCount: int
    KeyValueHeadCount: int
    MaskType: DML_MULTIHEAD_ATTENTION_MASK_TYPE
