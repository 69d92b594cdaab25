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
    """Absolute value, |x|.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_abs_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(UnaryDesc):
    """The sign of each element: -1, 0 or 1.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sign_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(UnaryDesc):
    """Negate each element, -x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_negate_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(ScaledDesc):
    """Reciprocal, 1 / x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_recip_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(ScaledDesc):
    """Square root of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sqrt_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(ScaledDesc):
    """e to the power of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_exp_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(ScaledDesc):
    """Natural logarithm of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_log_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(ScaledDesc):
    """The Gauss error function of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_erf_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(BinaryDesc):
    """Sum, a + b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_add_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(BinaryDesc):
    """Sum with an activation fused onto it, FusedActivation(a + b).

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_add1_operator_desc.
    """

    FusedActivation: OptionalOperator = None


@operator
class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(BinaryDesc):
    """Difference, a - b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_subtract_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(BinaryDesc):
    """Product, a * b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_multiply_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(BinaryDesc):
    """Quotient, a / b; of integers, rounded toward zero.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_divide_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(BinaryDesc):
    """Remainder of the division rounded toward zero: it has the sign of a.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_modulus_truncate_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(BinaryDesc):
    """Remainder of the division rounded down: it has the sign of b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_modulus_floor_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(BinaryDesc):
    """The larger of a and b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_max_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(BinaryDesc):
    """The mean of a and b, (a + b) / 2.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_mean_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(BinaryDesc):
    """The smaller of a and b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_min_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(BinaryDesc):
    """Squared difference, (a - b) * (a - b).

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_difference_square_operator_desc.
    """


@operator
class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc):
    """Power, x to the exponent at the same place; ScaleBias applies to x.

    InputTensor, OutputTensor: the same sizes and data type. ExponentTensor: those sizes; its data type may differ.
    Reference: dml_element_wise_pow_operator_desc.
    """

    InputTensor: Input
    ExponentTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(ScaledDesc):
    """Power, x to the constant Exponent.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_constant_pow_operator_desc.
    """

    Exponent: float
