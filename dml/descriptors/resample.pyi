# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_UPSAMPLE_2D_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleSize: DML_SIZE_2D
    InterpolationMode: e.DML_INTERPOLATION_MODE
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleSize: DML_SIZE_2D, InterpolationMode: e.DML_INTERPOLATION_MODE | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    ScaleCount: int
    Scales: tuple[float, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, *, Scales: Numbers, ScaleCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, Scales: Numbers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, ScaleCount: SupportsIndex | None, Scales: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    DimensionCount: int
    Scales: tuple[float, ...]
    InputPixelOffsets: tuple[float, ...]
    OutputPixelOffsets: tuple[float, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, *, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, DimensionCount: SupportsIndex | None, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE_GRAD_OPERATOR_DESC(OperatorDesc):
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    DimensionCount: int
    Scales: tuple[float, ...]
    InputPixelOffsets: tuple[float, ...]
    OutputPixelOffsets: tuple[float, ...]
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, *, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, DimensionCount: SupportsIndex | None, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE2_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    RoundingDirection: e.DML_AXIS_DIRECTION
    DimensionCount: int
    Scales: tuple[float, ...]
    InputPixelOffsets: tuple[float, ...]
    OutputPixelOffsets: tuple[float, ...]
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, *, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, DimensionCount: SupportsIndex | None, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE_GRAD1_OPERATOR_DESC(OperatorDesc):
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    RoundingDirection: e.DML_AXIS_DIRECTION
    DimensionCount: int
    Scales: tuple[float, ...]
    InputPixelOffsets: tuple[float, ...]
    OutputPixelOffsets: tuple[float, ...]
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, *, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...
    @overload
    def __init__(self, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, DimensionCount: SupportsIndex | None, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RESAMPLE3_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InterpolationMode: e.DML_INTERPOLATION_MODE
    RoundingDirection: e.DML_AXIS_DIRECTION
    DimensionCount: int
    Scales: tuple[float, ...]
    InputPixelOffsets: tuple[float, ...]
    OutputPixelOffsets: tuple[float, ...]
    Antialiased: bool
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, *, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, Antialiased: Truth, DimensionCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, Antialiased: Truth) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InterpolationMode: e.DML_INTERPOLATION_MODE | Named, RoundingDirection: e.DML_AXIS_DIRECTION | Named, DimensionCount: SupportsIndex | None, Scales: Numbers, InputPixelOffsets: Numbers, OutputPixelOffsets: Numbers, Antialiased: Truth) -> None: ...
