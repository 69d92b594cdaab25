"""Descriptions of the training operators."""
from __future__ import annotations

from .base import Input, OperatorDesc, Output, operator


@operator
class DML_ADAM_OPTIMIZER_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ADAM_OPTIMIZER.

    Reference: dml_adam_optimizer_operator_desc.
    """

    InputParametersTensor: Input
    InputFirstMomentTensor: Input
    InputSecondMomentTensor: Input
    GradientTensor: Input
    TrainingStepTensor: Input
    OutputParametersTensor: Output
    OutputFirstMomentTensor: Output
    OutputSecondMomentTensor: Output
    LearningRate: float
    Beta1: float
    Beta2: float
    Epsilon: float
