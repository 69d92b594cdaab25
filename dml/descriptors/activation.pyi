# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_ELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    @overload
    def __init__(self, *, Alpha: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_HARDMAX_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Beta: float
    @overload
    def __init__(self, *, Alpha: Number, Beta: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Beta: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_IDENTITY_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    @overload
    def __init__(self, *, Alpha: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_LINEAR_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Beta: float
    @overload
    def __init__(self, *, Alpha: Number, Beta: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Beta: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    SlopeTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, SlopeTensor: AnyTensor, OutputTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Beta: float
    @overload
    def __init__(self, *, Alpha: Number, Beta: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Beta: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_RELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Gamma: float
    @overload
    def __init__(self, *, Alpha: Number, Gamma: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Gamma: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Beta: float
    @overload
    def __init__(self, *, Alpha: Number, Beta: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Beta: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SIGMOID_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Steepness: float
    @overload
    def __init__(self, *, Steepness: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Steepness: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_TANH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    @overload
    def __init__(self, *, Alpha: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SHRINK_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Bias: float
    Threshold: float
    @overload
    def __init__(self, *, Bias: Number, Threshold: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Bias: Number, Threshold: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_CELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    @overload
    def __init__(self, *, Alpha: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    InputGradientTensor: DML_BUFFER_TENSOR_DESC
    OutputGradientTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor, InputGradientTensor: AnyTensor, OutputGradientTensor: AnyTensor) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_GELU_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    def __init__(self, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    @overload
    def __init__(self, *, Axes: Integers, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ..., AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Axes: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, AxisCount: SupportsIndex | None, Axes: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    @overload
    def __init__(self, *, Axes: Integers, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ..., AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Axes: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, AxisCount: SupportsIndex | None, Axes: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    AxisCount: int
    Axes: tuple[int, ...]
    @overload
    def __init__(self, *, Axes: Integers, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ..., AxisCount: SupportsIndex | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Axes: Integers) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, AxisCount: SupportsIndex | None, Axes: Integers) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_SWISH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    SigmoidInputScale: float
    @overload
    def __init__(self, *, SigmoidInputScale: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, SigmoidInputScale: Number) -> None: ...

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC(OperatorDesc):
    InputTensor: DML_BUFFER_TENSOR_DESC
    OutputTensor: DML_BUFFER_TENSOR_DESC
    Alpha: float
    Beta: float
    @overload
    def __init__(self, *, Alpha: Number, Beta: Number, InputTensor: AnyTensor | None = ..., OutputTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, InputTensor: AnyTensor | None, OutputTensor: AnyTensor | None, Alpha: Number, Beta: Number) -> None: ...
