"""Descriptions of the operators that change a tensor's resolution."""

from __future__ import annotations

from ..enums import DML_AXIS_DIRECTION, DML_INTERPOLATION_MODE
from ..tensors import DML_SIZE_2D
from .base import FloatArray, Input, OperatorDesc, Output, count_of, operator, shared_fields


@operator
class DML_UPSAMPLE_2D_OPERATOR_DESC(OperatorDesc):
    """Enlarge height and width by integer factors.

    InputTensor: {batch, channels, [depth], height, width}. OutputTensor: height and width times ScaleSize.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleSize: DML_SIZE_2D
    InterpolationMode: DML_INTERPOLATION_MODE


@operator
class DML_RESAMPLE_OPERATOR_DESC(OperatorDesc):
    """Change the size of each dimension by a factor, with half-pixel centres.

    OutputTensor: any sizes of the same dimension count. Scales: one factor per dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    ScaleCount: int = count_of("Scales")
    Scales: FloatArray


@operator
class DML_RESAMPLE1_OPERATOR_DESC(OperatorDesc):
    """RESAMPLE with explicit pixel offsets: input coordinate = (output - OutputPixelOffset) / Scale - InputPixelOffset.

    OutputTensor: any sizes of the same dimension count. The arrays have one item per dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@operator
class DML_RESAMPLE_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of RESAMPLE1: each incoming gradient goes back to the elements it was interpolated from, by weight.

    InputGradientTensor: the forward output's sizes. OutputGradientTensor: the forward input's sizes.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@shared_fields
class ResampleDesc(OperatorDesc):
    """The fields with which resamplings with a rounding direction begin."""

    TENSORS = "OutputTensor: any sizes of the same dimension count. The arrays have one item per dimension."
    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    RoundingDirection: DML_AXIS_DIRECTION
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@operator
class DML_RESAMPLE2_OPERATOR_DESC(ResampleDesc):
    """RESAMPLE1 with a choice of the direction in which nearest-neighbour coordinates are rounded."""


@operator
class DML_RESAMPLE_GRAD1_OPERATOR_DESC(OperatorDesc):
    """Gradient of RESAMPLE2.

    InputGradientTensor: the forward output's sizes. OutputGradientTensor: the forward input's sizes.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    RoundingDirection: DML_AXIS_DIRECTION
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@operator
class DML_RESAMPLE3_OPERATOR_DESC(ResampleDesc):
    """RESAMPLE2 that can widen its linear filter when it makes the image smaller (Antialiased)."""

    Antialiased: bool
