"""Operator descriptions as DxDispatch's JSON; ``operators.operator`` reads them back unchanged."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np

from dml.descriptors.base import FieldInfo, OperatorDesc, operators
from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS
from dml.enums.naming import short_name
from dml.errors import HRESULT, DMLError
from dml.frontends.dxdispatch.operators import UNION_TYPES
from dml.tensors import DML_BUFFER_TENSOR_DESC, ELEMENT_BITS, UINT2, calc_buffer_tensor_size, numpy_dtype


def dispatchable(desc: OperatorDesc) -> dict[str, Any]:
    """Return a model's dispatchable for an operator, as values for ``json``: ``{"type": "DML_OPERATOR_...", "desc":
    {...}}``.

    Counts, default strides and None are omitted. Raises DMLError for a scalar of a type that DxDispatch cannot write,
    and for an operator or a data type that DirectML does not have.
    """
    if desc.OPERATOR_TYPE not in operators():
        raise DMLError(
            f"{short_name(desc.OPERATOR_TYPE)}: DirectML has no such operator", HRESULT.DXGI_ERROR_UNSUPPORTED
        )
    return {"type": desc.OPERATOR_TYPE.name, "desc": _fields(desc)}


def _fields(desc: OperatorDesc) -> dict[str, Any]:
    written = {}
    for info in desc.fields_info:
        value = getattr(desc, info.name)
        if value is not None and info.counts is None:
            written[info.name] = _value(info, value, desc)
    return written


def _value(info: FieldInfo, value: Any, desc: OperatorDesc) -> Any:
    if info.enum is not None:
        return value.name if isinstance(value, IntEnum) else int(value)
    match info.type:
        case "tensor":
            return tensor(value)
        case "tensor_array":
            return [tensor(item) for item in value]
        case "operator":
            return _fused(value)
        case "operator_array":
            return [_fused(item) for item in value]
        case "uint_array" | "int_array":
            return list(value)
        case "float":
            return _number(value)
        case "float_array":
            return [_number(item) for item in value]
        case "DML_SCALE_BIAS":
            return {"Scale": _number(value.Scale), "Bias": _number(value.Bias)}
        case "DML_SIZE_2D":
            return {"Width": value.Width, "Height": value.Height}
        case "DML_SCALAR_UNION":
            return _scalar(value, getattr(desc, UNION_TYPES.get(info.name, "ValueDataType")), info, desc)
    return value


def _fused(desc: OperatorDesc) -> dict[str, Any]:
    """Return the activation fused into another operator."""
    return {"Type": desc.OPERATOR_TYPE.name, "Desc": _fields(desc)}


def tensor(desc: DML_BUFFER_TENSOR_DESC) -> dict[str, Any]:
    """Return a DML_BUFFER_TENSOR_DESC without the members that have their default values.

    Raises DMLError for a data type that DirectML does not have.
    """
    if desc.DataType is UINT2:
        raise DMLError("UINT2: DirectML has no such data type", HRESULT.DXGI_ERROR_UNSUPPORTED)
    written: dict[str, Any] = {"DataType": _short(desc.DataType), "Sizes": list(desc.Sizes)}
    if desc.Strides is not None:
        written["Strides"] = list(desc.Strides)
    if desc.TotalTensorSizeInBytes != calc_buffer_tensor_size(desc.DataType, desc.Sizes, desc.Strides):
        written["TotalTensorSizeInBytes"] = desc.TotalTensorSizeInBytes
    if desc.GuaranteedBaseOffsetAlignment:
        written["GuaranteedBaseOffsetAlignment"] = desc.GuaranteedBaseOffsetAlignment
    if desc.Flags:
        written["Flags"] = [flag.name for flag in DML_TENSOR_FLAGS if flag and flag in desc.Flags]
    return written


def _short(kind: DML_TENSOR_DATA_TYPE) -> str:
    return kind.name.removeprefix("DML_TENSOR_DATA_TYPE_")


def _number(value: float) -> float | str:
    """Return the number, or a word for infinities and NaN, which JSON lacks and DxDispatch reads as words."""
    return value if math.isfinite(value) else str(value)


def _scalar(value: Any, kind: DML_TENSOR_DATA_TYPE, info: FieldInfo, desc: OperatorDesc) -> Any:
    """Return the union's member for the data type."""
    dtype = numpy_dtype(kind) if kind in ELEMENT_BITS and ELEMENT_BITS[kind] >= 8 else np.dtype(np.void)
    words = {"f": "Float", "i": "Int", "u": "UInt"}
    if dtype.kind not in words:
        name = desc.OPERATOR_TYPE.name.removeprefix("DML_OPERATOR_")
        raise DMLError(f"{name}.{info.name}: DxDispatch has no scalar of {_short(kind)}")
    dtype = np.dtype(np.uint16) if dtype == np.float16 else dtype
    member = f"{words[dtype.kind]}{dtype.itemsize * 8}"
    return {member: _number(getattr(value, member))}
