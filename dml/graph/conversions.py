"""Substitutes for data types that an operator does not accept.

A format may allow an operation for more data types than DirectML's operator. A ``Builder`` that converts casts the
inputs of such an operator to a data type that it accepts, and its outputs back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from dml.capability import TensorSupport, operator_support, same_properties, short_name
from dml.capability.own import takes_own_type
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError

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
    cls: type[OperatorDesc], found: tuple[tuple[str, DML_TENSOR_DATA_TYPE], ...], function: DML_REDUCE_FUNCTION | None
) -> Mapping[str, DML_TENSOR_DATA_TYPE]:
    """Return the data types that replace unsupported ones, by tensor field.

    found: the data type of each given tensor. function: of a reduction, whose data types depend on it.

    Raises DMLError (DXGI_ERROR_UNSUPPORTED) if no data type can replace one.
    """
    held = dict(found)
    support: Mapping[str, TensorSupport] = operator_support(cls.OPERATOR_TYPE, function=function) or {}
    result = {}
    for group in _type_groups(cls):  # type: ignore[arg-type]  # a class is hashable
        present = [name for name in group if name in held]
        for kind in {held[name] for name in present}:
            names = [name for name in present if held[name] == kind]
            for candidate in (kind, *_SUBSTITUTES.get(kind, ())):
                if all(
                    candidate in support[name].data_types or takes_own_type(cls.OPERATOR_TYPE, name, candidate)
                    for name in names
                ):
                    result.update({name: candidate for name in names if candidate != kind})
                    break
            else:
                raise DMLError(
                    f"{short_name(cls.OPERATOR_TYPE)} does not take {short_name(kind)}", HRESULT.DXGI_ERROR_UNSUPPORTED
                )
    return result
