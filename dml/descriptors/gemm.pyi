# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_GEMM_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    CTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    TransA: e.DML_MATRIX_TRANSFORM
    TransB: e.DML_MATRIX_TRANSFORM
    Alpha: float
    Beta: float
    FusedActivation: OperatorDesc | None
    @overload
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, *, OutputTensor: AnyTensor, TransA: e.DML_MATRIX_TRANSFORM | Named, TransB: e.DML_MATRIX_TRANSFORM | Named, Alpha: Number, Beta: Number, CTensor: AnyTensor | None = ..., FusedActivation: AnyOperator | None = ...) -> None: ...
    @overload
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, CTensor: AnyTensor | None, OutputTensor: AnyTensor, TransA: e.DML_MATRIX_TRANSFORM | Named, TransB: e.DML_MATRIX_TRANSFORM | Named, Alpha: Number, Beta: Number, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    AZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    BTensor: DML_BUFFER_TENSOR_DESC
    BZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, ATensor: AnyTensor, *, BTensor: AnyTensor, OutputTensor: AnyTensor, AZeroPointTensor: AnyTensor | None = ..., BZeroPointTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, ATensor: AnyTensor, AZeroPointTensor: AnyTensor | None, BTensor: AnyTensor, BZeroPointTensor: AnyTensor | None, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(OperatorDesc):
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

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    AScaleTensor: DML_BUFFER_TENSOR_DESC
    AZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    BTensor: DML_BUFFER_TENSOR_DESC
    BScaleTensor: DML_BUFFER_TENSOR_DESC
    BZeroPointTensor: DML_BUFFER_TENSOR_DESC | None
    BiasTensor: DML_BUFFER_TENSOR_DESC | None
    OutputTensor: DML_BUFFER_TENSOR_DESC
    @overload
    def __init__(self, ATensor: AnyTensor, AScaleTensor: AnyTensor, *, BTensor: AnyTensor, BScaleTensor: AnyTensor, OutputTensor: AnyTensor, AZeroPointTensor: AnyTensor | None = ..., BZeroPointTensor: AnyTensor | None = ..., BiasTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, ATensor: AnyTensor, AScaleTensor: AnyTensor, AZeroPointTensor: AnyTensor | None, BTensor: AnyTensor, BScaleTensor: AnyTensor, BZeroPointTensor: AnyTensor | None, BiasTensor: AnyTensor | None, OutputTensor: AnyTensor) -> None: ...
