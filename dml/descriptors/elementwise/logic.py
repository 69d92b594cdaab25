"""Comparisons, predicates and logic with results 0 or 1, selection by a condition, and bitwise logic."""

from __future__ import annotations

from ...enums import DML_IS_INFINITY_MODE
from ..base import BinaryDesc, Input, OperatorDesc, Output, UnaryDesc, operator


class LogicalDesc(BinaryDesc):
    """A logic operator on each pair of elements."""

    TENSORS = (
        "ATensor, BTensor, OutputTensor: the same sizes; zero is false, everything else true, and results are 0 or 1."
    )


class ComparisonDesc(BinaryDesc):
    """A comparison of each pair of elements."""

    TENSORS = "ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false."


@operator
class DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(LogicalDesc):
    """Whether both elements are true."""


@operator
class DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC(LogicalDesc):
    """Whether at least one of the elements is true."""


@operator
class DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC(LogicalDesc):
    """Whether exactly one of the elements is true."""


@operator
class DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC(UnaryDesc):
    """Whether the element is zero, as 0 or 1."""


@operator
class DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC(ComparisonDesc):
    """Whether a = b."""


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC(ComparisonDesc):
    """Whether a > b."""


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC(ComparisonDesc):
    """Whether a >= b."""


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(ComparisonDesc):
    """Whether a < b."""


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC(ComparisonDesc):
    """Whether a <= b."""


@operator
class DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC(UnaryDesc):
    """Whether each element is not a number, as 0 or 1.

    InputTensor, OutputTensor: the same sizes.
    """


@operator
class DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC(UnaryDesc):
    """Whether each element is infinite with a sign that InfinityMode selects, as 0 or 1.

    InputTensor, OutputTensor: the same sizes.
    """

    InfinityMode: DML_IS_INFINITY_MODE


@operator
class DML_ELEMENT_WISE_IF_OPERATOR_DESC(OperatorDesc):
    """Select the element of ATensor where the condition is not zero, else of BTensor.

    ConditionTensor, ATensor, BTensor, OutputTensor: the same sizes. The last three: the same data type.
    """

    ConditionTensor: Input
    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC(BinaryDesc):
    """Bitwise a AND b."""


@operator
class DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC(BinaryDesc):
    """Bitwise a OR b."""


@operator
class DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC(BinaryDesc):
    """Bitwise a XOR b."""


@operator
class DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(UnaryDesc):
    """Each element with every bit inverted."""


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(BinaryDesc):
    """Shift a left by b bits and fill with zeros."""


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(BinaryDesc):
    """Shift a right by b bits and fill with zeros."""


@operator
class DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(UnaryDesc):
    """The number of bits set in each element.

    InputTensor, OutputTensor: the same sizes.
    """
