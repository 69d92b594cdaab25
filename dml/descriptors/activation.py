"""Descriptions of the activations and their gradients.

Input and output have the same sizes and data type. The tensors of an activation that another operator fuses stay None:
`DML_ACTIVATION_RELU_OPERATOR_DESC()`.
"""

from __future__ import annotations

from .base import ActivationDesc, Input, OperatorDesc, Output, UIntArray, count_of, operator, shared_fields


class RowsDesc(ActivationDesc):
    """An activation of whole rows, the last dimension."""

    TENSORS = "InputTensor, OutputTensor: the same sizes and data type; all but the last two dimensions have size 1."


@shared_fields
class AxesDesc(ActivationDesc):
    """An activation of all elements along axes."""

    TENSORS = "InputTensor, OutputTensor: the same sizes and data type. Axes: different dimensions of them."
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_ACTIVATION_ELU_OPERATOR_DESC(ActivationDesc):
    """Exponential linear unit: x where it is positive, else Alpha * (e^x - 1)."""

    Alpha: float


@operator
class DML_ACTIVATION_HARDMAX_OPERATOR_DESC(RowsDesc):
    """1 at the first largest element of each row (the last dimension), 0 elsewhere."""


@operator
class DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC(ActivationDesc):
    """A piecewise linear sigmoid: Alpha * x + Beta, limited to 0 and 1."""

    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_IDENTITY_OPERATOR_DESC(ActivationDesc):
    """The element itself, x."""


@operator
class DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC(ActivationDesc):
    """x where it is not negative, else Alpha * x."""

    Alpha: float


@operator
class DML_ACTIVATION_LINEAR_OPERATOR_DESC(ActivationDesc):
    """A line: Alpha * x + Beta."""

    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC(RowsDesc):
    """The natural logarithm of SOFTMAX, over the last dimension."""


@operator
class DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC(OperatorDesc):
    """x where it is not negative, else the slope at the same place times x.

    InputTensor, SlopeTensor, OutputTensor: the same sizes (a slope broadcasts by strides) and data type.
    """

    InputTensor: Input
    SlopeTensor: Input
    OutputTensor: Output


@operator
class DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC(ActivationDesc):
    """Alpha * ln(1 + e^(Beta * x))."""

    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_RELU_OPERATOR_DESC(ActivationDesc):
    """Rectified linear unit, max(0, x)."""


@operator
class DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC(ActivationDesc):
    """Gamma times x where it is positive, else Gamma * Alpha * (e^x - 1)."""

    Alpha: float
    Gamma: float


@operator
class DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC(ActivationDesc):
    """Alpha * tanh(Beta * x)."""

    Alpha: float
    Beta: float


@operator
class DML_ACTIVATION_SIGMOID_OPERATOR_DESC(ActivationDesc):
    """Logistic function, 1 / (1 + e^-x)."""


@operator
class DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(RowsDesc):
    """e^x divided by the sum of e^x over the last dimension."""


@operator
class DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(ActivationDesc):
    """ln(1 + e^(Steepness * x)) / Steepness. Steepness is at least 1 below feature level 6_4."""

    Steepness: float


@operator
class DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC(ActivationDesc):
    """x / (1 + |x|)."""


@operator
class DML_ACTIVATION_TANH_OPERATOR_DESC(ActivationDesc):
    """Hyperbolic tangent of each element."""


@operator
class DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC(ActivationDesc):
    """x where it is above Alpha, else 0."""

    Alpha: float


@operator
class DML_ACTIVATION_SHRINK_OPERATOR_DESC(ActivationDesc):
    """x + Bias below -Threshold, x - Bias above Threshold, 0 between."""

    Bias: float
    Threshold: float


@operator
class DML_ACTIVATION_CELU_OPERATOR_DESC(ActivationDesc):
    """Continuously differentiable ELU: max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1))."""

    Alpha: float


@operator
class DML_ACTIVATION_RELU_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of RELU: the incoming gradient where the input is positive, else 0.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes and data type.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output


@operator
class DML_ACTIVATION_GELU_OPERATOR_DESC(ActivationDesc):
    """Gaussian error linear unit: x / 2 * (1 + erf(x / sqrt(2)))."""


@operator
class DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC(AxesDesc):
    """e^x divided by the sum of e^x over Axes."""


@operator
class DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC(AxesDesc):
    """The natural logarithm of SOFTMAX1, over Axes."""


@operator
class DML_ACTIVATION_HARDMAX1_OPERATOR_DESC(AxesDesc):
    """1 at the first largest element over Axes, 0 elsewhere."""


@operator
class DML_ACTIVATION_SWISH_OPERATOR_DESC(ActivationDesc):
    """x times a sigmoid of it: x / (1 + e^(-SigmoidInputScale * x))."""

    SigmoidInputScale: float


@operator
class DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC(ActivationDesc):
    """x times a piecewise linear sigmoid: x * clamp(Alpha * x + Beta, 0, 1)."""

    Alpha: float
    Beta: float
