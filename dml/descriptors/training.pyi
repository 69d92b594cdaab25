# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class DML_ADAM_OPTIMIZER_OPERATOR_DESC(OperatorDesc):
    InputParametersTensor: DML_BUFFER_TENSOR_DESC
    InputFirstMomentTensor: DML_BUFFER_TENSOR_DESC
    InputSecondMomentTensor: DML_BUFFER_TENSOR_DESC
    GradientTensor: DML_BUFFER_TENSOR_DESC
    TrainingStepTensor: DML_BUFFER_TENSOR_DESC
    OutputParametersTensor: DML_BUFFER_TENSOR_DESC
    OutputFirstMomentTensor: DML_BUFFER_TENSOR_DESC
    OutputSecondMomentTensor: DML_BUFFER_TENSOR_DESC
    LearningRate: float
    Beta1: float
    Beta2: float
    Epsilon: float
    def __init__(self, InputParametersTensor: AnyTensor, InputFirstMomentTensor: AnyTensor, InputSecondMomentTensor: AnyTensor, GradientTensor: AnyTensor, TrainingStepTensor: AnyTensor, OutputParametersTensor: AnyTensor, OutputFirstMomentTensor: AnyTensor, OutputSecondMomentTensor: AnyTensor, LearningRate: Number, Beta1: Number, Beta2: Number, Epsilon: Number) -> None: ...
