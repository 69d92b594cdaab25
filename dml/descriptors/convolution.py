"""Descriptions of the convolutions.

The window arrays (Strides, Dilations, paddings) have one item per spatial dimension.
"""

from __future__ import annotations

from ..enums import DML_CONVOLUTION_DIRECTION, DML_CONVOLUTION_MODE
from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, Output, UIntArray, count_of, operator


@operator
class DML_CONVOLUTION_OPERATOR_DESC(OperatorDesc):
    """Convolution in one to three spatial dimensions with an optional bias and fused activation.

    InputTensor: {batch, input channels, [depth], [height], width}. FilterTensor: {output channels, input channels /
    GroupCount, window}. BiasTensor: {1, output channels, 1, ...}. OutputTensor: {batch, output channels, spatial
    sizes}. Mode: CONVOLUTION mirrors the filter. Direction: BACKWARD is the transposed convolution, whose filter is
    {input channels, output channels / GroupCount, window}. OutputPadding: added to the output's end, with BACKWARD.
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
    """Cross correlation of 8-bit integers minus their zero points, in 32-bit integers.

    InputTensor: {batch, input channels, height, width}. FilterTensor: {output channels, input channels / GroupCount,
    window}. InputZeroPointTensor: one element. FilterZeroPointTensor: one element, or one per output channel.
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
    """Cross correlation of a quantized input with a quantized filter; the result is quantized.

    InputTensor: {batch, input channels, height, width}. FilterTensor: {output channels, input channels / GroupCount,
    window}. Scales and zero points: one element; for the filter also one per output channel. BiasTensor: 32-bit
    integers in units of input scale x filter scale, one per output channel.
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
