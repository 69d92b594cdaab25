"""Descriptions of the reduction operators."""
from __future__ import annotations

from ..enums import DML_AXIS_DIRECTION, DML_REDUCE_FUNCTION
from .base import Input, OperatorDesc, Output, UIntArray, count_of, operator


@operator
class DML_REDUCE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_REDUCE.

    Reference: dml_reduce_operator_desc.
    """

    Function: DML_REDUCE_FUNCTION
    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray


@operator
class DML_TOP_K_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_TOP_K.

    Reference: dml_top_k_operator_desc.
    """

    InputTensor: Input
    OutputValueTensor: Output
    OutputIndexTensor: Output
    Axis: int
    K: int


@operator
class DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_CUMULATIVE_SUMMATION.

    Reference: dml_cumulative_summation_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    AxisDirection: DML_AXIS_DIRECTION
    HasExclusiveSum: bool


@operator
class DML_TOP_K1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_TOP_K1.

    Reference: dml_top_k1_operator_desc.
    """

    InputTensor: Input
    OutputValueTensor: Output
    OutputIndexTensor: Output
    Axis: int
    K: int
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_NONZERO_COORDINATES_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_NONZERO_COORDINATES.

    Reference: dml_nonzero_coordinates_operator_desc.
    """

    InputTensor: Input
    OutputCountTensor: Output
    OutputCoordinatesTensor: Output


@operator
class DML_ARGMIN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ARGMIN.

    Reference: dml_argmin_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_ARGMAX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ARGMAX.

    Reference: dml_argmax_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    AxisCount: int = count_of("Axes")
    Axes: UIntArray
    AxisDirection: DML_AXIS_DIRECTION


@operator
class DML_CUMULATIVE_PRODUCT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_CUMULATIVE_PRODUCT.

    Reference: dml_cumulative_product_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    Axis: int
    AxisDirection: DML_AXIS_DIRECTION
    HasExclusiveProduct: bool
