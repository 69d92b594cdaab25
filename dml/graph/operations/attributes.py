"""Operators' attributes under the functions' names: the descriptor's fields in snake_case."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dml.capability import short_name
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.enums.naming import snake_case
from dml.errors import DMLError
from dml.tensors import DML_SCALAR_UNION, as_element


@cache
def attribute_names(cls: type[OperatorDesc]) -> dict[str, str]:
    """Return snake_case -> field name, for the fields that are neither tensors nor counts."""
    return {snake_case(info.name): info.name for info in cls.fields_info if not info.is_tensor and info.counts is None}


def fields_of(cls: type[OperatorDesc], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes by field name. Raises DMLError for one that the operator lacks."""
    names = attribute_names(cls)  # type: ignore[arg-type]  # a class is hashable
    unknown = sorted(set(attributes) - set(names))
    if unknown:
        name = short_name(cls.OPERATOR_TYPE)
        raise DMLError(f"{name}: its attributes are {', '.join(names) or 'none'}, found {', '.join(unknown)}")
    return {names[name]: value for name, value in attributes.items()}


def scalar_of(name: str, value: float, data_type: DML_TENSOR_DATA_TYPE) -> DML_SCALAR_UNION:
    """Convert a number to a data type. name: function and parameter, for the DMLError if the type cannot hold it."""
    return DML_SCALAR_UNION(Bytes=as_element(name, value, data_type).tobytes())
