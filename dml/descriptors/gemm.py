"""Descriptions of the matrix products."""

from __future__ import annotations

from ..enums import DML_MATRIX_TRANSFORM
from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, operator


@operator
class DML_GEMM_OPERATOR_DESC(OperatorDesc):
    """Matrix product FusedActivation(Alpha * TransA(A) x TransB(B) + Beta * C), one for each batch and channel.

    ATensor: {batch, channel, M, K}, transposed {..., K, M}. BTensor: {batch, channel, K, N}, transposed {..., N, K}.
    CTensor (0 if None), OutputTensor: {batch, channel, M, N}. From 4_0 batch and channel are optional.
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
    """Product of 8-bit integer matrices minus their zero points, in 32-bit integers.

    ATensor: {batch, channel, M, K}. BTensor: {batch, channel, K, N}. OutputTensor: {batch, channel, M, N}. Zero points:
    one element, or one per row of A or column of B.
    """

    ATensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(OperatorDesc):
    """Product of two quantized matrices; the result is quantized.

    ATensor: {batch, channel, M, K}. BTensor: {batch, channel, K, N}. OutputTensor: {batch, channel, M, N}. Scales and
    zero points: one element, or one per row of A and of the output, or per column of B.
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
    """Product of 8-bit integer matrices minus their zero points, scaled to floating point, plus a bias.

    ATensor: {batch, channel, M, K}. BTensor: {batch, channel, K, N}. OutputTensor: {batch, channel, M, N}. Scales and
    zero points: one element, or one per row of A or column of B. BiasTensor: one per column, or the output's sizes.
    """

    ATensor: Input
    AScaleTensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BScaleTensor: Input
    BZeroPointTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputTensor: Output
