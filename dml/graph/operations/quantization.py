"""Linear quantization."""

from __future__ import annotations

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.elementwise import (
    DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC,
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC,
)
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.graph.builder import Operand, Tensor


@checked
def quantize_linear(
    x: Tensor,
    scale: Operand,
    zero_point: Operand | None = None,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_UINT8,
) -> Tensor:
    """clamp(round(x / scale) + zero_point) in ``data_type``; scale and zero point broadcast to x."""
    return _linear(DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, x, scale, zero_point, data_type)


@checked
def dequantize_linear(
    x: Tensor,
    scale: Operand,
    zero_point: Operand | None = None,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_FLOAT32,
) -> Tensor:
    """(x - zero_point) * scale in ``data_type``; scale and zero point broadcast to x."""
    return _linear(DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, x, scale, zero_point, data_type)


def _linear(
    cls: type[OperatorDesc], x: Tensor, scale: Operand, zero_point: Operand | None, data_type: DML_TENSOR_DATA_TYPE
) -> Tensor:
    quantizes = cls is DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
    floats, integers = (x.data_type, data_type) if quantizes else (data_type, x.data_type)

    def like(value: Operand | None, kind: DML_TENSOR_DATA_TYPE) -> Tensor | None:
        if value is None:
            return None
        if isinstance(value, int | float):
            value = x.builder.constant(value, kind)
        return x.builder.like(value, x).broadcast(x.sizes)

    return x.builder.one(
        cls,
        x.sizes,
        data_type,
        InputTensor=x,
        ScaleTensor=like(scale, floats),
        ZeroPointTensor=like(zero_point, integers),
    )
