"""Linear quantization."""

from __future__ import annotations

from collections.abc import Sequence

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_QUANTIZATION_TYPE, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import broadcast_sizes, with_rank

__all__ = ["dequantize", "dequantize_linear", "quantize", "quantize_linear"]

FOUR_BITS = (enums.DML_TENSOR_DATA_TYPE_INT4, enums.DML_TENSOR_DATA_TYPE_UINT4)


@checked
def quantize_linear(
    x: Tensor, scale: Operand, zero_point: Operand | None = None, data_type: DML_TENSOR_DATA_TYPE | None = None
) -> Tensor:
    """Return clamp(round(x / scale) + zero_point) in ``data_type``, by default the zero point's, else UINT8.

    scale and zero point broadcast to x, or have its rank and sizes that divide its own: one element for each block.
    4-bit types support both.
    """
    if data_type is None:
        data_type = zero_point.data_type if isinstance(zero_point, Tensor) else enums.DML_TENSOR_DATA_TYPE_UINT8
    return _linear(x, scale, zero_point, data_type, quantizes=True)


@checked
def dequantize_linear(
    x: Tensor, scale: Operand, zero_point: Operand | None = None, data_type: DML_TENSOR_DATA_TYPE | None = None
) -> Tensor:
    """Return (x - zero_point) * scale in ``data_type``, by default the scale's, else FLOAT32.

    scale and zero point broadcast to x, or have its rank and sizes that divide its own: one element for each block.
    4-bit types support both.
    """
    if data_type is None:
        data_type = scale.data_type if isinstance(scale, Tensor) else enums.DML_TENSOR_DATA_TYPE_FLOAT32
    return _linear(x, scale, zero_point, data_type, quantizes=False)


@checked
def quantize(
    x: Tensor, parameters: Sequence[Tensor], type: DML_QUANTIZATION_TYPE, data_type: DML_TENSOR_DATA_TYPE | None = None
) -> Tensor:
    """Quantize x in blocks (DirectMLX's Quantize). parameters: the scale, and with SCALE_ZERO_POINT the zero point, of
    x's rank.

    data_type: by default the zero point's, else UINT8.
    """
    if data_type is None:
        data_type = parameters[1].data_type if len(parameters) > 1 else enums.DML_TENSOR_DATA_TYPE_UINT8
    return x.builder.one(
        d.DML_QUANTIZE_OPERATOR_DESC,
        x.sizes,
        data_type,
        InputTensor=x,
        QuantizationType=type,
        QuantizationTensors=list(parameters),
    )


@checked
def dequantize(
    x: Tensor, parameters: Sequence[Tensor], type: DML_QUANTIZATION_TYPE, data_type: DML_TENSOR_DATA_TYPE | None = None
) -> Tensor:
    """Dequantize blocks of integers, to the scale's data type (DirectMLX's Dequantize).

    parameters: the scale, and with SCALE_ZERO_POINT the zero point, of x's rank; their sizes divide x's into blocks.
    """
    if not parameters:
        raise DMLError("dequantize: parameters must hold the scale, found none")
    return x.builder.one(
        d.DML_DEQUANTIZE_OPERATOR_DESC,
        x.sizes,
        parameters[0].data_type if data_type is None else data_type,
        InputTensor=x,
        QuantizationType=type,
        QuantizationTensors=list(parameters),
    )


def _linear(
    x: Tensor, scale: Operand, zero_point: Operand | None, data_type: DML_TENSOR_DATA_TYPE, *, quantizes: bool
) -> Tensor:
    floats, integers = (x.data_type, data_type) if quantizes else (data_type, x.data_type)

    def like(value: Operand, kind: DML_TENSOR_DATA_TYPE) -> Tensor:
        tensor = value if isinstance(value, Tensor) else x.builder.constant(value, kind)
        return x.builder.like(tensor, x)

    scales = like(scale, floats)
    zeros = None if zero_point is None else like(zero_point, integers)
    given = [scales] if zeros is None else [scales, zeros]
    if integers not in FOUR_BITS and all(_broadcasts(tensor, x) for tensor in given):
        cls: type[OperatorDesc] = d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC
        if quantizes:
            cls = d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
        return x.builder.one(
            cls,
            x.sizes,
            data_type,
            InputTensor=x,
            ScaleTensor=scales.broadcast(x.sizes),
            ZeroPointTensor=None if zeros is None else zeros.broadcast(x.sizes),
        )
    blocks = [tensor.packed().view(with_rank(tensor.sizes, x.rank)) for tensor in given]
    sizes = broadcast_sizes(*(tensor.sizes for tensor in blocks))
    kind = enums.DML_QUANTIZATION_TYPE_SCALE if zeros is None else enums.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT
    parameters = [tensor.broadcast(sizes) for tensor in blocks]
    return quantize(x, parameters, kind, data_type) if quantizes else dequantize(x, parameters, kind, data_type)


def _broadcasts(tensor: Tensor, x: Tensor) -> bool:
    """Whether each size of the parameter is 1 or that of x; other sizes need the operators for blocks."""
    own = with_rank(tensor.sizes, x.rank)
    return len(own) == x.rank and all(size in (1, whole) for size, whole in zip(own, x.sizes, strict=True))
