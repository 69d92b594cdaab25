"""DML_OPERATOR_DESC and its members from JSON: fields by name, enumerators with or without their prefix."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any, TypeVar

import numpy as np

from dml.api.arrays import Array
from dml.descriptors import operators as all_operators
from dml.descriptors.base import FieldInfo, OperatorDesc
from dml.enums import DML_EXECUTION_FLAGS, DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE, DML_TENSOR_FLAGS, DML_TENSOR_TYPE
from dml.enums.naming import nearby
from dml.errors import DMLError
from dml.frontends.dxdispatch.document import Json
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D, ELEMENT_BITS, numpy_dtype

_Enum = TypeVar("_Enum", bound=IntEnum)
_Flag = TypeVar("_Flag", bound=IntFlag)

#: Field that is a DML_SCALAR_UNION -> field with its data type.
UNION_TYPES = {"Min": "MinMaxDataType", "Max": "MinMaxDataType", "PaddingValue": "PaddingValueDataType"}


def enumerator(value: Json, kind: type[_Enum], prefix: str | None = None) -> _Enum:
    """Return the enumerator of that name: DML_MATRIX_TRANSFORM_NONE or NONE."""
    text = value.string()
    prefix = prefix or f"{kind.__name__}_"
    for name in (text, prefix + text):
        if name.startswith(prefix) and name in kind.__members__:
            return kind[name]
    known = ", ".join(name.removeprefix(prefix) for name in kind.__members__)
    hint = f"; it has {known}" if len(known) < 300 else nearby(kind, text)
    value.fail(f"{text!r} is not a {kind.__name__}{hint}")


def flags(value: Json, kind: type[_Flag]) -> _Flag:
    """Return the flags for one name or an array of names."""
    prefix = f"{kind.__name__.removesuffix('S')}_"
    result = kind(0)
    for item in value.items() if value.is_array else [value]:
        text = item.string()
        full = text if text.startswith(prefix) else prefix + text
        if full not in kind.__members__:
            item.fail(f"{text!r} is not a {kind.__name__}")
        result |= kind[full]
    return result


def data_type(value: Json) -> DML_TENSOR_DATA_TYPE:
    return enumerator(value, DML_TENSOR_DATA_TYPE)


def tensor(value: Json) -> DML_BUFFER_TENSOR_DESC:
    """Read a DML_TENSOR_DESC; its fields are in 'Desc' or next to the optional 'Type'."""
    kind = value.get("Type")
    if kind is not None:
        enumerator(kind, DML_TENSOR_TYPE)
    desc = value.get("Desc") or value
    strides, flag, count = desc.get("Strides"), desc.get("Flags"), desc.get("DimensionCount")
    try:
        return DML_BUFFER_TENSOR_DESC(
            data_type(desc.need("DataType")),
            desc.need("Sizes").unsigned_array(),
            strides.unsigned_array() or None if strides is not None else None,
            desc.unsigned_member("TotalTensorSizeInBytes", bits=64) or None,
            desc.unsigned_member("GuaranteedBaseOffsetAlignment"),
            flags(flag, DML_TENSOR_FLAGS) if flag is not None else DML_TENSOR_FLAGS.DML_TENSOR_FLAG_NONE,
            count.unsigned() if count is not None else None,
        )
    except DMLError as error:
        error.at(desc.path, "document")
        raise


def _scalar_union(value: Json, kind: DML_TENSOR_DATA_TYPE) -> DML_SCALAR_UNION:
    """Read a number of the data type, or an object with the union's member for it (UInt16 for the bits of a
    FLOAT16)."""
    words = {"f": "Float", "i": "Int", "u": "UInt"}
    dtype = numpy_dtype(kind) if kind in ELEMENT_BITS else np.dtype(np.void)
    if dtype.kind not in words:
        value.fail(f"{kind.name} is not a scalar type")
    if value.is_object:
        dtype = np.dtype(np.uint16) if dtype == np.float16 else dtype
        value = value.need(f"{words[dtype.kind]}{dtype.itemsize * 8}")
    return DML_SCALAR_UNION(Bytes=scalars([value], dtype).tobytes())


def scalars(values: list[Json], dtype: np.dtype[Any]) -> Array:
    """Read numbers of a type. Integers must be in its range; floats beyond it become infinite, as in C."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array([value.number() for value in values], dtype)
    limits = np.iinfo(dtype)
    return np.array([value.integer(int(limits.min), int(limits.max)) for value in values], dtype)


def _field(info: FieldInfo, value: Json, desc: Json) -> Any:
    if info.enum is not None:
        return enumerator(value, info.enum)
    match info.type:
        case "tensor":
            return tensor(value)
        case "tensor_array":
            return tuple(tensor(item) for item in value.items())
        case "operator":
            return operator(value, fused=True)
        case "operator_array":
            return tuple(operator(item, fused=True) for item in value.items())
        case "uint":
            return value.unsigned()
        case "int":
            return value.integer(-(1 << 31), (1 << 31) - 1)
        case "uint_array":
            return value.unsigned_array()
        case "int_array":
            return tuple(item.integer(-(1 << 31), (1 << 31) - 1) for item in value.items())
        case "float":
            return value.number()
        case "float_array":
            return tuple(item.number() for item in value.items())
        case "bool":
            return value.boolean()
        case "DML_SCALE_BIAS":
            return DML_SCALE_BIAS(value.need("Scale").number(), value.need("Bias").number())
        case "DML_SIZE_2D":
            return DML_SIZE_2D(value.need("Width").unsigned(), value.need("Height").unsigned())
        case "DML_SCALAR_UNION":
            return _scalar_union(value, data_type(desc.need(UNION_TYPES.get(info.name, "ValueDataType"))))
    raise AssertionError(info)


def operator(value: Json, *, fused: bool = False) -> OperatorDesc:
    """Read an operator: its 'Type' (or 'type'), and its fields in 'Desc' (or 'desc') or next to it.

    fused: an activation inside another operator, which has no tensors. Counts are optional. Members that are not
    fields are ignored, as in DxDispatch. Raises DMLError with the location in the file.
    """
    desc, faults = read_operator(value, fused=fused)
    if desc is None:
        raise faults[0]
    return desc


def read_operator(value: Json, *, fused: bool = False) -> tuple[OperatorDesc | None, list[DMLError]]:
    """Read an operator; return its description, or None and all faults."""
    faults: list[DMLError] = []
    fields: dict[str, Any] = {}
    try:
        kind = enumerator(value.need("Type", "type"), DML_OPERATOR_TYPE, "DML_OPERATOR_")
        cls = all_operators().get(kind)
        if cls is None:
            value.fail(f"{kind.name} is not an operator")
        desc = value.get("Desc", "desc") or value
        for info in cls.fields_info:
            if fused and info.is_tensor:
                continue
            try:
                found = desc.get(info.name)
                if found is not None:
                    fields[info.name] = _field(info, found, desc)
                elif info.optional:
                    fields[info.name] = None
                elif info.counts is None:
                    desc.fail(f"needs a member {info.name!r}")
            except DMLError as error:
                faults.append(error)
        if not faults:
            try:
                return cls(**fields), []
            except DMLError as error:
                error.at(desc.path, "document")
                raise
    except DMLError as error:
        faults.append(error)
    return None, faults


def execution_flags(value: Json | None) -> DML_EXECUTION_FLAGS:
    return DML_EXECUTION_FLAGS(0) if value is None else flags(value, DML_EXECUTION_FLAGS)
