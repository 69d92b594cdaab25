"""Descriptions of the movement operators."""
from __future__ import annotations

from ..enums import DML_DEPTH_SPACE_ORDER, DML_PADDING_MODE, DML_TENSOR_DATA_TYPE
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
)


@operator
class DML_SLICE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SLICE.

    Reference: dml_slice_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("Offsets")
    Offsets: UIntArray
    Sizes: UIntArray
    Strides: UIntArray


@operator
class DML_CAST_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_CAST.

    Reference: dml_cast_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_SPLIT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SPLIT.

    Reference: dml_split_operator_desc.
    """

    InputTensor: Input
    OutputCount: int = count_of("OutputTensors")
    OutputTensors: OutputArray
    Axis: int


@operator
class DML_JOIN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_JOIN.

    Reference: dml_join_operator_desc.
    """

    InputCount: int = count_of("InputTensors")
    InputTensors: InputArray
    OutputTensor: Output
    Axis: int


@operator
class DML_PADDING_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_PADDING.

    Reference: dml_padding_operator_desc.
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
    """Describes DML_OPERATOR_VALUE_SCALE_2D.

    Reference: dml_value_scale_2d_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    Scale: float
    ChannelCount: int = count_of("Bias")
    Bias: FloatArray


@operator
class DML_GATHER_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_GATHER.

    Reference: dml_gather_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    Axis: int
    IndexDimensions: int


@operator
class DML_SPACE_TO_DEPTH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SPACE_TO_DEPTH.

    Reference: dml_space_to_depth_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int


@operator
class DML_DEPTH_TO_SPACE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_DEPTH_TO_SPACE.

    Reference: dml_depth_to_space_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int


@operator
class DML_TILE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_TILE.

    Reference: dml_tile_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    RepeatsCount: int = count_of("Repeats")
    Repeats: UIntArray


@operator
class DML_DIAGONAL_MATRIX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_DIAGONAL_MATRIX.

    Reference: dml_diagonal_matrix_operator_desc.
    """

    OutputTensor: Output
    Offset: Int
    Value: float


@operator
class DML_SCATTER_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SCATTER.

    Reference: dml_scatter_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    UpdatesTensor: Input
    OutputTensor: Output
    Axis: int


#: The name under which later headers know SCATTER.
DML_SCATTER_ELEMENTS_OPERATOR_DESC = DML_SCATTER_OPERATOR_DESC


@operator
class DML_ONE_HOT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ONE_HOT.

    Reference: dml_one_hot_operator_desc.
    """

    IndicesTensor: Input
    ValuesTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_FILL_VALUE_CONSTANT.

    Reference: dml_fill_value_constant_operator_desc.
    """

    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION


@operator
class DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_FILL_VALUE_SEQUENCE.

    Reference: dml_fill_value_sequence_operator_desc.
    """

    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    ValueStart: DML_SCALAR_UNION
    ValueDelta: DML_SCALAR_UNION


@operator
class DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_REVERSE_SUBSEQUENCES.

    Reference: dml_reverse_subsequences_desc.
    """

    InputTensor: Input
    SequenceLengthsTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_GATHER_ELEMENTS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_GATHER_ELEMENTS.

    Reference: dml_gather_elements_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    Axis: int


@operator
class DML_GATHER_ND_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_GATHER_ND.

    Reference: dml_gather_nd_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int


@operator
class DML_SCATTER_ND_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SCATTER_ND.

    Reference: dml_scatter_nd_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    UpdatesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int


@operator
class DML_SLICE1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SLICE1.

    Reference: dml_slice1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("InputWindowOffsets")
    InputWindowOffsets: UIntArray
    InputWindowSizes: UIntArray
    InputWindowStrides: IntArray


@operator
class DML_DEPTH_TO_SPACE1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_DEPTH_TO_SPACE1.

    Reference: dml_depth_to_space1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int
    Order: DML_DEPTH_SPACE_ORDER


@operator
class DML_SPACE_TO_DEPTH1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SPACE_TO_DEPTH1.

    Reference: dml_space_to_depth1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    BlockSize: int
    Order: DML_DEPTH_SPACE_ORDER


@operator
class DML_SLICE_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_SLICE_GRAD.

    Reference: dml_slice_grad_operator_desc.
    """

    InputGradientTensor: Input
    OutputGradientTensor: Output
    DimensionCount: int = count_of("InputWindowOffsets")
    InputWindowOffsets: UIntArray
    InputWindowSizes: UIntArray
    InputWindowStrides: IntArray


@operator
class DML_GATHER_ND1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_GATHER_ND1.

    Reference: dml_gather_nd1_operator_desc.
    """

    InputTensor: Input
    IndicesTensor: Input
    OutputTensor: Output
    InputDimensionCount: int
    IndicesDimensionCount: int
    BatchDimensionCount: int


@operator
class DML_PADDING1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_PADDING1.

    Reference: dml_padding1_operator_desc.
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
    """Describes DML_OPERATOR_DIAGONAL_MATRIX1.

    Reference: dml_diagonal_matrix1_operator_desc.
    """

    InputTensor: OptionalInput = None
    OutputTensor: Output
    ValueDataType: DML_TENSOR_DATA_TYPE
    Value: DML_SCALAR_UNION
    DiagonalFillBegin: Int
    DiagonalFillEnd: Int


@operator
class DML_FOLD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_FOLD.

    Reference: dml_fold_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("WindowSizes")
    WindowSizes: UIntArray
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray


@operator
class DML_UNFOLD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_UNFOLD.

    Reference: dml_unfold_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    DimensionCount: int = count_of("WindowSizes")
    WindowSizes: UIntArray
    Strides: UIntArray
    Dilations: UIntArray
    StartPadding: UIntArray
    EndPadding: UIntArray
