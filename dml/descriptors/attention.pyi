# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(OperatorDesc):
    QueryTensor: DML_BUFFER_TENSOR_DESC | None
    KeyTensor: DML_BUFFER_TENSOR_DESC | None
    ValueTensor: DML_BUFFER_TENSOR_DESC | None
    StackedQueryKeyTensor: DML_BUFFER_TENSOR_DESC | None
    StackedKeyValueTensor: DML_BUFFER_TENSOR_DESC | None
    StackedQueryKeyValueTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    MaskTensor: DML_BUFFER_TENSOR_DESC | None
    RelativePositionBiasTensor: DML_BUFFER_TENSOR_DESC | None
    PastKeyTensor: DML_BUFFER_TENSOR_DESC | None
    PastValueTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputPresentKeyTensor: DML_BUFFER_TENSOR_DESC | None
    OutputPresentValueTensor: DML_BUFFER_TENSOR_DESC | None
    Scale: float
    MaskFilterValue: float
    HeadCount: int
    MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE
    @overload
    def __init__(self, *, OutputTensor: AnyTensor, Scale: Number, MaskFilterValue: Number, HeadCount: SupportsIndex, MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE | Named, QueryTensor: AnyTensor | None = ..., KeyTensor: AnyTensor | None = ..., ValueTensor: AnyTensor | None = ..., StackedQueryKeyTensor: AnyTensor | None = ..., StackedKeyValueTensor: AnyTensor | None = ..., StackedQueryKeyValueTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., MaskTensor: AnyTensor | None = ..., RelativePositionBiasTensor: AnyTensor | None = ..., PastKeyTensor: AnyTensor | None = ..., PastValueTensor: AnyTensor | None = ..., OutputPresentKeyTensor: AnyTensor | None = ..., OutputPresentValueTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, QueryTensor: AnyTensor | None, KeyTensor: AnyTensor | None, ValueTensor: AnyTensor | None, StackedQueryKeyTensor: AnyTensor | None, StackedKeyValueTensor: AnyTensor | None, StackedQueryKeyValueTensor: AnyTensor | None, BiasTensor: AnyTensor | None, MaskTensor: AnyTensor | None, RelativePositionBiasTensor: AnyTensor | None, PastKeyTensor: AnyTensor | None, PastValueTensor: AnyTensor | None, OutputTensor: AnyTensor, OutputPresentKeyTensor: AnyTensor | None, OutputPresentValueTensor: AnyTensor | None, Scale: Number, MaskFilterValue: Number, HeadCount: SupportsIndex, MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(OperatorDesc):
    QueryTensor: DML_BUFFER_TENSOR_DESC | None
    KeyTensor: DML_BUFFER_TENSOR_DESC | None
    ValueTensor: DML_BUFFER_TENSOR_DESC | None
    StackedQueryKeyTensor: DML_BUFFER_TENSOR_DESC | None
    StackedKeyValueTensor: DML_BUFFER_TENSOR_DESC | None
    StackedQueryKeyValueTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    MaskTensor: DML_BUFFER_TENSOR_DESC | None
    RelativePositionBiasTensor: DML_BUFFER_TENSOR_DESC | None
    PastKeyTensor: DML_BUFFER_TENSOR_DESC | None
    PastValueTensor: DML_BUFFER_TENSOR_DESC | None
    PastSequenceLengthsTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputPresentKeyTensor: DML_BUFFER_TENSOR_DESC | None
    OutputPresentValueTensor: DML_BUFFER_TENSOR_DESC | None
    Scale: float
    MaskFilterValue: float
    QueryHeadCount: int
    KeyValueHeadCount: int
    MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE
    @overload
    def __init__(self, *, OutputTensor: AnyTensor, Scale: Number, MaskFilterValue: Number, QueryHeadCount: SupportsIndex, KeyValueHeadCount: SupportsIndex, MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE | Named, QueryTensor: AnyTensor | None = ..., KeyTensor: AnyTensor | None = ..., ValueTensor: AnyTensor | None = ..., StackedQueryKeyTensor: AnyTensor | None = ..., StackedKeyValueTensor: AnyTensor | None = ..., StackedQueryKeyValueTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., MaskTensor: AnyTensor | None = ..., RelativePositionBiasTensor: AnyTensor | None = ..., PastKeyTensor: AnyTensor | None = ..., PastValueTensor: AnyTensor | None = ..., PastSequenceLengthsTensor: AnyTensor | None = ..., OutputPresentKeyTensor: AnyTensor | None = ..., OutputPresentValueTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, QueryTensor: AnyTensor | None, KeyTensor: AnyTensor | None, ValueTensor: AnyTensor | None, StackedQueryKeyTensor: AnyTensor | None, StackedKeyValueTensor: AnyTensor | None, StackedQueryKeyValueTensor: AnyTensor | None, BiasTensor: AnyTensor | None, MaskTensor: AnyTensor | None, RelativePositionBiasTensor: AnyTensor | None, PastKeyTensor: AnyTensor | None, PastValueTensor: AnyTensor | None, PastSequenceLengthsTensor: AnyTensor | None, OutputTensor: AnyTensor, OutputPresentKeyTensor: AnyTensor | None, OutputPresentValueTensor: AnyTensor | None, Scale: Number, MaskFilterValue: Number, QueryHeadCount: SupportsIndex, KeyValueHeadCount: SupportsIndex, MaskType: e.DML_MULTIHEAD_ATTENTION_MASK_TYPE | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class OWN_INSERT_ROWS_OPERATOR_DESC(OperatorDesc):
    RowsTensor: DML_BUFFER_TENSOR_DESC
    PositionsTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, RowsTensor: AnyTensor, PositionsTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...
