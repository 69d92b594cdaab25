"""Substitutes for data types that an operator does not take.

A format may allow an operation for more data types than DirectML's operator takes at the device's feature level. A
``Builder`` that converts casts the inputs of such an operator to a data type that it takes, and its outputs back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from dml.capability import LATEST, operator_support, same_properties, short_name
from dml.capability.own import takes_type
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_FEATURE_LEVEL, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.tensors import element_bits

_T = DML_TENSOR_DATA_TYPE
#: Data types that can replace another one, the best first.
_SUBSTITUTES: dict[DML_TENSOR_DATA_TYPE, tuple[DML_TENSOR_DATA_TYPE, ...]] = {
    _T.DML_TENSOR_DATA_TYPE_FLOAT64: (_T.DML_TENSOR_DATA_TYPE_FLOAT32,),
    _T.DML_TENSOR_DATA_TYPE_FLOAT16: (_T.DML_TENSOR_DATA_TYPE_FLOAT32,),
    _T.DML_TENSOR_DATA_TYPE_INT64: (_T.DML_TENSOR_DATA_TYPE_INT32,),
    _T.DML_TENSOR_DATA_TYPE_UINT64: (_T.DML_TENSOR_DATA_TYPE_UINT32,),
    _T.DML_TENSOR_DATA_TYPE_INT32: (_T.DML_TENSOR_DATA_TYPE_INT64,),
    _T.DML_TENSOR_DATA_TYPE_UINT32: (_T.DML_TENSOR_DATA_TYPE_UINT64, _T.DML_TENSOR_DATA_TYPE_INT64),
    _T.DML_TENSOR_DATA_TYPE_INT16: (_T.DML_TENSOR_DATA_TYPE_INT32, _T.DML_TENSOR_DATA_TYPE_FLOAT32),
    _T.DML_TENSOR_DATA_TYPE_INT8: (_T.DML_TENSOR_DATA_TYPE_INT32, _T.DML_TENSOR_DATA_TYPE_FLOAT32),
    _T.DML_TENSOR_DATA_TYPE_UINT16: (
        _T.DML_TENSOR_DATA_TYPE_UINT32,
        _T.DML_TENSOR_DATA_TYPE_INT32,
        _T.DML_TENSOR_DATA_TYPE_FLOAT32,
    ),
    _T.DML_TENSOR_DATA_TYPE_UINT8: (
        _T.DML_TENSOR_DATA_TYPE_UINT32,
        _T.DML_TENSOR_DATA_TYPE_INT32,
        _T.DML_TENSOR_DATA_TYPE_FLOAT32,
    ),
}


@cache
def _type_groups(cls: type[OperatorDesc]) -> list[set[str]]:
    """Group the tensor fields of an operator that must have the same data type."""
    groups = [{info.name} for info in cls.fields_info if info.is_tensor]
    for same in same_properties(cls.OPERATOR_TYPE):
        if "DataType" in same.properties:
            joined = [group for group in groups if group & set(same.tensors)]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return groups


@lru_cache(maxsize=1024)
def conversions(
    cls: type[OperatorDesc],
    found: tuple[tuple[str, DML_TENSOR_DATA_TYPE], ...],
    function: DML_REDUCE_FUNCTION | None,
    level: DML_FEATURE_LEVEL,
) -> Mapping[str, DML_TENSOR_DATA_TYPE]:
    """Return the data types that replace those that the feature level does not take, by tensor field.

    found: the data type of each given tensor. function: a reduction's function, on which its data types depend. An
    operator that the level lacks has no replacements.

    Raises DMLError (DXGI_ERROR_UNSUPPORTED) if no data type can replace one.
    """
    types = dict(found)
    support, latest = (operator_support(cls.OPERATOR_TYPE, each_level, function) for each_level in (level, LATEST))
    result: dict[str, DML_TENSOR_DATA_TYPE] = {}
    if support is None or latest is None:
        return result
    for group in _type_groups(cls):  # type: ignore[arg-type]  # a class is hashable
        present = [name for name in group if name in types]
        for kind in {types[name] for name in present}:
            names = [name for name in present if types[name] == kind]
            # Where the latest level takes the numbers exactly, a narrower type that may lose digits is no substitute at
            # an older one.
            is_exact = all(kind in latest[name].data_types for name in names)
            for candidate in (kind, *_SUBSTITUTES.get(kind, ())):
                if is_exact and element_bits(candidate) < element_bits(kind):
                    continue
                if all(takes_type(cls.OPERATOR_TYPE, name, candidate, support[name]) for name in names):
                    result.update({name: candidate for name in names if candidate != kind})
                    break
            else:
                raise DMLError(
                    f"{short_name(cls.OPERATOR_TYPE)} does not take {short_name(kind)} at feature level "
                    f"{short_name(level)}",
                    HRESULT.DXGI_ERROR_UNSUPPORTED,
                )
    return result
