"""Tensors of DirectML's operators that take this package's own data types. No query lists these."""

from __future__ import annotations

from ..enums import DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from ..enums.own import OWN_TENSOR_DATA_TYPE

_TAKEN: dict[int, set[tuple[int, str]]] = {
    OWN_TENSOR_DATA_TYPE.OWN_TENSOR_DATA_TYPE_UINT2: {
        (DML_OPERATOR_TYPE.DML_OPERATOR_DEQUANTIZE, "InputTensor"),
        (DML_OPERATOR_TYPE.DML_OPERATOR_DEQUANTIZE, "QuantizationTensors"),
    }
}


def takes_own_type(operator_type: DML_OPERATOR_TYPE, field: str, data_type: DML_TENSOR_DATA_TYPE) -> bool:
    """Whether a tensor of an operator takes a data type that DirectML lacks."""
    return (operator_type, field) in _TAKEN.get(data_type, ())
