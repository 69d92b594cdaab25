# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_BATCH_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    MeanTensor: DML_BUFFER_TENSOR_DESC
    VarianceTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Spatial: bool
    Epsilon: float
    FusedActivation: OperatorDesc | None
    def __init__(self, InputTensor: AnyTensor, MeanTensor: AnyTensor, VarianceTensor: AnyTensor, ScaleTensor: AnyTensor, BiasTensor: AnyTensor, OutputTensor: AnyTensor, Spatial: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    CrossChannel: bool
    NormalizeVariance: bool
    Epsilon: float
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, InputTensor: AnyTensor, *, OutputTensor: AnyTensor, CrossChannel: Truth, NormalizeVariance: Truth, Epsilon: Number, ScaleTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, CrossChannel: Truth, NormalizeVariance: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    CrossChannel: bool
    LocalSize: int
    Alpha: float
    Beta: float
    Bias: float
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, CrossChannel: Truth, LocalSize: SupportsIndex, Alpha: Number, Beta: Number, Bias: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LP_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    Epsilon: float
    P: int
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex, Epsilon: Number, P: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    NormalizeVariance: bool
    Epsilon: float
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, InputTensor: AnyTensor, *, OutputTensor: AnyTensor, Axes: Integers, NormalizeVariance: Truth, Epsilon: Number, ScaleTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., AxisCount: SupportsIndex | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, Axes: Integers, NormalizeVariance: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, AxisCount: SupportsIndex | None, Axes: Integers, NormalizeVariance: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    CrossChannel: bool
    LocalSize: int
    Alpha: float
    Beta: float
    Bias: float
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, CrossChannel: Truth, LocalSize: SupportsIndex, Alpha: Number, Beta: Number, Bias: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    MeanTensor: DML_BUFFER_TENSOR_DESC
    VarianceTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputScaleGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputBiasGradientTensor: DML_BUFFER_TENSOR_DESC
    Epsilon: float
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, MeanTensor: AnyTensor, VarianceTensor: AnyTensor, ScaleTensor: AnyTensor, OutputGradientTensor: AnyTensor, OutputScaleGradientTensor: AnyTensor, OutputBiasGradientTensor: AnyTensor, Epsilon: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    BiasTensor: DML_BUFFER_TENSOR_DESC
    FusedAddTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputMeanTensor: DML_BUFFER_TENSOR_DESC
    OutputVarianceTensor: DML_BUFFER_TENSOR_DESC
    Epsilon: float
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, BiasTensor: AnyTensor, *, OutputTensor: AnyTensor, OutputMeanTensor: AnyTensor, OutputVarianceTensor: AnyTensor, Epsilon: Number, FusedAddTensor: AnyTensor | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, BiasTensor: AnyTensor, FusedAddTensor: AnyTensor | None, OutputTensor: AnyTensor, OutputMeanTensor: AnyTensor, OutputVarianceTensor: AnyTensor, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    MeanTensor: DML_BUFFER_TENSOR_DESC
    VarianceTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputScaleGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputBiasGradientTensor: DML_BUFFER_TENSOR_DESC
    Epsilon: float
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, MeanTensor: AnyTensor, VarianceTensor: AnyTensor, ScaleTensor: AnyTensor, OutputGradientTensor: AnyTensor, OutputScaleGradientTensor: AnyTensor, OutputBiasGradientTensor: AnyTensor, Epsilon: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    UseMean: bool
    UseVariance: bool
    Epsilon: float
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, InputTensor: AnyTensor, *, OutputTensor: AnyTensor, Axes: Integers, UseMean: Truth, UseVariance: Truth, Epsilon: Number, ScaleTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ..., AxisCount: SupportsIndex | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, Axes: Integers, UseMean: Truth, UseVariance: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor, AxisCount: SupportsIndex | None, Axes: Integers, UseMean: Truth, UseVariance: Truth, Epsilon: Number, FusedActivation: AnyOperator | None = ...) -> None: ...
