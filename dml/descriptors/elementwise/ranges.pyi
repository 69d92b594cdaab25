# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    Min: float
    Max: float
    @overload
    def __init__(self, *, Min: Number, Max: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ..., ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, ScaleBias: DML_SCALE_BIAS | None, Min: Number, Max: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    MinMaxDataType: e.DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, MinMaxDataType: e.DML_TENSOR_DATA_TYPE | Named, Min: DML_SCALAR_UNION, Max: DML_SCALAR_UNION, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None, MinMaxDataType: e.DML_TENSOR_DATA_TYPE | Named, Min: DML_SCALAR_UNION, Max: DML_SCALAR_UNION) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    Min: float
    Max: float
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, Min: Number, Max: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    MinMaxDataType: e.DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor, MinMaxDataType: e.DML_TENSOR_DATA_TYPE | Named, Min: DML_SCALAR_UNION, Max: DML_SCALAR_UNION) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    Min: float
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Min: Number, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None, Min: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CEIL_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    RoundingMode: e.DML_ROUNDING_MODE
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, RoundingMode: e.DML_ROUNDING_MODE | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    ZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, *, OutputTensor: AnyTensor, ZeroPointTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, ZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ScaleTensor: DML_BUFFER_TENSOR_DESC
    ZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, *, OutputTensor: AnyTensor, ZeroPointTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, ScaleTensor: AnyTensor, ZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    AScaleTensor: DML_BUFFER_TENSOR_DESC
    AZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    BTensor: DML_BUFFER_TENSOR_DESC
    BScaleTensor: DML_BUFFER_TENSOR_DESC
    BZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, ATensor: AnyTensor, AScaleTensor: AnyTensor, *, BTensor: AnyTensor, BScaleTensor: AnyTensor, OutputScaleTensor: AnyTensor, OutputTensor: AnyTensor, AZeroPointTensor: AnyTensor | None = ..., BZeroPointTensor: AnyTensor | None = ..., OutputZeroPointTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, ATensor: AnyTensor, AScaleTensor: AnyTensor, AZeroPointTensor: AnyTensor | None, BTensor: AnyTensor, BScaleTensor: AnyTensor, BZeroPointTensor: AnyTensor | None, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor) -> None: ...
