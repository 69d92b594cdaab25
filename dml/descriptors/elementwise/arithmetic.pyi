# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ABS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    FusedActivation: OperatorDesc | None
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor, FusedActivation: AnyOperator | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(OperatorDesc):
    ATensor: DML_BUFFER_TENSOR_DESC
    BTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, ATensor: AnyTensor, BTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    ExponentTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    def __init__(self, InputTensor: AnyTensor, ExponentTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    ScaleBias: DML_SCALE_BIAS | None
    Exponent: float
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Exponent: Number, ScaleBias: DML_SCALE_BIAS | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, ScaleBias: DML_SCALE_BIAS | None, Exponent: Number) -> None: ...
