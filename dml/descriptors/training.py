"""Description of the optimizer step."""

from __future__ import annotations

from .base import Input, OperatorDesc, Output, operator


@operator
class DML_ADAM_OPTIMIZER_OPERATOR_DESC(OperatorDesc):
    """One step of Adam: new parameters and moments from gradients.

    All tensors except TrainingStepTensor: the same sizes and data type. TrainingStepTensor: one element, t.
    LearningRate: the size of a step. Beta1, Beta2: decay rates of the first and of the second moment.
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
