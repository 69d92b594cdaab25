# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    IncludePadding: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LP_POOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    P: int
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, P: SupportsIndex, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, P: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, P: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MAX_POOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ROI_POOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ROITensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    SpatialScale: float
    PooledSize: DML_SIZE_2D
    def __init__(self, InputTensor: AnyTensor, ROITensor: AnyTensor, OutputTensor: AnyTensor, SpatialScale: Number, PooledSize: DML_SIZE_2D) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MAX_POOLING1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputIndicesTensor: DML_BUFFER_TENSOR_DESC | None
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, OutputIndicesTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, OutputIndicesTensor: AnyTensor | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, OutputIndicesTensor: AnyTensor | None, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MAX_UNPOOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    IndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, IndicesTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MAX_POOLING2_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputIndicesTensor: DML_BUFFER_TENSOR_DESC | None
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    Dilations: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, OutputIndicesTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, OutputIndicesTensor: AnyTensor | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, OutputIndicesTensor: AnyTensor | None, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(OperatorDesc):
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    IncludePadding: bool
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, IncludePadding: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MAX_POOLING_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    Dilations: tuple[int, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ROI_ALIGN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ROITensor: DML_BUFFER_TENSOR_DESC
    BatchIndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ReductionFunction: e.DML_REDUCE_FUNCTION
    InterpolationMode: e.DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    def __init__(self, InputTensor: AnyTensor, ROITensor: AnyTensor, BatchIndicesTensor: AnyTensor, OutputTensor: AnyTensor, ReductionFunction: e.DML_REDUCE_FUNCTION | Named, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, SpatialScaleX: Number, SpatialScaleY: Number, OutOfBoundsInputValue: Number, MinimumSamplesPerOutput: SupportsIndex, MaximumSamplesPerOutput: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ROI_ALIGN1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ROITensor: DML_BUFFER_TENSOR_DESC
    BatchIndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ReductionFunction: e.DML_REDUCE_FUNCTION
    InterpolationMode: e.DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    InputPixelOffset: float
    OutputPixelOffset: float
    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    AlignRegionsToCorners: bool
    def __init__(self, InputTensor: AnyTensor, ROITensor: AnyTensor, BatchIndicesTensor: AnyTensor, OutputTensor: AnyTensor, ReductionFunction: e.DML_REDUCE_FUNCTION | Named, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, SpatialScaleX: Number, SpatialScaleY: Number, InputPixelOffset: Number, OutputPixelOffset: Number, OutOfBoundsInputValue: Number, MinimumSamplesPerOutput: SupportsIndex, MaximumSamplesPerOutput: SupportsIndex, AlignRegionsToCorners: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ROI_ALIGN_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC | None
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    ROITensor: DML_BUFFER_TENSOR_DESC
    BatchIndicesTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC | None
    OutputROIGradientTensor: DML_BUFFER_TENSOR_DESC | None
    ReductionFunction: e.DML_REDUCE_FUNCTION
    InterpolationMode: e.DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    InputPixelOffset: float
    OutputPixelOffset: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    AlignRegionsToCorners: bool
    @overload
    def __init__(self, *, InputGradientTensor: AnyTensor, ROITensor: AnyTensor, BatchIndicesTensor: AnyTensor, ReductionFunction: e.DML_REDUCE_FUNCTION | Named, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, SpatialScaleX: Number, SpatialScaleY: Number, InputPixelOffset: Number, OutputPixelOffset: Number, MinimumSamplesPerOutput: SupportsIndex, MaximumSamplesPerOutput: SupportsIndex, AlignRegionsToCorners: Truth, InputTensor: AnyTensor | None = ..., OutputGradientTensor: AnyTensor | None = ..., OutputROIGradientTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, InputGradientTensor: AnyTensor, ROITensor: AnyTensor, BatchIndicesTensor: AnyTensor, OutputGradientTensor: AnyTensor | None, OutputROIGradientTensor: AnyTensor | None, ReductionFunction: e.DML_REDUCE_FUNCTION | Named, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, SpatialScaleX: Number, SpatialScaleY: Number, InputPixelOffset: Number, OutputPixelOffset: Number, MinimumSamplesPerOutput: SupportsIndex, MaximumSamplesPerOutput: SupportsIndex, AlignRegionsToCorners: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LP_POOLING1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    Dilations: tuple[int, ...]
    P: int
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, P: SupportsIndex, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, P: SupportsIndex) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, P: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_AVERAGE_POOLING1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    Dilations: tuple[int, ...]
    IncludePadding: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputScaleTensor: DML_BUFFER_TENSOR_DESC
    InputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    DimensionCount: int
    Strides: tuple[int, ...]
    WindowSize: tuple[int, ...]
    StartPadding: tuple[int, ...]
    EndPadding: tuple[int, ...]
    Dilations: tuple[int, ...]
    IncludePadding: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, *, OutputScaleTensor: AnyTensor, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth, InputZeroPointTensor: AnyTensor | None = ..., OutputZeroPointTensor: AnyTensor | None = ..., DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, InputScaleTensor: AnyTensor, InputZeroPointTensor: AnyTensor | None, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor, DimensionCount: SupportsIndex | None, Strides: Integers, WindowSize: Integers, StartPadding: Integers, EndPadding: Integers, Dilations: Integers, IncludePadding: Truth) -> None: ...
