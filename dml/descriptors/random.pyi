# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_RANDOM_GENERATOR_OPERATOR_DESC(OperatorDesc):
    InputStateTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    OutputStateTensor: DML_BUFFER_TENSOR_DESC | None
    Type: e.DML_RANDOM_GENERATOR_TYPE
    @overload
    def __init__(self, InputStateTensor: AnyTensor, OutputTensor: AnyTensor, *, Type: e.DML_RANDOM_GENERATOR_TYPE | Named, OutputStateTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputStateTensor: AnyTensor, OutputTensor: AnyTensor, OutputStateTensor: AnyTensor | None, Type: e.DML_RANDOM_GENERATOR_TYPE | Named) -> None: ...
