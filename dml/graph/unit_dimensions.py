"""Adds dimensions of size 1 for operators that need more dimensions at the device's feature level.

Feature levels before 4_0 take four dimensions where later ones take one to eight. A ``Builder`` that converts adds
dimensions of size 1 to the inputs and removes them from the outputs; no element moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dml.capability import operator_support, short_name
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_FEATURE_LEVEL, DML_REDUCE_FUNCTION
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Where operators other than the element-wise ones take dimensions of size 1: in front, or before the spatial ones.
_POSITIONS = {
    "CONVOLUTION": 2,
    **dict.fromkeys((
        "CAST", "CUMULATIVE_PRODUCT", "CUMULATIVE_SUMMATION", "DIAGONAL_MATRIX", "FILL_VALUE_CONSTANT",
        "FILL_VALUE_SEQUENCE", "GATHER_ELEMENTS", "GEMM", "JOIN", "LP_NORMALIZATION", "MATRIX_MULTIPLY_INTEGER",
        "MEAN_VARIANCE_NORMALIZATION1", "ONE_HOT", "PADDING", "QUANTIZED_LINEAR_MATRIX_MULTIPLY", "REDUCE",
        "REVERSE_SUBSEQUENCES", "SCATTER", "SLICE", "SLICE1", "SPLIT", "TILE", "TOP_K", "TOP_K1",
    ), 0),
}  # fmt: skip
#: Stride of a dimension of size 1, where any stride is valid.
_OF_ONE = 1
_ELEMENT_WISE = ("ELEMENT_WISE_", "ACTIVATION_")
#: Attributes of one value per dimension, with the value for a dimension of size 1.
_PER_DIMENSION = {
    "Offsets": 0, "Sizes": 1, "Strides": 1, "InputWindowOffsets": 0, "InputWindowSizes": 1, "InputWindowStrides": 1,
    "StartPadding": 0, "EndPadding": 0, "OutputPadding": 0, "Dilations": 1, "Repeats": 1,
}  # fmt: skip


def missing_dimensions(
    cls: type[OperatorDesc],
    descs: Mapping[str, DML_BUFFER_TENSOR_DESC],
    function: DML_REDUCE_FUNCTION | None,
    level: DML_FEATURE_LEVEL,
) -> dict[str, int]:
    """Return the number of dimensions that each tensor field lacks at a feature level.

    Empty if none lacks any, or if more dimensions would change the operator's meaning.
    """
    if _position(cls) is None:
        return {}
    support = operator_support(cls.OPERATOR_TYPE, level, function)
    if support is None:
        return {}
    missing = {field: max(support[field].dimension_counts.start - len(desc.Sizes), 0) for field, desc in descs.items()}
    return missing if any(missing.values()) else {}


def _position(cls: type[OperatorDesc]) -> int | None:
    name = short_name(cls.OPERATOR_TYPE)
    return 0 if name.startswith(_ELEMENT_WISE) else _POSITIONS.get(name)


def widened(desc: DML_BUFFER_TENSOR_DESC, cls: type[OperatorDesc], count: int) -> DML_BUFFER_TENSOR_DESC:
    """Return an operator's tensor with ``count`` more dimensions of size 1; with fewer of them if negative."""
    position = _position(cls) or 0
    rest = position + max(-count, 0)
    sizes = desc.Sizes[:position] + (1,) * count + desc.Sizes[rest:]
    strides = desc.Strides and desc.Strides[:position] + (_OF_ONE,) * count + desc.Strides[rest:]
    return replace(desc, Sizes=sizes, Strides=strides, DimensionCount=len(sizes))


def widened_attributes(fields: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return the attributes that must change when a tensor gets ``count`` more dimensions in front: dimension numbers
    and lists with an entry per dimension."""
    changed: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "Axis":
            changed[name] = value + count
        elif name == "Axes":
            changed[name] = tuple(axis + count for axis in value)
        elif name in _PER_DIMENSION:
            changed[name] = (_PER_DIMENSION[name],) * count + tuple(value)
    return changed
