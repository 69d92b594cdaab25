"""Enumerations of devices, bindings and graphs. Reference: directml-enumerations, directml-constants."""

from enum import IntEnum, IntFlag


class DML_BINDING_TYPE(IntEnum):
    """The kind of binding in a DML_BINDING_DESC."""

    DML_BINDING_TYPE_NONE = 0
    DML_BINDING_TYPE_BUFFER = 1
    DML_BINDING_TYPE_BUFFER_ARRAY = 2


class DML_CREATE_DEVICE_FLAGS(IntFlag):
    """Options for create_device."""

    DML_CREATE_DEVICE_FLAG_NONE = 0
    DML_CREATE_DEVICE_FLAG_DEBUG = 1


class DML_EXECUTION_FLAGS(IntFlag):
    """Options of compile_operator and compile_graph, documented there."""

    DML_EXECUTION_FLAG_NONE = 0
    DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION = 1
    DML_EXECUTION_FLAG_DISABLE_META_COMMANDS = 2
    DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE = 4


class DML_FEATURE(IntEnum):
    """Queries of check_feature_support."""

    DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT = 0
    DML_FEATURE_FEATURE_LEVELS = 1


class DML_FEATURE_LEVEL(IntEnum):
    """A set of operators, data types and dimension counts; a level contains all lower ones."""

    DML_FEATURE_LEVEL_1_0 = 0x1000
    DML_FEATURE_LEVEL_2_0 = 0x2000
    DML_FEATURE_LEVEL_2_1 = 0x2100
    DML_FEATURE_LEVEL_3_0 = 0x3000
    DML_FEATURE_LEVEL_3_1 = 0x3100
    DML_FEATURE_LEVEL_4_0 = 0x4000
    DML_FEATURE_LEVEL_4_1 = 0x4100
    DML_FEATURE_LEVEL_5_0 = 0x5000
    DML_FEATURE_LEVEL_5_1 = 0x5100
    DML_FEATURE_LEVEL_5_2 = 0x5200
    DML_FEATURE_LEVEL_6_0 = 0x6000
    DML_FEATURE_LEVEL_6_1 = 0x6100
    DML_FEATURE_LEVEL_6_2 = 0x6200
    DML_FEATURE_LEVEL_6_3 = 0x6300
    DML_FEATURE_LEVEL_6_4 = 0x6400

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        """Return the name, or the number as ``spec`` formats it."""
        return format(int(self), spec) if spec else self.name


class DML_GRAPH_EDGE_TYPE(IntEnum):
    """The kind of edge in a DML_GRAPH_EDGE_DESC."""

    DML_GRAPH_EDGE_TYPE_INVALID = 0
    DML_GRAPH_EDGE_TYPE_INPUT = 1
    DML_GRAPH_EDGE_TYPE_OUTPUT = 2
    DML_GRAPH_EDGE_TYPE_INTERMEDIATE = 3


class DML_GRAPH_NODE_TYPE(IntEnum):
    """The kind of node in a DML_GRAPH_NODE_DESC."""

    DML_GRAPH_NODE_TYPE_INVALID = 0
    DML_GRAPH_NODE_TYPE_OPERATOR = 1
    DML_GRAPH_NODE_TYPE_CONSTANT = 2


#: Required alignments in bytes: temporary resources, persistent resources, tensor buffers.
DML_TEMPORARY_BUFFER_ALIGNMENT = 256
DML_PERSISTENT_BUFFER_ALIGNMENT = 256
DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT = 16
