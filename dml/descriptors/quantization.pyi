# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputScaleTensor: DML_BUFFER_TENSOR_DESC
    OutputZeroPointTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, OutputScaleTensor: AnyTensor, OutputZeroPointTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_QUANTIZE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    QuantizationType: e.DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int
    QuantizationTensors: tuple[DML_BUFFER_TENSOR_DESC, ...]
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, *, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor, QuantizationTensorCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, QuantizationTensorCount: SupportsIndex | None, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_DEQUANTIZE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    QuantizationType: e.DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int
    QuantizationTensors: tuple[DML_BUFFER_TENSOR_DESC, ...]
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, *, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor, QuantizationTensorCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, QuantizationType: e.DML_QUANTIZATION_TYPE | Named, QuantizationTensorCount: SupportsIndex | None, QuantizationTensors: Iterable[AnyTensor], OutputTensor: AnyTensor) -> None: ...
