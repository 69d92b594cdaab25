"""CAST between any two data types.

From float to integer the value is truncated; values outside the integer type saturate, and NaN becomes 0 (the page
leaves both open). Between integers the low bits are kept. To a float type the value rounds once, to nearest even.
"""

from __future__ import annotations

import numpy as np

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.lowering import elementwise
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors.movement import DML_CAST_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE

#: Conversions to and from the 64-bit types.
CONVERT = ["lib/convert64.glsl"]


@elementwise(DML_CAST_OPERATOR_DESC, "InputTensor")
def cast(desc: DML_CAST_OPERATOR_DESC) -> Expression:
    source, result = desc.InputTensor.DataType, desc.OutputTensor.DataType
    return Leaf(0) if source == result else cast_expression(source, result)


def cast_expression(source: DML_TENSOR_DATA_TYPE, result: DML_TENSOR_DATA_TYPE) -> Expression:
    """Return leaf 0 of one data type as the value type of another."""
    kind = DATA_TYPES[result].kind
    if kind == "float":
        return _to_float(source, result)
    if kind == "float64":
        return _to_float64(DATA_TYPES[source].kind)
    if DATA_TYPES[source].is_floating:
        return _float_to_integer(source, result)
    return _integer_to_integer(DATA_TYPES[source].kind, DATA_TYPES[result].kind)


def _to_float(source: DML_TENSOR_DATA_TYPE, result: DML_TENSOR_DATA_TYPE) -> Expression:
    value, wanted = DATA_TYPES[source], DATA_TYPES[result]
    converted: Expression
    if value.kind == "float":
        converted = Leaf(0)
    elif value.kind == "float64":
        converted = node(f"float_from_float64($x0, {str(wanted.rounds).lower()})", Leaf(0), includes=CONVERT)
    elif value.bits < 32:
        converted = node("float($x0)", Leaf(0))
    else:
        wide = {"int": "i64_from_int($x0)", "uint": "uvec2($x0, 0u)"}.get(value.kind, "$x0")
        sign = "i" if value.kind.startswith("int") else "u"
        converted = node(f"float_from_{sign}64({wide})", Leaf(0), includes=CONVERT)
    # The value is rounded here, not only when stored: a graph may fuse the cast with its reader and store nothing.
    return node(wanted.rounded, converted) if wanted.rounds else converted


def _to_float64(kind: str) -> Expression:
    code = {
        "float": "float64_from_float($x0)",
        "int": "float64_from_i64(i64_from_int($x0))",
        "uint": "float64_from_u64(uvec2($x0, 0u))",
        "int64": "float64_from_i64($x0)",
        "uint64": "float64_from_u64($x0)",
    }[kind]
    return node(code, Leaf(0), glsl="uvec2", includes=CONVERT)


def _float_to_integer(source: DML_TENSOR_DATA_TYPE, result: DML_TENSOR_DATA_TYPE) -> Expression:
    value = DATA_TYPES[result]
    float64 = DATA_TYPES[source].kind == "float64"
    if value.bits == 64:
        wide = "$x0" if float64 else "float64_from_float($x0)"
        sign = "i" if value.kind == "int64" else "u"
        return node(f"{sign}64_from_float64({wide})", Leaf(0), glsl="uvec2", includes=CONVERT)
    suffix = "float64" if float64 else "float"
    if value.kind == "uint":
        code = f"uint_from_{suffix}($x0, $High)"
        return node(code, Leaf(0), glsl="uint", includes=CONVERT, High=int(value.highest))
    code = f"int_from_{suffix}($x0, $Low, $High)"
    return node(code, Leaf(0), glsl="int", includes=CONVERT, Low=np.int32(value.lowest), High=np.int32(value.highest))


def _integer_to_integer(source: str, result: str) -> Expression:
    if result in ("int64", "uint64"):
        code = {"int": "i64_from_int($x0)", "uint": "uvec2($x0, 0u)"}.get(source, "$x0")
        return node(code, Leaf(0), glsl="uvec2", includes=CONVERT)
    low = "$x0.x" if source in ("int64", "uint64") else "$x0"
    return node(f"{result}({low})", Leaf(0), glsl=result)
