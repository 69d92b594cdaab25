# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_REDUCE_OPERATOR_DESC(OperatorDesc):
    Function: e.DML_REDUCE_FUNCTION
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    @overload
    def __init__(self, Function: e.DML_REDUCE_FUNCTION | Named, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Axes: Integers, AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, Function: e.DML_REDUCE_FUNCTION | Named, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axes: Integers) -> None: ...
    @overload
    def __init__(self, Function: e.DML_REDUCE_FUNCTION | Named, InputTensor: AnyTensor, OutputTensor: AnyTensor, AxisCount: SupportsIndex | None, Axes: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_TOP_K_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputValueTensor: DML_BUFFER_TENSOR_DESC
    OutputIndexTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    K: int
    def __init__(self, InputTensor: AnyTensor, OutputValueTensor: AnyTensor, OutputIndexTensor: AnyTensor, Axis: SupportsIndex, K: SupportsIndex) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    AxisDirection: e.DML_AXIS_DIRECTION
    HasExclusiveSum: bool
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex, AxisDirection: e.DML_AXIS_DIRECTION | Named, HasExclusiveSum: Truth) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_TOP_K1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputValueTensor: DML_BUFFER_TENSOR_DESC
    OutputIndexTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    K: int
    AxisDirection: e.DML_AXIS_DIRECTION
    def __init__(self, InputTensor: AnyTensor, OutputValueTensor: AnyTensor, OutputIndexTensor: AnyTensor, Axis: SupportsIndex, K: SupportsIndex, AxisDirection: e.DML_AXIS_DIRECTION | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_NONZERO_COORDINATES_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputCountTensor: DML_BUFFER_TENSOR_DESC
    OutputCoordinatesTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, OutputCountTensor: AnyTensor, OutputCoordinatesTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ARGMIN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    AxisDirection: e.DML_AXIS_DIRECTION
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named, AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, AxisCount: SupportsIndex | None, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ARGMAX_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    AxisDirection: e.DML_AXIS_DIRECTION
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, *, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named, AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, AxisCount: SupportsIndex | None, Axes: Integers, AxisDirection: e.DML_AXIS_DIRECTION | Named) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Axis: int
    AxisDirection: e.DML_AXIS_DIRECTION
    HasExclusiveProduct: bool
    def __init__(self, InputTensor: AnyTensor, OutputTensor: AnyTensor, Axis: SupportsIndex, AxisDirection: e.DML_AXIS_DIRECTION | Named, HasExclusiveProduct: Truth) -> None: ...
