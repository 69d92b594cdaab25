"""Descriptions of the normalizations and their gradients."""

from __future__ import annotations

from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, UIntArray, count_of, operator


@operator
class DML_BATCH_NORMALIZATION_OPERATOR_DESC(OperatorDesc):
    """Normalize with given statistics: FusedActivation(Scale * (x - Mean) / sqrt(Variance + Epsilon) + Bias).

    InputTensor, OutputTensor: {batch, channels, ...}, the same sizes. MeanTensor, VarianceTensor, ScaleTensor,
    BiasTensor: the same dimension count; each size is the input's or 1, which broadcasts. Spatial has no effect from
    4_0.
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
    """Normalize each item by its own mean and, with NormalizeVariance, variance; then scale and bias.

    InputTensor, OutputTensor: the same sizes. The mean is over height and width, with CrossChannel also over channels.
    ScaleTensor, BiasTensor: sizes that broadcast.
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
    """Divide each element by (Bias + Alpha / LocalSize * sum of squares around it)^Beta.

    InputTensor, OutputTensor: {batch, channels, height, width}, the same sizes. CrossChannel: the LocalSize neighbours
    lie across channels, otherwise in a square of height and width.
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
    """Divide by the p-norm along Axis; P is 1 or 2.

    InputTensor, OutputTensor: the same sizes and data type.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    Epsilon: float
    P: int


@operator
class DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(OperatorDesc):
    """MEAN_VARIANCE_NORMALIZATION over any Axes.

    InputTensor, OutputTensor: the same sizes. ScaleTensor, BiasTensor: sizes that broadcast; before 5_2 both or
    neither.
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
    """Gradient of LOCAL_RESPONSE_NORMALIZATION.

    InputTensor, InputGradientTensor, OutputGradientTensor: {batch, channels, height, width}, the same sizes.
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
    """Gradients of BATCH_NORMALIZATION for its input, scale and bias, with the statistics held fixed.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes. The other tensors: the sizes of MeanTensor.
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
    """Batch normalization with the batch's own mean and population variance, which are also outputs.

    InputTensor, FusedAddTensor (added before the activation), OutputTensor: the same sizes. ScaleTensor, BiasTensor,
    OutputMeanTensor, OutputVarianceTensor: the same sizes, 1 in every dimension that is reduced.
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
    """Gradients of BATCH_NORMALIZATION_TRAINING for its input, scale and bias, through the statistics too.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes. The other tensors: the sizes of MeanTensor.
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
    """MEAN_VARIANCE_NORMALIZATION1 that optionally ignores the mean (without UseMean) or the variance (UseVariance).

    InputTensor, OutputTensor: the same sizes. ScaleTensor, BiasTensor: sizes that broadcast. Without UseMean the
    divisor is the root mean square.
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
