"""What each feature level accepts: operators, tensors, data types, enumerators.

`operators.json` holds the facts. Per operator: `introduced`, `in_place` (its page lets an output lie in an input's
buffer; GELU's and IS_INFINITY's do not, nor those of FILL_VALUE_CONSTANT and FILL_VALUE_SEQUENCE, which have no input),
`same` (tensors that must share properties) and `support`, a table of tensors per feature level that holds until the
next higher level with a table; REDUCE has such tables per group of functions. Where the reference contradicts itself,
the facts decide: ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL came with 3_0 (feature level history; its page says 1_0), and
the tensors of FOLD and UNFOLD differ in dimension count (their examples). The data types of those two, which the
reference leaves out, are FLOAT32 and FLOAT16 here. Two tensors are not in `same`, because they may be integers:
ADAM_OPTIMIZER's TrainingStepTensor (UINT32 by the text, floats by the table) may have any of its types with any of the
parameters' types, and MULTIHEAD_ATTENTION1's PastSequenceLengthsTensor follows the validator's rule. `own.json` holds
the same facts of operators that DirectML lacks; no query lists these.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files
from typing import Any, cast

from ..arguments import is_number
from ..descriptors import (
    DML_FEATURE_DATA_FEATURE_LEVELS,
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_QUERY_FEATURE_LEVELS,
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
)
from ..enums import (
    DML_FEATURE,
    DML_FEATURE_LEVEL,
    DML_GRAPH_NODE_TYPE,
    DML_OPERATOR_TYPE,
    DML_PADDING_MODE,
    DML_REDUCE_FUNCTION,
    DML_TENSOR_DATA_TYPE,
)
from ..enums.naming import named, short_name
from ..enums.own import OWN_OPERATOR_TYPE
from ..errors import HRESULT, DMLError
from .support import OperatorSupport, TensorSupport

LATEST = max(DML_FEATURE_LEVEL)


@dataclass(frozen=True)
class Same:
    """Tensors that must agree in their `properties`: DataType, DimensionCount, Sizes."""

    tensors: tuple[str, ...]
    properties: tuple[str, ...]


#: Enumerators added after their enumeration, with their feature levels.
_YOUNGER: dict[IntEnum, DML_FEATURE_LEVEL] = {
    DML_PADDING_MODE.DML_PADDING_MODE_SYMMETRIC: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0,
    DML_PADDING_MODE.DML_PADDING_MODE_WRAP: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4,
    DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_FLOAT64: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0,
    DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UINT64: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0,
    DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_INT64: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0,
    DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UINT4: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_3,
    DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_INT4: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_3,
    DML_GRAPH_NODE_TYPE.DML_GRAPH_NODE_TYPE_CONSTANT: DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_2,
}
_INTRODUCED = {(type(enumerator), int(enumerator)): level for enumerator, level in _YOUNGER.items()}


def feature_level(level: DML_FEATURE_LEVEL | int | str) -> DML_FEATURE_LEVEL:
    """Return the feature level as an enumerator, given its number or name ("3_0"). Raises DMLError for an unknown
    one."""
    if type(level) is DML_FEATURE_LEVEL:
        return level
    if isinstance(level, str):
        return named(DML_FEATURE_LEVEL, level, "feature level")
    try:
        return DML_FEATURE_LEVEL(level)
    except ValueError:
        raise DMLError(f"feature level: must be a DML_FEATURE_LEVEL, found {level!r}") from None


@cache
def _table(file: str) -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath(file).read_text(encoding="utf-8")
    loaded: dict[str, dict[str, Any]] = json.loads(text)
    return loaded


def operator_type(kind: DML_OPERATOR_TYPE | int | str) -> DML_OPERATOR_TYPE:
    """Return the operator type as an enumerator, given its number, its name ("GRU") or its structure's. Raises DMLError
    for an unknown one."""
    if isinstance(kind, str):
        name = kind.strip().upper()
        own = name.removesuffix("_OPERATOR_DESC")
        kind = named(DML_OPERATOR_TYPE, kind if own == name else own.removeprefix("DML_"), "operator type")
    if isinstance(kind, OWN_OPERATOR_TYPE):  # only as an enumerator: no number or name denotes it
        return cast(DML_OPERATOR_TYPE, kind)
    try:
        found = kind if type(kind) is DML_OPERATOR_TYPE else DML_OPERATOR_TYPE(kind)
        _entry_of(found)
    except (ValueError, KeyError):
        rule = "operator type: must be a DML_OPERATOR_TYPE that names an operator"
        raise DMLError(f"{rule}, found {kind!r}") from None
    return found


_checked_type = operator_type  # other functions have parameters of this name


def _entry(operator_type: DML_OPERATOR_TYPE | int | str) -> dict[str, Any]:
    return _entry_of(_checked_type(operator_type))


@cache
def _entry_of(operator_type: DML_OPERATOR_TYPE) -> dict[str, Any]:
    file = "own.json" if isinstance(operator_type, OWN_OPERATOR_TYPE) else "operators.json"
    return _table(file)[short_name(operator_type)]


def operator_introduced(operator_type: DML_OPERATOR_TYPE | str) -> DML_FEATURE_LEVEL:
    """Return the feature level that introduced an operator."""
    return _level(_entry(operator_type)["introduced"])


def enumerator_introduced(enumerator: IntEnum) -> DML_FEATURE_LEVEL:
    """Return the feature level that introduced an enumerator: 1_0 unless it was added to its enumeration later."""
    oldest = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0
    return _INTRODUCED.get((type(enumerator), int(enumerator)), oldest)


def supports_in_place(operator_type: DML_OPERATOR_TYPE | str) -> bool:
    """Whether an output of the operator may be bound to the memory of one of its inputs."""
    return bool(_entry(operator_type)["in_place"])


@cache
def same_properties(operator_type: DML_OPERATOR_TYPE) -> tuple[Same, ...]:
    """Return the documented equality constraints between an operator's tensors."""
    return tuple(Same(tuple(s["tensors"]), tuple(s["properties"])) for s in _entry(operator_type)["same"])


def operator_support(
    operator_type: DML_OPERATOR_TYPE | str,
    feature_level: DML_FEATURE_LEVEL | str = LATEST,
    function: DML_REDUCE_FUNCTION | str | None = None,
) -> OperatorSupport | None:
    """Return what a feature level accepts for each tensor of an operator, by name; None if it lacks the operator.

    Enumerators may be given by name: ``operator_support("GRU", "3_0")``. REDUCE depends on its function too; without
    one, the result covers any of its functions. `function` is ignored for other operators.
    """
    try:
        if isinstance(function, str):
            function = named(DML_REDUCE_FUNCTION, function, "function")
        reduce_function = None if function is None else DML_REDUCE_FUNCTION(function)
    except ValueError:
        raise DMLError(f"function: must be a DML_REDUCE_FUNCTION, found {function!r}") from None
    return _support(_checked_type(operator_type), _checked_level(feature_level), reduce_function)


_checked_level = feature_level  # operator_support has a parameter of this name


@cache
def _support(
    operator_type: DML_OPERATOR_TYPE, level: DML_FEATURE_LEVEL, function: DML_REDUCE_FUNCTION | None
) -> OperatorSupport | None:
    entry = _entry(operator_type)
    if level < _level(entry["introduced"]):
        return None
    if "support" in entry:
        found = _at_level(entry["support"], level)
        return None if found is None else OperatorSupport(operator_type, level, None, found)
    merged: dict[str, TensorSupport] = {}
    for functions, table in entry["support_by_function"].items():
        if function is not None and short_name(function) not in functions.split(", "):
            continue
        for name, support in (_at_level(table, level) or {}).items():
            merged[name] = _union(merged[name], support) if name in merged else support
    return OperatorSupport(operator_type, level, function, merged) if merged else None


def _at_level(table: dict[str, Any], level: DML_FEATURE_LEVEL) -> dict[str, TensorSupport] | None:
    """Return the tensors of the table's highest level up to `level`."""
    reached = [name for name in table if _level(name) <= level]
    if not reached:
        return None
    return {name: _tensor_support(facts) for name, facts in table[max(reached, key=_level)].items()}


def _tensor_support(facts: dict[str, Any]) -> TensorSupport:
    lowest, highest = facts["dimension_counts"]
    return TensorSupport(
        dimension_counts=range(lowest, highest + 1),
        data_types=frozenset(DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"] for name in facts["data_types"]),
        kind=facts["kind"],
        optional=facts.get("optional", False),
        sizes=tuple(facts["sizes"].split(", ")) if "sizes" in facts else None,
        array=facts.get("array", False),
        choice=facts.get("choice", ""),
    )


def _union(a: TensorSupport, b: TensorSupport) -> TensorSupport:
    counts = range(
        min(a.dimension_counts.start, b.dimension_counts.start), max(a.dimension_counts.stop, b.dimension_counts.stop)
    )
    return TensorSupport(
        counts, a.data_types | b.data_types, a.kind, a.optional or b.optional, a.sizes, a.array, a.choice or b.choice
    )


@cache
def _level(name: str) -> DML_FEATURE_LEVEL:
    return DML_FEATURE_LEVEL[f"DML_FEATURE_LEVEL_{name}"]


def tensor_data_type_supported(
    data_type: DML_TENSOR_DATA_TYPE | str, feature_level: DML_FEATURE_LEVEL | str = LATEST
) -> bool:
    """Whether some operator takes tensors of a data type at a feature level."""
    if isinstance(data_type, str):
        data_type = named(DML_TENSOR_DATA_TYPE, data_type, "DataType")
    try:
        found = DML_TENSOR_DATA_TYPE(data_type)
    except ValueError:
        raise DMLError(f"DataType: must be a DML_TENSOR_DATA_TYPE, found {data_type!r}") from None
    if found == DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UNKNOWN:
        return False
    return enumerator_introduced(found) <= _checked_level(feature_level)


def highest_feature_level(requested: Iterable[DML_FEATURE_LEVEL], supported: DML_FEATURE_LEVEL) -> DML_FEATURE_LEVEL:
    """Return the highest requested level that a device of level `supported` has."""
    levels = [_checked_level(level) for level in requested]
    if not levels:
        raise DMLError("RequestedFeatureLevels: at least one feature level must be requested, found none")
    reached = [level for level in levels if level <= supported]
    if not reached:
        raise DMLError(
            f"RequestedFeatureLevels: the device's feature level is {short_name(supported)}, below each of those "
            f"requested, {', '.join(map(short_name, levels))}",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return max(reached)


def check_feature_support(
    feature: DML_FEATURE | int, query: object, supported: DML_FEATURE_LEVEL
) -> DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT | DML_FEATURE_DATA_FEATURE_LEVELS:
    """IDMLDevice::CheckFeatureSupport of a device of feature level `supported`.

    Takes the feature's DML_FEATURE_QUERY_* structure and returns its DML_FEATURE_DATA_* structure. Raises DMLError
    (DXGI_ERROR_UNSUPPORTED) for an unknown feature, (E_INVALIDARG) for another query.
    """
    if is_number(feature, DML_FEATURE.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT):
        if isinstance(query, DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT):
            return DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(tensor_data_type_supported(query.DataType, supported))
        wanted = "DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT"
    elif is_number(feature, DML_FEATURE.DML_FEATURE_FEATURE_LEVELS):
        if isinstance(query, DML_FEATURE_QUERY_FEATURE_LEVELS):
            return DML_FEATURE_DATA_FEATURE_LEVELS(highest_feature_level(query.RequestedFeatureLevels, supported))
        wanted = "DML_FEATURE_QUERY_FEATURE_LEVELS"
    else:
        rule = "check_feature_support: Feature must be a DML_FEATURE"
        raise DMLError(f"{rule}, found {feature!r}", HRESULT.DXGI_ERROR_UNSUPPORTED)
    raise DMLError(f"check_feature_support: {DML_FEATURE(feature).name} needs a {wanted}, found {query!r}")


__all__ = [
    "LATEST", "OperatorSupport", "Same", "TensorSupport", "check_feature_support", "enumerator_introduced",
    "feature_level", "highest_feature_level", "operator_introduced", "operator_support", "operator_type",
    "same_properties", "short_name", "supports_in_place", "tensor_data_type_supported",
]  # fmt: skip
