"""Descriptions of the pooling operators, their gradients, and the pooling of regions of interest.

The window arrays (Strides, WindowSize, paddings, Dilations) have one item per spatial dimension; a dimension of the
output has (in + paddings - dilated window) / stride + 1 elements, rounded down.
"""

from __future__ import annotations

from ..enums import DML_INTERPOLATION_MODE, DML_REDUCE_FUNCTION
from ..tensors import DML_SIZE_2D
from .base import (
    Input,
    OperatorDesc,
    OptionalInput,
    OptionalOutput,
    Output,
    UIntArray,
    count_of,
    operator,
    shared_fields,
)


@shared_fields
class PoolingDesc(OperatorDesc):
    """The first fields of a pooling over windows."""

    TENSORS = "InputTensor: {batch, channels, spatial sizes}. OutputTensor: its batch and channels, and the windows."
    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_AVERAGE_POOLING_OPERATOR_DESC(PoolingDesc):
    """The mean of each window.

    InputTensor: {batch, channels, spatial sizes}. OutputTensor: its batch and channels, and the windows.
    IncludePadding: padded elements count, as zeros.
    """

    IncludePadding: bool


@operator
class DML_LP_POOLING_OPERATOR_DESC(PoolingDesc):
    """The p-norm of each window, (sum of |x|^P)^(1/P)."""

    P: int


@operator
class DML_MAX_POOLING_OPERATOR_DESC(PoolingDesc):
    """The largest element of each window; padding never wins."""


@operator
class DML_ROI_POOLING_OPERATOR_DESC(OperatorDesc):
    """The largest element in each cell of a PooledSize grid laid over each region of interest.

    InputTensor: {batch, channels, height, width}. ROITensor: {1, 1, regions, 5}: batch index, x1, y1, x2, y2, scaled by
    SpatialScale and rounded. OutputTensor: {regions, channels, PooledSize.Height, PooledSize.Width}.
    """

    InputTensor: Input
    ROITensor: Input
    OutputTensor: Output
    SpatialScale: float
    PooledSize: DML_SIZE_2D


@shared_fields
class IndexedPoolingDesc(OperatorDesc):
    """The first fields of a pooling that optionally returns indices."""

    TENSORS = (
        "OutputIndicesTensor: the sizes of OutputTensor; row-major indices into the whole input; on ties, the first "
        "element's index."
    )
    InputTensor: Input
    OutputTensor: Output
    OutputIndicesTensor: OptionalOutput = None
    DimensionCount: int = count_of("Strides")
    Strides: UIntArray
    WindowSize: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_MAX_POOLING1_OPERATOR_DESC(IndexedPoolingDesc):
    """MAX_POOLING that optionally returns the index of each largest element."""


@operator
class DML_MAX_UNPOOLING_OPERATOR_DESC(OperatorDesc):
    """Undo MAX_POOLING1: write each element at its index in IndicesTensor (row-major through the whole output), and
    zeros elsewhere.

    InputTensor, IndicesTensor: {batch, channels, height, width}, the same sizes. OutputTensor: their batch and
    channels, and a height and width that are not smaller.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output


@operator
class DML_MAX_POOLING2_OPERATOR_DESC(IndexedPoolingDesc):
    """MAX_POOLING1 with dilated windows."""

    Dilations: UIntArray


@operator
class DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of AVERAGE_POOLING: each incoming gradient is spread evenly over its window.

    InputGradientTensor: the sizes of the pooling's output. OutputGradientTensor: those of its input.
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
    """Gradient of MAX_POOLING2: each incoming gradient goes to the first largest element of its window.

    InputTensor, OutputGradientTensor: the pooling's input sizes. InputGradientTensor: its output sizes.
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


@shared_fields
class RegionsDesc(OperatorDesc):
    """The first fields of an operator that samples regions of interest."""

    TENSORS = (
        "InputTensor: {batch, channels, height, width}. ROITensor: {1, 1, regions, 4}: x1, y1, x2, y2. "
        "BatchIndicesTensor: {1, 1, 1, regions}. OutputTensor: {regions, channels, grid height, grid width}."
    )
    InputTensor: Input
    ROITensor: Input
    BatchIndicesTensor: Input
    OutputTensor: Output
    ReductionFunction: DML_REDUCE_FUNCTION
    InterpolationMode: DML_INTERPOLATION_MODE
    SpatialScaleX: float
    SpatialScaleY: float


@operator
class DML_ROI_ALIGN_OPERATOR_DESC(RegionsDesc):
    """Mean or maximum of interpolated samples in each cell of a grid laid over each region of interest."""

    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int


@operator
class DML_ROI_ALIGN1_OPERATOR_DESC(RegionsDesc):
    """ROI_ALIGN with explicit offsets between pixels and coordinates, and optional alignment of regions."""

    InputPixelOffset: float
    OutputPixelOffset: float
    OutOfBoundsInputValue: float
    MinimumSamplesPerOutput: int
    MaximumSamplesPerOutput: int
    AlignRegionsToCorners: bool


@operator
class DML_ROI_ALIGN_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradients of ROI_ALIGN1 for its input and for its regions; either output is optional.

    InputTensor: the forward input, needed for the regions' gradient. InputGradientTensor: the forward output's sizes.
    OutputGradientTensor: {batch, channels, height, width}. OutputROIGradientTensor: the sizes of ROITensor.
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
class DML_LP_POOLING1_OPERATOR_DESC(PoolingDesc):
    """LP_POOLING with dilated windows."""

    Dilations: UIntArray
    P: int


@operator
class DML_AVERAGE_POOLING1_OPERATOR_DESC(PoolingDesc):
    """AVERAGE_POOLING with dilated windows."""

    Dilations: UIntArray
    IncludePadding: bool


@operator
class DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(OperatorDesc):
    """The mean of each window of a quantized tensor; the result is quantized.

    InputTensor: {batch, channels, spatial sizes}. OutputTensor: its batch and channels, and the windows. Scales and
    zero points: one element each; a zero point has the data type of its tensor.
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
