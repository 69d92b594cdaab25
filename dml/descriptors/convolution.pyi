# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_CONVOLUTION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    FilterTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Mode: e.DML_CONVOLUTION_MODE
    Direction: e.DML_CONVOLUTION_DIRECTION
    DimensionCount: int
    Strides: tuple[int, ...]
    Dilations: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    OutputPadding: tuple[int, ...]
    GroupCount: int
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, InputTensor: AnyTensor, FilterTensor: AnyTensor, *, OutputTensor: AnyTensor, Mode: e.DML_CONVOLUTION_MODE | Named, Direction: e.DML_CONVOLUTION_DIRECTION | Named, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, OutputPadding: Integers, GroupCount: SupportsIndex, BiasTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, FilterTensor: AnyTensor, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, Mode: e.DML_CONVOLUTION_MODE | Named, Direction: e.DML_CONVOLUTION_DIRECTION | Named, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, OutputPadding: Integers, GroupCount: SupportsIndex, FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, FilterTensor: AnyTensor, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, Mode: e.DML_CONVOLUTION_MODE | Named, Direction: e.DML_CONVOLUTION_DIRECTION | Named, DimensionCount: SupportsIndex | None, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, OutputPadding: Integers, GroupCount: SupportsIndex, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_CONVOLUTION_INTEGER_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    FilterTensor: DML_BUFFER_TENSOR_DESC
    FilterZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    Dilations: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    GroupCount: int
    @overload
    def __init__(self, InputTensor: AnyTensor, *, FilterTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex, InputZeroPointTensor: AnyTensor | None = ..., FilterZeroPointTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, FilterTensor: AnyTensor, FilterZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, FilterTensor: AnyTensor, FilterZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputScaleTensor: DML_BUFFER_TENSOR_DESC
    InputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    FilterTensor: DML_BUFFER_TENSOR_DESC
    FilterScaleTensor: DML_BUFFER_TENSOR_DESC
    FilterZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    Dilations: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    GroupCount: int
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, *, FilterTensor: AnyTensor, FilterScaleTensor: AnyTensor, OutputScaleTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex, InputZeroPointTensor: AnyTensor | None = ..., FilterZeroPointTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., OutputZeroPointTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, FilterTensor: AnyTensor, FilterScaleTensor: AnyTensor, FilterZeroPointTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, FilterTensor: AnyTensor, FilterScaleTensor: AnyTensor, FilterZeroPointTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, GroupCount: SupportsIndex) -> None: ...
