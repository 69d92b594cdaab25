"""Descriptions of the normalization operators."""
from __future__ import annotations

from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, UIntArray, count_of, operator


@operator
class DML_BATCH_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_BATCH_NORMALIZATION.

    Reference: dml_batch_normalization_operator_desc.
    """

    InputTensor: Input
    MeanTensor: Input
    VarianceTensor: Input
    ScaleTensor: Input
    BiasTensor: Input
    OutputTensor: Output
    Spatial: bool
    Epsilon: float
    FusedActivation: OptionalOperator = None


@operator
class DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION.

    Reference: dml_mean_variance_normalization_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputTensor: Output
    CrossChannel: bool
    NormalizeVariance: bool
    Epsilon: float
    FusedActivation: OptionalOperator = None


@operator
class DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION.

    Reference: dml_local_response_normalization_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    CrossChannel: bool
    LocalSize: int
    Alpha: float
    Beta: float
    Bias: float


@operator
class DML_LP_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_LP_NORMALIZATION.

    Reference: dml_lp_normalization_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    Epsilon: float
    P: int


@operator
class DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1.

    Reference: dml_mean_variance_normalization1_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    NormalizeVariance: bool
    Epsilon: float
    FusedActivation: OptionalOperator = None


@operator
class DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_LOCAL_RESPONSE_NORMALIZATION_GRAD.

    Reference: dml_local_response_normalization_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    CrossChannel: bool
    LocalSize: int
    Alpha: float
    Beta: float
    Bias: float


@operator
class DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_BATCH_NORMALIZATION_GRAD.

    Reference: dml_batch_normalization_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    MeanTensor: Input
    VarianceTensor: Input
    ScaleTensor: Input
    OutputGradientTensor: Output
    OutputScaleGradientTensor: Output
    OutputBiasGradientTensor: Output
    Epsilon: float


@operator
class DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_BATCH_NORMALIZATION_TRAINING.

    Reference: dml_batch_normalization_training_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: Input
    BiasTensor: Input
    FusedAddTensor: OptionalInput = None
    OutputTensor: Output
    OutputMeanTensor: Output
    OutputVarianceTensor: Output
    Epsilon: float
    FusedActivation: OptionalOperator = None


@operator
class DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_BATCH_NORMALIZATION_TRAINING_GRAD.

    Reference: dml_batch_normalization_training_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    MeanTensor: Input
    VarianceTensor: Input
    ScaleTensor: Input
    OutputGradientTensor: Output
    OutputScaleGradientTensor: Output
    OutputBiasGradientTensor: Output
    Epsilon: float


@operator
class DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2.

    Reference: dml_mean_variance_normalization2_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    UseMean: bool
    UseVariance: bool
    Epsilon: float
    FusedActivation: OptionalOperator = None
