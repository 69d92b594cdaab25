"""Descriptions of the pooling operators."""
from __future__ import annotations

from ..enums import DML_INTERPOLATION_MODE, DML_REDUCE_FUNCTION
from ..tensors import DML_SIZE_2D
from .base import Input, OperatorDesc, OptionalInput, OptionalOutput, Output, UIntArray, count_of, operator


@operator
class DML_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_AVERAGE_POOLING.

    Reference: dml_average_pooling_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    IncludePadding: bool


@operator
class DML_LP_POOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_LP_POOLING.

    Reference: dml_lp_pooling_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    P: int


@operator
class DML_MAX_POOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MAX_POOLING.

    Reference: dml_max_pooling_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_ROI_POOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ROI_POOLING.

    Reference: dml_roi_pooling_operator_desc.
    """

    InputTensor: Input
    ROITensor: Input
    OutputTensor: Output
    SpatialScale: float
    PooledSize: DML_SIZE_2D


@operator
class DML_MAX_POOLING1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MAX_POOLING1.

    Reference: dml_max_pooling1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    OutputIndicesTensor: OptionalOutput = None
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_MAX_UNPOOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MAX_UNPOOLING.

    Reference: dml_max_unpooling_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output


@operator
class DML_MAX_POOLING2_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MAX_POOLING2.

    Reference: dml_max_pooling2_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    OutputIndicesTensor: OptionalOutput = None
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    Dilations: UIntArray


@operator
class DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_AVERAGE_POOLING_GRAD.

    Reference: dml_average_pooling_grad_operator_desc.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    IncludePadding: bool


@operator
class DML_MAX_POOLING_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_MAX_POOLING_GRAD.

    Reference: dml_max_pooling_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    Dilations: UIntArray


@operator
class DML_ROI_ALIGN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ROI_ALIGN.

    Reference: dml_roi_align_operator_desc.
    """

    InputTensor: Input
    ROITensor: Input
    BatchIndicesTensor: Input
    OutputTensor: Output
    ReductionFunction: DML_REDUCE_FUNCTION
    InterpolationMode: DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int


@operator
class DML_ROI_ALIGN1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ROI_ALIGN1.

    Reference: dml_roi_align1_operator_desc.
    """

    InputTensor: Input
    ROITensor: Input
    BatchIndicesTensor: Input
    OutputTensor: Output
    ReductionFunction: DML_REDUCE_FUNCTION
    InterpolationMode: DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    InputPixelOffset: float
    OutputPixelOffset: float
    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    AlignRegionsToCorners: bool


@operator
class DML_ROI_ALIGN_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ROI_ALIGN_GRAD.

    Reference: dml_roi_align_grad_operator_desc.
    """

    InputTensor: OptionalInput = None
    InputGradientTensor: Input
    ROITensor: Input
    BatchIndicesTensor: Input
    OutputGradientTensor: OptionalOutput = None
    OutputROIGradientTensor: OptionalOutput = None
    ReductionFunction: DML_REDUCE_FUNCTION
    InterpolationMode: DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float
    InputPixelOffset: float
    OutputPixelOffset: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    AlignRegionsToCorners: bool


@operator
class DML_LP_POOLING1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_LP_POOLING1.

    Reference: dml_lp_pooling1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    Dilations: UIntArray
    P: int


@operator
class DML_AVERAGE_POOLING1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_AVERAGE_POOLING1.

    Reference: dml_average_pooling1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    Dilations: UIntArray
    IncludePadding: bool


@operator
class DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_QUANTIZED_LINEAR_AVERAGE_POOLING.

    Reference: dml_quantized_linear_average_pooling_operator_desc.
    """

    InputTensor: Input
    InputScaleTensor: Input
    InputZeroPointTensor: OptionalInput = None
    OutputScaleTensor: Input
    OutputZeroPointTensor: OptionalInput = None
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
    Dilations: UIntArray
    IncludePadding: bool
