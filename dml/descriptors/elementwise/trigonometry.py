"""Circular and hyperbolic functions, and their inverses. Angles are in radians."""

from ..base import BinaryDesc, ScaledDesc, operator


@operator
class DML_ELEMENT_WISE_SIN_OPERATOR_DESC(ScaledDesc):
    """Sine of each element, in radians."""


@operator
class DML_ELEMENT_WISE_COS_OPERATOR_DESC(ScaledDesc):
    """Cosine of each element, in radians."""


@operator
class DML_ELEMENT_WISE_TAN_OPERATOR_DESC(ScaledDesc):
    """Tangent of each element, in radians."""


@operator
class DML_ELEMENT_WISE_ASIN_OPERATOR_DESC(ScaledDesc):
    """Inverse sine of each element, in radians."""


@operator
class DML_ELEMENT_WISE_ACOS_OPERATOR_DESC(ScaledDesc):
    """Inverse cosine of each element, in radians."""


@operator
class DML_ELEMENT_WISE_ATAN_OPERATOR_DESC(ScaledDesc):
    """Inverse tangent of each element, in radians."""


@operator
class DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC(BinaryDesc):
    """The angle of the point (x = b, y = a), in radians from -pi to pi."""


@operator
class DML_ELEMENT_WISE_SINH_OPERATOR_DESC(ScaledDesc):
    """Hyperbolic sine of each element."""


@operator
class DML_ELEMENT_WISE_COSH_OPERATOR_DESC(ScaledDesc):
    """Hyperbolic cosine of each element."""


@operator
class DML_ELEMENT_WISE_TANH_OPERATOR_DESC(ScaledDesc):
    """Hyperbolic tangent of each element."""


@operator
class DML_ELEMENT_WISE_ASINH_OPERATOR_DESC(ScaledDesc):
    """Inverse hyperbolic sine of each element."""


@operator
class DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC(ScaledDesc):
    """Inverse hyperbolic cosine of each element."""


@operator
class DML_ELEMENT_WISE_ATANH_OPERATOR_DESC(ScaledDesc):
    """Inverse hyperbolic tangent of each element."""
