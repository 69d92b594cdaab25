"""Enumerations of tensors, and the limits of their dimension counts. Reference: dml_tensor_data_type,
directml-constants."""

from enum import IntEnum, IntFlag


class DML_TENSOR_DATA_TYPE(IntEnum):
    """The type of a tensor's elements."""

    DML_TENSOR_DATA_TYPE_UNKNOWN = 0
    DML_TENSOR_DATA_TYPE_FLOAT32 = 1
    DML_TENSOR_DATA_TYPE_FLOAT16 = 2
    DML_TENSOR_DATA_TYPE_UINT32 = 3
    DML_TENSOR_DATA_TYPE_UINT16 = 4
    DML_TENSOR_DATA_TYPE_UINT8 = 5
    DML_TENSOR_DATA_TYPE_INT32 = 6
    DML_TENSOR_DATA_TYPE_INT16 = 7
    DML_TENSOR_DATA_TYPE_INT8 = 8
    DML_TENSOR_DATA_TYPE_FLOAT64 = 9
    DML_TENSOR_DATA_TYPE_UINT64 = 10
    DML_TENSOR_DATA_TYPE_INT64 = 11
    DML_TENSOR_DATA_TYPE_UINT4 = 12
    DML_TENSOR_DATA_TYPE_INT4 = 13


class DML_TENSOR_FLAGS(IntFlag):
    """Whether DirectML or the program owns a tensor's memory."""

    DML_TENSOR_FLAG_NONE = 0
    DML_TENSOR_FLAG_OWNED_BY_DML = 1


class DML_TENSOR_TYPE(IntEnum):
    """The kind of tensor in a DML_TENSOR_DESC."""

    DML_TENSOR_TYPE_INVALID = 0
    DML_TENSOR_TYPE_BUFFER = 1


#: Maximum dimensions of a tensor: below DML_FEATURE_LEVEL_3_0, and from that level on.
DML_TENSOR_DIMENSION_COUNT_MAX = 5
DML_TENSOR_DIMENSION_COUNT_MAX1 = 8
