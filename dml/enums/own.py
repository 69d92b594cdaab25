"""Operators and a data type of this package that front ends need and DirectML lacks.

They are not members of ``DML_OPERATOR_TYPE`` and ``DML_TENSOR_DATA_TYPE``, so queries and lists of these leave them
out. Their numbers differ from DirectML's numbers.
"""

from enum import IntEnum


class OWN_OPERATOR_TYPE(IntEnum):
    """This package's own operators, numbered far above DirectML's."""

    OWN_OPERATOR_NON_MAX_SUPPRESSION = 1 << 31
    OWN_OPERATOR_INSERT_ROWS = (1 << 31) + 1
    OWN_OPERATOR_REDUCE_INTO_ROWS = (1 << 31) + 2


class OWN_TENSOR_DATA_TYPE(IntEnum):
    """This package's own data types, numbered far above DirectML's. Descriptions take only the enumerators, neither
    numbers nor names."""

    OWN_TENSOR_DATA_TYPE_UINT2 = 1 << 31
