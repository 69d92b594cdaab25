"""Arithmetic on one tensor or two: signs, sums, products, powers, exponentials, remainders."""

from __future__ import annotations

from ..base import (
    BinaryDesc,
    Input,
    OperatorDesc,
    OptionalOperator,
    OptionalScaleBias,
    Output,
    ScaledDesc,
    UnaryDesc,
    operator,
)


@operator
class DML_ELEMENT_WISE_ABS_OPERATOR_DESC(ScaledDesc):
    """Absolute value, |x|."""


@operator
class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(UnaryDesc):
    """The sign of each element: -1, 0 or 1."""


@operator
class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(UnaryDesc):
    """Negate each element, -x."""


@operator
class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(ScaledDesc):
    """Reciprocal, 1 / x."""


@operator
class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(ScaledDesc):
    """Square root of each element."""


@operator
class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(ScaledDesc):
    """e to the power of each element."""


@operator
class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(ScaledDesc):
    """Natural logarithm of each element."""


@operator
class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(ScaledDesc):
    """The Gauss error function of each element."""


@operator
class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(BinaryDesc):
    """Sum, a + b."""


@operator
class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(BinaryDesc):
    """Sum with an activation fused onto it, FusedActivation(a + b)."""

    FusedActivation: OptionalOperator = None


@operator
class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(BinaryDesc):
    """Difference, a - b."""


@operator
class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(BinaryDesc):
    """Product, a * b."""


@operator
class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(BinaryDesc):
    """Quotient, a / b; of integers, rounded toward zero."""


@operator
class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(BinaryDesc):
    """Remainder of the division rounded toward zero: it has the sign of a."""


@operator
class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(BinaryDesc):
    """Remainder of the division rounded down: it has the sign of b."""


@operator
class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(BinaryDesc):
    """The larger of a and b."""


@operator
class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(BinaryDesc):
    """The mean of a and b, (a + b) / 2."""


@operator
class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(BinaryDesc):
    """The smaller of a and b."""


@operator
class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(BinaryDesc):
    """Squared difference, (a - b) * (a - b)."""


@operator
class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc):
    """Power, x to the exponent at the same place; ScaleBias applies to x.

    InputTensor, OutputTensor: the same sizes and data type. ExponentTensor: those sizes; its data type may differ.
    """

    InputTensor: Input
    ExponentTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(ScaledDesc):
    """Power, x to the constant Exponent."""

    Exponent: float
