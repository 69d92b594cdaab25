"""Descriptions of the convolution operators."""
from __future__ import annotations

from ..enums import DML_CONVOLUTION_DIRECTION, DML_CONVOLUTION_MODE
from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, UIntArray, count_of, operator


@operator
class DML_CONVOLUTION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_CONVOLUTION.

    Reference: dml_convolution_operator_desc.
    """

    InputTensor: Input
    FilterTensor: Input
    BiasTensor: OptionalInput = None
    OutputTensor: Output
    Mode: DML_CONVOLUTION_MODE
    Direction: DML_CONVOLUTION_DIRECTION
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    OutputPadding: UIntArray
    GroupCount: int
    FusedActivation: OptionalOperator = None


@operator
class DML_CONVOLUTION_INTEGER_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_CONVOLUTION_INTEGER.

    Reference: dml_convolution_integer_operator_desc.
    """

    InputTensor: Input
    InputZeroPointTensor: OptionalInput = None
    FilterTensor: Input
    FilterZeroPointTensor: OptionalInput = None
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    GroupCount: int


@operator
class DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION.

    Reference: dml_quantized_linear_convolution_operator_desc.
    """

    InputTensor: Input
    InputScaleTensor: Input
    InputZeroPointTensor: OptionalInput = None
    FilterTensor: Input
    FilterScaleTensor: Input
    FilterZeroPointTensor: OptionalInput = None
    BiasTensor: OptionalInput = None
    OutputScaleTensor: Input
    OutputZeroPointTensor: OptionalInput = None
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    GroupCount: int
