# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RNN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    WeightTensor: DML_BUFFER_TENSOR_DESC
    RecurrenceTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    HiddenInitTensor: DML_BUFFER_TENSOR_DESC | None
    SequenceLengthsTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSequenceTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSingleTensor: DML_BUFFER_TENSOR_DESC | None
    ActivationDescCount: int
    ActivationDescs: tuple[OperatorDesc, ...]
    Direction: e.DML_RECURRENT_NETWORK_DIRECTION
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, *, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, BiasTensor: AnyTensor | None = ..., HiddenInitTensor: AnyTensor | None = ..., SequenceLengthsTensor: AnyTensor | None = ..., OutputSequenceTensor: AnyTensor | None = ..., OutputSingleTensor: AnyTensor | None = ..., ActivationDescCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, ActivationDescCount: SupportsIndex | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LSTM_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    WeightTensor: DML_BUFFER_TENSOR_DESC
    RecurrenceTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    HiddenInitTensor: DML_BUFFER_TENSOR_DESC | None
    CellMemInitTensor: DML_BUFFER_TENSOR_DESC | None
    SequenceLengthsTensor: DML_BUFFER_TENSOR_DESC | None
    PeepholeTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSequenceTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSingleTensor: DML_BUFFER_TENSOR_DESC | None
    OutputCellSingleTensor: DML_BUFFER_TENSOR_DESC | None
    ActivationDescCount: int
    ActivationDescs: tuple[OperatorDesc, ...]
    Direction: e.DML_RECURRENT_NETWORK_DIRECTION
    ClipThreshold: float
    UseClipThreshold: bool
    CoupleInputForget: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, *, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, ClipThreshold: Number, UseClipThreshold: Truth, CoupleInputForget: Truth, BiasTensor: AnyTensor | None = ..., HiddenInitTensor: AnyTensor | None = ..., CellMemInitTensor: AnyTensor | None = ..., SequenceLengthsTensor: AnyTensor | None = ..., PeepholeTensor: AnyTensor | None = ..., OutputSequenceTensor: AnyTensor | None = ..., OutputSingleTensor: AnyTensor | None = ..., OutputCellSingleTensor: AnyTensor | None = ..., ActivationDescCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, CellMemInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, PeepholeTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, OutputCellSingleTensor: AnyTensor | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, ClipThreshold: Number, UseClipThreshold: Truth, CoupleInputForget: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, CellMemInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, PeepholeTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, OutputCellSingleTensor: AnyTensor | None, ActivationDescCount: SupportsIndex | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, ClipThreshold: Number, UseClipThreshold: Truth, CoupleInputForget: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GRU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    WeightTensor: DML_BUFFER_TENSOR_DESC
    RecurrenceTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    HiddenInitTensor: DML_BUFFER_TENSOR_DESC | None
    SequenceLengthsTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSequenceTensor: DML_BUFFER_TENSOR_DESC | None
    OutputSingleTensor: DML_BUFFER_TENSOR_DESC | None
    ActivationDescCount: int
    ActivationDescs: tuple[OperatorDesc, ...]
    Direction: e.DML_RECURRENT_NETWORK_DIRECTION
    LinearBeforeReset: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, *, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, LinearBeforeReset: Truth, BiasTensor: AnyTensor | None = ..., HiddenInitTensor: AnyTensor | None = ..., SequenceLengthsTensor: AnyTensor | None = ..., OutputSequenceTensor: AnyTensor | None = ..., OutputSingleTensor: AnyTensor | None = ..., ActivationDescCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, LinearBeforeReset: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, WeightTensor: AnyTensor, RecurrenceTensor: AnyTensor, BiasTensor: AnyTensor | None, HiddenInitTensor: AnyTensor | None, SequenceLengthsTensor: AnyTensor | None, OutputSequenceTensor: AnyTensor | None, OutputSingleTensor: AnyTensor | None, ActivationDescCount: SupportsIndex | None, ActivationDescs: Iterable[AnyOperator], Direction: e.DML_RECURRENT_NETWORK_DIRECTION | Named, LinearBeforeReset: Truth) -> None: ...
