"""Tensors of DirectML's operators that also take this package's own data types. No query lists these."""

from __future__ import annotations

from ..enums import DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from ..enums.own import OWN_TENSOR_DATA_TYPE
from .support import TensorSupport

_TAKEN: dict[int, set[tuple[int, str]]] = {
    OWN_TENSOR_DATA_TYPE.OWN_TENSOR_DATA_TYPE_UINT2: {
        (DML_OPERATOR_TYPE.DML_OPERATOR_DEQUANTIZE, "InputTensor"),
        (DML_OPERATOR_TYPE.DML_OPERATOR_DEQUANTIZE, "QuantizationTensors"),
    }
}


def takes_type(
    operator_type: DML_OPERATOR_TYPE, field: str, data_type: DML_TENSOR_DATA_TYPE, support: TensorSupport
) -> bool:
    """Whether a tensor of an operator takes a data type: one of the capability table, or one of this package's own
    types."""
    return data_type in support.data_types or (operator_type, field) in _TAKEN.get(data_type, ())
