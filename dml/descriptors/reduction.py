"""Descriptions of the operators that reduce, scan or rank along axes."""

from __future__ import annotations

from ..enums import DML_AXIS_DIRECTION, DML_REDUCE_FUNCTION
from .base import Input, OperatorDesc, Output, UIntArray, count_of, operator


@operator
class DML_REDUCE_OPERATOR_DESC(OperatorDesc):
    """Reduce each group of elements along Axes to one with Function.

    OutputTensor: the sizes of InputTensor, 1 in every reduced axis. ARGMIN and ARGMAX return the index of the first
    extreme element, counted row-major within the group; the other functions keep the data type.
    """

    Function: DML_REDUCE_FUNCTION
    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_TOP_K_OPERATOR_DESC(OperatorDesc):
    """The K largest elements along Axis, in descending order, and their indices along it.

    OutputValueTensor, OutputIndexTensor: the sizes of InputTensor, K along Axis.
    """

    InputTensor: Input
    OutputValueTensor: Output
    OutputIndexTensor: Output
    Axis: int
    K: int


@operator
class DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(OperatorDesc):
    """Cumulative sums along Axis.

    InputTensor, OutputTensor: the same sizes and data type. AxisDirection: the end to start from. HasExclusiveSum: each
    sum excludes its own element, so that the first is 0.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    AxisDirection: DML_AXIS_DIRECTION
    HasExclusiveSum: bool


@operator
class DML_TOP_K1_OPERATOR_DESC(OperatorDesc):
    """The K largest or smallest elements along Axis, and their indices along it.

    OutputValueTensor, OutputIndexTensor: the sizes of InputTensor, K along Axis. AxisDirection: decreasing returns the
    largest in descending order, increasing the smallest in ascending order.
    """

    InputTensor: Input
    OutputValueTensor: Output
    OutputIndexTensor: Output
    Axis: int
    K: int
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_NONZERO_COORDINATES_OPERATOR_DESC(OperatorDesc):
    """The coordinates of every nonzero element, in row-major order, and their number.

    OutputCountTensor: one element, M. OutputCoordinatesTensor: {elements of InputTensor, its effective dimensions}, one
    coordinate per row; rows starting at M, which the reference leaves undefined, are zeros here.
    """

    InputTensor: Input
    OutputCountTensor: Output
    OutputCoordinatesTensor: Output


@operator
class DML_ARGMIN_OPERATOR_DESC(OperatorDesc):
    """The index of the smallest element along Axes, counted row-major within the reduced group.

    OutputTensor: the sizes of InputTensor, 1 in every reduced axis. AxisDirection: whether the first or the last of
    equal elements counts.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_ARGMAX_OPERATOR_DESC(OperatorDesc):
    """The index of the largest element along Axes, counted row-major within the reduced group.

    OutputTensor: the sizes of InputTensor, 1 in every reduced axis. AxisDirection: whether the first or the last of
    equal elements counts.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(OperatorDesc):
    """Cumulative products along Axis.

    InputTensor, OutputTensor: the same sizes and data type. AxisDirection: the end to start from. HasExclusiveProduct:
    each product excludes its own element, so that the first is 1.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    AxisDirection: DML_AXIS_DIRECTION
    HasExclusiveProduct: bool
