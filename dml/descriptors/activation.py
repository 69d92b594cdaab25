"""Descriptions of the activation operators."""
from __future__ import annotations

from .base import Input, OperatorDesc, Output, UIntArray, count_of, fusable, operator


@operator
class DML_ACTIVATION_ELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_ELU.

    Reference: dml_activation_elu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float


@operator
class DML_ACTIVATION_HARDMAX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_HARDMAX.

    Reference: dml_activation_hardmax_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_HARD_SIGMOID.

    Reference: dml_activation_hard_sigmoid_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_IDENTITY_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_IDENTITY.

    Reference: dml_activation_identity_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_LEAKY_RELU.

    Reference: dml_activation_leaky_relu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float


@operator
class DML_ACTIVATION_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_LINEAR.

    Reference: dml_activation_linear_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_LOG_SOFTMAX.

    Reference: dml_activation_log_softmax_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_PARAMETERIZED_RELU.

    Reference: dml_activation_parameterized_relu_operator_desc.
    """

    InputTensor: Input
    SlopeTensor: Input
    OutputTensor: Output


@operator
class DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_PARAMETRIC_SOFTPLUS.

    Reference: dml_activation_parametric_softplus_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_RELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_RELU.

    Reference: dml_activation_relu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SCALED_ELU.

    Reference: dml_activation_scaled_elu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float
    Gamma: float


@operator
class DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SCALED_TANH.

    Reference: dml_activation_scaled_tanh_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_SIGMOID_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SIGMOID.

    Reference: dml_activation_sigmoid_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SOFTMAX.

    Reference: dml_activation_softmax_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SOFTPLUS.

    Reference: dml_activation_softplus_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Steepness: float


@operator
class DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SOFTSIGN.

    Reference: dml_activation_softsign_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_TANH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_TANH.

    Reference: dml_activation_tanh_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_THRESHOLDED_RELU.

    Reference: dml_activation_thresholded_relu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float


@operator
class DML_ACTIVATION_SHRINK_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SHRINK.

    Reference: dml_activation_shrink_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Bias: float
    Threshold: float


@operator
class DML_ACTIVATION_CELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_CELU.

    Reference: dml_activation_celu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    Alpha: float


@operator
class DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_RELU_GRAD.

    Reference: dml_activation_relu_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output


@operator
class DML_ACTIVATION_GELU_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_GELU.

    Reference: dml_activation_gelu_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()


@operator
class DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SOFTMAX1.

    Reference: dml_activation_softmax1_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_LOG_SOFTMAX1.

    Reference: dml_activation_log_softmax1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_HARDMAX1.

    Reference: dml_activation_hardmax1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_ACTIVATION_SWISH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_SWISH.

    Reference: dml_activation_swish_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    SigmoidInputScale: float


@operator
class DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ACTIVATION_HARD_SWISH.

    Reference: dml_activation_hard_swish_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    Alpha: float
    Beta: float
