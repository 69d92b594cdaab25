"""Descriptions of the gemm operators."""
from __future__ import annotations

from ..enums import DML_MATRIX_TRANSFORM
from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, operator


@operator
class DML_GEMM_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_GEMM.

    Reference: dml_gemm_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    CTensor: OptionalInput = None
    OutputTensor: Output
    TransA: DML_MATRIX_TRANSFORM
    TransB: DML_MATRIX_TRANSFORM
    Alpha: float
    Beta: float
    FusedActivation: OptionalOperator = None


@operator
class DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MATRIX_MULTIPLY_INTEGER.

    Reference: dml_matrix_multiply_integer_operator_desc.
    """

    ATensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_QUANTIZED_LINEAR_MATRIX_MULTIPLY.

    Reference: dml_quantized_linear_matrix_multiply_operator_desc.
    """

    ATensor: Input
    AScaleTensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BScaleTensor: Input
    BZeroPointTensor: OptionalInput = None
    OutputScaleTensor: Input
    OutputZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MATRIX_MULTIPLY_INTEGER_TO_FLOAT.

    Reference: dml_matrix_multiply_integer_to_float_operator_desc.
    """

    ATensor: Input
    AScaleTensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BScaleTensor: Input
    BZeroPointTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputTensor: Output
