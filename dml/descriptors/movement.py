"""Descriptions of the operators that move, select or fill elements."""

from __future__ import annotations

from ..enums import DML_DEPTH_SPACE_ORDER, DML_PADDING_MODE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from ..enums.own import OWN_OPERATOR_TYPE
from ..tensors import DML_SCALAR_UNION
from .base import (
    FloatArray,
    Input,
    InputArray,
    Int,
    IntArray,
    OperatorDesc,
    OptionalInput,
    Output,
    OutputArray,
    UIntArray,
    count_of,
    operator,
    own_operator,
    shared_fields,
)


@operator
class DML_SLICE_OPERATOR_DESC(OperatorDesc):
    """Copy elements at regular distances: output element i of a dimension is the input's at Offsets + i * Strides.

    OutputTensor: has the sizes in Sizes. Strides: the step from element to element. The arrays have one item per
    dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Offsets")
    Offsets: UIntArray
    Sizes: UIntArray
    Strides: UIntArray


@operator
class DML_CAST_OPERATOR_DESC(OperatorDesc):
    """Convert each element to the data type of OutputTensor.

    InputTensor, OutputTensor: the same sizes. From floating point to integers, toward zero.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_SPLIT_OPERATOR_DESC(OperatorDesc):
    """Cut the input along Axis into several tensors.

    OutputTensors: the sizes of InputTensor except along Axis, where they add up to its size.
    """

    InputTensor: Input
    OutputCount: int = count_of("OutputTensors")
    OutputTensors: OutputArray
    Axis: int


@operator
class DML_JOIN_OPERATOR_DESC(OperatorDesc):
    """Concatenate several tensors along Axis.

    InputTensors: the sizes of OutputTensor except along Axis, where they add up to its size.
    """

    InputCount: int = count_of("InputTensors")
    InputTensors: InputArray
    OutputTensor: Output
    Axis: int


@operator
class DML_PADDING_OPERATOR_DESC(OperatorDesc):
    """Enlarge the input at both ends of each dimension; PaddingMode fills it with PaddingValue or the input's own
    elements.

    OutputTensor: the sizes of InputTensor + StartPadding + EndPadding. The arrays have one item per dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    PaddingMode: DML_PADDING_MODE
    PaddingValue: float
    DimensionCount: int = count_of("StartPadding")
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_VALUE_SCALE_2D_OPERATOR_DESC(OperatorDesc):
    """Multiply an image by Scale and add a Bias per channel.

    InputTensor, OutputTensor: {batch, channels, height, width}, the same sizes. Bias: one number per channel.
    """

    InputTensor: Input
    OutputTensor: Output
    Scale: float
    ChannelCount: int = count_of("Bias")
    Bias: FloatArray


@operator
class DML_GATHER_OPERATOR_DESC(OperatorDesc):
    """Gather whole slices along Axis by index.

    IndicesTensor: its last IndexDimensions dimensions replace Axis in OutputTensor. A negative index counts from the
    end.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    Axis: int
    IndexDimensions: int


@operator
class DML_SPACE_TO_DEPTH_OPERATOR_DESC(OperatorDesc):
    """Move blocks of BlockSize x BlockSize pixels into the channels.

    InputTensor: {batch, channels, height, width}. OutputTensor: {batch, channels * BlockSize^2, height / BlockSize,
    width / BlockSize}.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int


@operator
class DML_DEPTH_TO_SPACE_OPERATOR_DESC(OperatorDesc):
    """Move groups of channels into blocks of BlockSize x BlockSize pixels.

    InputTensor: {batch, channels, height, width}. OutputTensor: {batch, channels / BlockSize^2, height * BlockSize,
    width * BlockSize}.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int


@operator
class DML_TILE_OPERATOR_DESC(OperatorDesc):
    """Repeat the input Repeats times along each dimension.

    OutputTensor: the sizes of InputTensor times Repeats.
    """

    InputTensor: Input
    OutputTensor: Output
    RepeatsCount: int = count_of("Repeats")
    Repeats: UIntArray


@operator
class DML_DIAGONAL_MATRIX_OPERATOR_DESC(OperatorDesc):
    """A matrix with Value on its diagonal, moved right by Offset (left when negative), and zeros elsewhere.

    OutputTensor: any sizes; the last two dimensions are the matrix.
    """

    OutputTensor: Output
    Offset: Int
    Value: float


@operator
class DML_SCATTER_OPERATOR_DESC(OperatorDesc):
    """Copy the input, with some elements replaced: along Axis an update goes to its index, else to its own coordinates.

    InputTensor, OutputTensor: the same sizes. IndicesTensor, UpdatesTensor: the sizes of InputTensor, any along Axis. A
    negative index counts from the end. If two updates have the same target, it is undefined which one is kept. Also
    known as SCATTER_ELEMENTS.
    """

    InputTensor: Input
    IndicesTensor: Input
    UpdatesTensor: Input
    OutputTensor: Output
    Axis: int


#: The name of SCATTER in later headers.
DML_SCATTER_ELEMENTS_OPERATOR_DESC = DML_SCATTER_OPERATOR_DESC


@operator
class DML_ONE_HOT_OPERATOR_DESC(OperatorDesc):
    """Write ValuesTensor[1] at each index along Axis, ValuesTensor[0] elsewhere.

    IndicesTensor: the sizes of OutputTensor, 1 along Axis. ValuesTensor: {..., 2}. An index beyond the axis is ignored.
    """

    IndicesTensor: Input
    ValuesTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(OperatorDesc):
    """Fill the output with Value.

    OutputTensor: any sizes, of type ValueDataType.
    """

    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION


@operator
class DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(OperatorDesc):
    """Fill the output with ValueStart, ValueStart + ValueDelta and so on, row-major.

    OutputTensor: any sizes, of type ValueDataType.
    """

    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    ValueStart: DML_SCALAR_UNION
    ValueDelta: DML_SCALAR_UNION


@operator
class DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(OperatorDesc):
    """Reverse the first n elements along Axis, n given per subsequence; the rest is copied.

    InputTensor, OutputTensor: the same sizes and data type. SequenceLengthsTensor: those sizes, 1 along Axis; a length
    above the axis size counts as the axis size. Reference: dml_reverse_subsequences_desc.
    """

    InputTensor: Input
    SequenceLengthsTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_GATHER_ELEMENTS_OPERATOR_DESC(OperatorDesc):
    """Gather each element at its index along Axis, and at its own coordinates along the other dimensions.

    IndicesTensor, OutputTensor: the sizes of InputTensor, any along Axis. A negative index counts from the end.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_GATHER_ND_OPERATOR_DESC(OperatorDesc):
    """Gather elements or slices by coordinates.

    IndicesTensor: its last dimension holds the leading coordinates in InputTensor. OutputTensor: the other dimensions
    of IndicesTensor, then those of InputTensor without a coordinate. InputDimensionCount, IndicesDimensionCount: number
    of trailing dimensions of the tensors that count.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int


@operator
class DML_SCATTER_ND_OPERATOR_DESC(OperatorDesc):
    """Copy the input, with elements or slices replaced at coordinates.

    InputTensor, OutputTensor: the same sizes. IndicesTensor: its last dimension holds the leading coordinates.
    UpdatesTensor: the other dimensions of IndicesTensor, then those of InputTensor without a coordinate.
    InputDimensionCount, IndicesDimensionCount: number of trailing dimensions of the tensors that count.
    """

    InputTensor: Input
    IndicesTensor: Input
    UpdatesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int


@operator
class DML_SLICE1_OPERATOR_DESC(OperatorDesc):
    """Copy every InputWindowStrides-th element of a window of the input, in reverse for a negative stride.

    OutputTensor: at most InputWindowSizes / |InputWindowStrides| rounded up; elements beyond its sizes are not copied.
    The arrays have one item per dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("InputWindowOffsets")
    InputWindowOffsets: UIntArray
    InputWindowSizes: UIntArray
    InputWindowStrides: IntArray


@operator
class DML_DEPTH_TO_SPACE1_OPERATOR_DESC(OperatorDesc):
    """DEPTH_TO_SPACE with a choice of the channel order within a block, Order.

    InputTensor: {batch, channels, height, width}. OutputTensor: {batch, channels / BlockSize^2, height * BlockSize,
    width * BlockSize}.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int
    Order: DML_DEPTH_SPACE_ORDER


@operator
class DML_SPACE_TO_DEPTH1_OPERATOR_DESC(OperatorDesc):
    """SPACE_TO_DEPTH with a choice of the channel order within a block, Order.

    InputTensor: {batch, channels, height, width}. OutputTensor: {batch, channels * BlockSize^2, height / BlockSize,
    width / BlockSize}.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int
    Order: DML_DEPTH_SPACE_ORDER


@operator
class DML_SLICE_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of SLICE1: the incoming gradient at the elements it copies, zeros elsewhere.

    InputGradientTensor: the slice's output sizes, at most as many elements as its strides reach in the window.
    OutputGradientTensor: its input sizes.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    DimensionCount: int = count_of("InputWindowOffsets")
    InputWindowOffsets: UIntArray
    InputWindowSizes: UIntArray
    InputWindowStrides: IntArray


@operator
class DML_GATHER_ND1_OPERATOR_DESC(OperatorDesc):
    """GATHER_ND within batches: input and indices share the first BatchDimensionCount dimensions.

    InputDimensionCount, IndicesDimensionCount: number of trailing dimensions of the tensors that count.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int
    BatchDimensionCount: int


@operator
class DML_PADDING1_OPERATOR_DESC(OperatorDesc):
    """PADDING with a padding value of any data type: PaddingValueDataType is the type of PaddingValue.

    OutputTensor: the sizes of InputTensor + StartPadding + EndPadding. The arrays have one item per dimension.
    """

    InputTensor: Input
    OutputTensor: Output
    PaddingMode: DML_PADDING_MODE
    PaddingValueDataType: DML_TENSOR_DATA_TYPE
    PaddingValue: DML_SCALAR_UNION
    DimensionCount: int = count_of("StartPadding")
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_DIAGONAL_MATRIX1_OPERATOR_DESC(OperatorDesc):
    """Write Value on the diagonals from DiagonalFillBegin up to DiagonalFillEnd, and the input (or zeros) elsewhere.

    InputTensor, OutputTensor: the same sizes; the last two dimensions are the matrix. Diagonal 0 is the main diagonal,
    positive ones lie to its right. Value has the type ValueDataType.
    """

    InputTensor: OptionalInput = None
    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION
    DiagonalFillBegin: Int
    DiagonalFillEnd: Int


@shared_fields
class FoldDesc(OperatorDesc):
    """Fields of a conversion between an image and the columns of its windows."""

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("WindowSizes")
    WindowSizes: UIntArray
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_FOLD_OPERATOR_DESC(FoldDesc):
    """Add up columns of windows into an image: each window's elements return to their places before UNFOLD.

    InputTensor: {batch, channels * window elements, windows}. OutputTensor: {batch, channels, spatial sizes}. The
    arrays have one item per spatial dimension.
    """


@operator
class DML_UNFOLD_OPERATOR_DESC(FoldDesc):
    """Lay out every window of an image as a column.

    InputTensor: {batch, channels, spatial sizes}. OutputTensor: {batch, channels * window elements, windows}. The
    arrays have one item per spatial dimension.
    """


@own_operator(OWN_OPERATOR_TYPE.OWN_OPERATOR_REDUCE_INTO_ROWS)
class OWN_REDUCE_INTO_ROWS_OPERATOR_DESC(OperatorDesc):
    """Copy the input, and reduce each update into the row of its column that its index names, in the order of the
    updates. An operator of ours: front ends create it, no query lists it.

    InputTensor, OutputTensor: {rows, columns}. UpdatesTensor: {updates, columns}. IndicesTensor: {updates, columns} or
    {updates, 1}; an update with an index that is no row is dropped. Function: SUM, MULTIPLY, MAX or MIN; integers wrap.
    """

    InputTensor: Input
    IndicesTensor: Input
    UpdatesTensor: Input
    OutputTensor: Output
    Function: DML_REDUCE_FUNCTION
