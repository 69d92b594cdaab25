"""Enumerations of operator attributes, by the attribute's name. Reference: directml-enumerations."""

from enum import IntEnum


class DML_AXIS_DIRECTION(IntEnum):
    """The order in which elements along an axis are visited, or which of two neighbours wins."""

    DML_AXIS_DIRECTION_INCREASING = 0
    DML_AXIS_DIRECTION_DECREASING = 1


class DML_CONVOLUTION_DIRECTION(IntEnum):
    """Forward convolution, or the transposed one that maps outputs back to inputs."""

    DML_CONVOLUTION_DIRECTION_FORWARD = 0
    DML_CONVOLUTION_DIRECTION_BACKWARD = 1


class DML_CONVOLUTION_MODE(IntEnum):
    """Whether the filter is mirrored along its spatial axes (convolution) or not (cross correlation)."""

    DML_CONVOLUTION_MODE_CONVOLUTION = 0
    DML_CONVOLUTION_MODE_CROSS_CORRELATION = 1


class DML_DEPTH_SPACE_ORDER(IntEnum):
    """Which part of the depth axis varies slowest when depth and space are exchanged."""

    DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW = 0
    DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH = 1


class DML_INTERPOLATION_MODE(IntEnum):
    """How resampling picks a value between input elements."""

    DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR = 0
    DML_INTERPOLATION_MODE_LINEAR = 1


class DML_IS_INFINITY_MODE(IntEnum):
    """Which infinities ELEMENT_WISE_IS_INFINITY looks for."""

    DML_IS_INFINITY_MODE_EITHER = 0
    DML_IS_INFINITY_MODE_POSITIVE = 1
    DML_IS_INFINITY_MODE_NEGATIVE = 2


class DML_MATRIX_TRANSFORM(IntEnum):
    """Whether a matrix is transposed before the product."""

    DML_MATRIX_TRANSFORM_NONE = 0
    DML_MATRIX_TRANSFORM_TRANSPOSE = 1


class DML_MULTIHEAD_ATTENTION_MASK_TYPE(IntEnum):
    """How MULTIHEAD_ATTENTION reads its mask."""

    DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE = 0
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH = 1
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START = 2
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END = 3
    DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN = 4


class DML_PADDING_MODE(IntEnum):
    """The source of the values of padded elements."""

    DML_PADDING_MODE_CONSTANT = 0
    DML_PADDING_MODE_EDGE = 1
    DML_PADDING_MODE_REFLECTION = 2
    DML_PADDING_MODE_SYMMETRIC = 3
    DML_PADDING_MODE_WRAP = 4


class DML_QUANTIZATION_TYPE(IntEnum):
    """Which quantization tensors QUANTIZE and DEQUANTIZE take."""

    DML_QUANTIZATION_TYPE_NONE = 0
    DML_QUANTIZATION_TYPE_SCALE = 1
    DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT = 2


class DML_RANDOM_GENERATOR_TYPE(IntEnum):
    """The algorithm of RANDOM_GENERATOR."""

    DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10 = 0


class DML_RECURRENT_NETWORK_DIRECTION(IntEnum):
    """The order in which a recurrent network walks its sequence."""

    DML_RECURRENT_NETWORK_DIRECTION_FORWARD = 0
    DML_RECURRENT_NETWORK_DIRECTION_BACKWARD = 1
    DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL = 2


class DML_REDUCE_FUNCTION(IntEnum):
    """The function that REDUCE applies over its axes."""

    DML_REDUCE_FUNCTION_ARGMAX = 0
    DML_REDUCE_FUNCTION_ARGMIN = 1
    DML_REDUCE_FUNCTION_AVERAGE = 2
    DML_REDUCE_FUNCTION_L1 = 3
    DML_REDUCE_FUNCTION_L2 = 4
    DML_REDUCE_FUNCTION_LOG_SUM = 5
    DML_REDUCE_FUNCTION_LOG_SUM_EXP = 6
    DML_REDUCE_FUNCTION_MAX = 7
    DML_REDUCE_FUNCTION_MIN = 8
    DML_REDUCE_FUNCTION_MULTIPLY = 9
    DML_REDUCE_FUNCTION_SUM = 10
    DML_REDUCE_FUNCTION_SUM_SQUARE = 11


class DML_ROUNDING_MODE(IntEnum):
    """How ELEMENT_WISE_ROUND rounds."""

    DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN = 0
    DML_ROUNDING_MODE_TOWARD_ZERO = 1
    DML_ROUNDING_MODE_TOWARD_INFINITY = 2
