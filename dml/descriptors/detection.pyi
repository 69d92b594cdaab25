# Written by tools/constructor_signatures.py; do not edit.
from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsIndex, overload

from dml import enums as e
from dml.descriptors.accepted import AnyOperator, AnyTensor, Integers, Named, Number, Numbers, Truth
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D

@dataclass(init=False, repr=False, eq=False, frozen=True)
class OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(OperatorDesc):
    BoxesTensor: DML_BUFFER_TENSOR_DESC
    ScoresTensor: DML_BUFFER_TENSOR_DESC
    LimitTensor: DML_BUFFER_TENSOR_DESC | None
    IouThresholdTensor: DML_BUFFER_TENSOR_DESC | None
    ScoreThresholdTensor: DML_BUFFER_TENSOR_DESC | None
    OutputCountTensor: DML_BUFFER_TENSOR_DESC
    OutputSelectedTensor: DML_BUFFER_TENSOR_DESC
    OutputScoresTensor: DML_BUFFER_TENSOR_DESC | None
    MaximumBoxes: int
    CenterPointBox: bool
    Inclusive: bool
    @overload
    def __init__(self, BoxesTensor: AnyTensor, ScoresTensor: AnyTensor, *, OutputCountTensor: AnyTensor, OutputSelectedTensor: AnyTensor, MaximumBoxes: SupportsIndex, CenterPointBox: Truth, Inclusive: Truth, LimitTensor: AnyTensor | None = ..., IouThresholdTensor: AnyTensor | None = ..., ScoreThresholdTensor: AnyTensor | None = ..., OutputScoresTensor: AnyTensor | None = ...) -> None: ...
    @overload
    def __init__(self, BoxesTensor: AnyTensor, ScoresTensor: AnyTensor, LimitTensor: AnyTensor | None, IouThresholdTensor: AnyTensor | None, ScoreThresholdTensor: AnyTensor | None, OutputCountTensor: AnyTensor, OutputSelectedTensor: AnyTensor, OutputScoresTensor: AnyTensor | None, MaximumBoxes: SupportsIndex, CenterPointBox: Truth, Inclusive: Truth) -> None: ...
