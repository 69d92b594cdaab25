# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    InfinityMode: e.DML_IS_INFINITY_MODE
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, InfinityMode: e.DML_IS_INFINITY_MODE | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_IF_OPERATOR_DESC(OperatorDesc):
    ConditionTensor: DML_BUFFER_TENSOR_DESC
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ConditionTensor: AnyTensor, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...
