"""Descriptions of the resample operators."""
from __future__ import annotations

from ..enums import DML_AXIS_DIRECTION, DML_INTERPOLATION_MODE
from ..tensors import DML_SIZE_2D
from .base import FloatArray, Input, OperatorDesc, Output, count_of, operator


@operator
class DML_UPSAMPLE_2D_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_UPSAMPLE_2D.

    Reference: dml_upsample_2d_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleSize: DML_SIZE_2D
    InterpolationMode: DML_INTERPOLATION_MODE


@operator
class DML_RESAMPLE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RESAMPLE.

    Reference: dml_resample_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    ScaleCount: int = count_of("Scales")
    Scales: FloatArray


@operator
class DML_RESAMPLE1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RESAMPLE1.

    Reference: dml_resample1_operator_desc.
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
    """Describes DML_OPERATOR_RESAMPLE_GRAD.

    Reference: dml_resample_grad_operator_desc.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@operator
class DML_RESAMPLE2_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RESAMPLE2.

    Reference: dml_resample2_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    RoundingDirection: DML_AXIS_DIRECTION
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray


@operator
class DML_RESAMPLE_GRAD1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RESAMPLE_GRAD1.

    Reference: dml_resample_grad1_operator_desc.
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
class DML_RESAMPLE3_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RESAMPLE3.

    Reference: dml_resample3_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    InterpolationMode: DML_INTERPOLATION_MODE
    RoundingDirection: DML_AXIS_DIRECTION
    DimensionCount: int = count_of("Scales")
    Scales: FloatArray
    InputPixelOffsets: FloatArray
    OutputPixelOffsets: FloatArray
    Antialiased: bool
