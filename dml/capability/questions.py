"""Queries about feature levels, for authors of back ends: a level's operators, by data type or able to run in place."""

from __future__ import annotations

from ..arguments import checked
from ..descriptors import operators
from ..enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from . import LATEST, operator_introduced, operator_support, supports_in_place
from . import feature_level as level_of


@checked
def supported_operators(
    feature_level: DML_FEATURE_LEVEL | str = LATEST,
    *,
    in_place: bool | None = None,
    data_type: DML_TENSOR_DATA_TYPE | str | None = None,
) -> list[DML_OPERATOR_TYPE]:
    """List the operators that a feature level has, in the order of their numbers.

    in_place: only those that may (True) or may not (False) write an output over an input. data_type: only those with a
    tensor that may have this type. Raises DMLError for an unknown level or type.
    """
    level = level_of(feature_level)
    return [
        kind
        for kind in operators()
        if operator_introduced(kind) <= level
        and in_place in (None, supports_in_place(kind))
        and (data_type is None or data_type in data_types_of(kind, level))
    ]


def data_types_of(operator: DML_OPERATOR_TYPE, level: DML_FEATURE_LEVEL | str) -> frozenset[DML_TENSOR_DATA_TYPE]:
    """Return the data types that tensors of an operator may have at a level; none if the level lacks it."""
    support = operator_support(operator, level)
    taken = () if support is None else support.values()
    return frozenset[DML_TENSOR_DATA_TYPE]().union(*(tensor.data_types for tensor in taken))


__all__ = ["data_types_of", "supported_operators"]
