# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_SIN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_COS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_TAN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ASIN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ACOS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ATAN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_SINH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_COSH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_TANH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ASINH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ATANH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...
