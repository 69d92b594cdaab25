# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SLICE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Offsets: tuple[int, ...]
    Sizes: tuple[int, ...]
    Strides: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Offsets: Integers, Sizes: Integers, Strides: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Offsets: Integers, Sizes: Integers, Strides: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Offsets: Integers, Sizes: Integers, Strides: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_CAST_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SPLIT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputCount: int
    OutputTensors: tuple[DML_BUFFER_TENSOR_DESC, ...]
    Axis: int
    @overload
    def __init__(self, InputTensor: AnyTensor, *, OutputTensors: Iterable[AnyTensor], Axis: SupportsIndex, OutputCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensors: Iterable[AnyTensor], Axis: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputCount: SupportsIndex | None, OutputTensors: Iterable[AnyTensor], Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_JOIN_OPERATOR_DESC(OperatorDesc):
    InputCount: int
    InputTensors: tuple[DML_BUFFER_TENSOR_DESC, ...]
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    @overload
    def __init__(self, *, InputTensors: Iterable[AnyTensor], OutputTensor: AnyTensor, Axis: SupportsIndex, InputCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensors: Iterable[AnyTensor], OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputCount: SupportsIndex | None, InputTensors: Iterable[AnyTensor], OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_PADDING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    PaddingMode: e.DML_PADDING_MODE
    PaddingValue: float
    DimensionCount: int
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValue: Number, *, StartPadding: Integers, EndPadding: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValue: Number, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValue: Number, DimensionCount: SupportsIndex | None, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_VALUE_SCALE_2D_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Scale: float
    ChannelCount: int
    Bias: tuple[float, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Scale: Number, *, Bias: Numbers, ChannelCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Scale: Number, Bias: Numbers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Scale: Number, ChannelCount: SupportsIndex | None, Bias: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GATHER_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    IndexDimensions: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex, IndexDimensions: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SPACE_TO_DEPTH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    BlockSize: int
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, BlockSize: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DEPTH_TO_SPACE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    BlockSize: int
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, BlockSize: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_TILE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    RepeatsCount: int
    Repeats: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Repeats: Integers, RepeatsCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Repeats: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, RepeatsCount: SupportsIndex | None, Repeats: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DIAGONAL_MATRIX_OPERATOR_DESC(OperatorDesc):
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Offset: int
    Value: float
    def __init__(self, OutputTensor: AnyTensor, Offset: SupportsIndex, Value: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SCATTER_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    UpdatesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, UpdatesTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ONE_HOT_OPERATOR_DESC(OperatorDesc):
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    ValuesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    def __init__(self, IndicesTensor: AnyTensor, ValuesTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(OperatorDesc):
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ValueDataType: e.DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION
    def __init__(self, OutputTensor: AnyTensor, ValueDataType: e.DML_TENSOR_DATA_TYPE | Named, Value: DML_SCALAR_UNION) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(OperatorDesc):
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ValueDataType: e.DML_TENSOR_DATA_TYPE
    ValueStart: DML_SCALAR_UNION
    ValueDelta: DML_SCALAR_UNION
    def __init__(self, OutputTensor: AnyTensor, ValueDataType: e.DML_TENSOR_DATA_TYPE | Named, ValueStart: DML_SCALAR_UNION, ValueDelta: DML_SCALAR_UNION) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    SequenceLengthsTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    def __init__(self, InputTensor: AnyTensor, SequenceLengthsTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GATHER_ELEMENTS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GATHER_ND_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InputDimensionCount: int
    IndicesDimensionCount: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, OutputTensor: AnyTensor, InputDimensionCount: SupportsIndex, IndicesDimensionCount: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SCATTER_ND_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    UpdatesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InputDimensionCount: int
    IndicesDimensionCount: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, UpdatesTensor: AnyTensor, OutputTensor: AnyTensor, InputDimensionCount: SupportsIndex, IndicesDimensionCount: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SLICE1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    InputWindowOffsets: tuple[int, ...]
    InputWindowSizes: tuple[int, ...]
    InputWindowStrides: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DEPTH_TO_SPACE1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    BlockSize: int
    Order: e.DML_DEPTH_SPACE_ORDER
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, BlockSize: SupportsIndex, Order: e.DML_DEPTH_SPACE_ORDER | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SPACE_TO_DEPTH1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    BlockSize: int
    Order: e.DML_DEPTH_SPACE_ORDER
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, BlockSize: SupportsIndex, Order: e.DML_DEPTH_SPACE_ORDER | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_SLICE_GRAD_OPERATOR_DESC(OperatorDesc):
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    InputWindowOffsets: tuple[int, ...]
    InputWindowSizes: tuple[int, ...]
    InputWindowStrides: tuple[int, ...]
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, *, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, DimensionCount: SupportsIndex | None, InputWindowOffsets: Integers, InputWindowSizes: Integers, InputWindowStrides: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GATHER_ND1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InputDimensionCount: int
    IndicesDimensionCount: int
    BatchDimensionCount: int
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, OutputTensor: AnyTensor, InputDimensionCount: SupportsIndex, IndicesDimensionCount: SupportsIndex, BatchDimensionCount: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_PADDING1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    PaddingMode: e.DML_PADDING_MODE
    PaddingValueDataType: e.DML_TENSOR_DATA_TYPE
    PaddingValue: DML_SCALAR_UNION
    DimensionCount: int
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValueDataType: e.DML_TENSOR_DATA_TYPE | Named, PaddingValue: DML_SCALAR_UNION, *, StartPadding: Integers, EndPadding: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValueDataType: e.DML_TENSOR_DATA_TYPE | Named, PaddingValue: DML_SCALAR_UNION, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, PaddingMode: e.DML_PADDING_MODE | Named, PaddingValueDataType: e.DML_TENSOR_DATA_TYPE | Named, PaddingValue: DML_SCALAR_UNION, DimensionCount: SupportsIndex | None, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DIAGONAL_MATRIX1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ValueDataType: e.DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION
    DiagonalFillBegin: int
    DiagonalFillEnd: int
    @overload
    def __init__(self, *, OutputTensor: AnyTensor, ValueDataType: e.DML_TENSOR_DATA_TYPE | Named, Value: DML_SCALAR_UNION, DiagonalFillBegin: SupportsIndex, DiagonalFillEnd: SupportsIndex, InputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor, ValueDataType: e.DML_TENSOR_DATA_TYPE | Named, Value: DML_SCALAR_UNION, DiagonalFillBegin: SupportsIndex, DiagonalFillEnd: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_FOLD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    WindowSizes: tuple[int, ...]
    Strides: tuple[int, ...]
    Dilations: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_UNFOLD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    WindowSizes: tuple[int, ...]
    Strides: tuple[int, ...]
    Dilations: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, WindowSizes: Integers, Strides: Integers, Dilations: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class OWN_REDUCE_INTO_ROWS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    UpdatesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Function: e.DML_REDUCE_FUNCTION
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, UpdatesTensor: AnyTensor, OutputTensor: AnyTensor, Function: e.DML_REDUCE_FUNCTION | Named) -> None: ...

DML_SCATTER_ELEMENTS_OPERATOR_DESC = DML_SCATTER_OPERATOR_DESC
