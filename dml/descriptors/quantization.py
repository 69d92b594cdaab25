"""Descriptions of the block quantization operators and of dynamic quantization."""

from __future__ import annotations

from ..enums import DML_QUANTIZATION_TYPE
from .base import Input, InputArray, OperatorDesc, Output, count_of, operator


@operator
class DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Quantize to 8 bits with a scale and zero point computed from the input's own range, 0 included.

    InputTensor, OutputTensor: the same sizes. OutputScaleTensor, OutputZeroPointTensor: one element.
    """

    InputTensor: Input
    OutputTensor: Output
    OutputScaleTensor: Output
    OutputZeroPointTensor: Output


@operator
class DML_QUANTIZE_OPERATOR_DESC(OperatorDesc):
    """Quantize in blocks: round(x / scale) + zero point, limited to the output type.

    InputTensor, OutputTensor: the same sizes. QuantizationTensors: a scale and, with SCALE_ZERO_POINT, a zero point of
    the output's data type; their sizes divide the input's, one element for each block.
    """

    InputTensor: Input
    QuantizationType: DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int = count_of("QuantizationTensors")
    QuantizationTensors: InputArray
    OutputTensor: Output


@operator
class DML_DEQUANTIZE_OPERATOR_DESC(OperatorDesc):
    """Undo QUANTIZE: (x - zero point) * scale.

    InputTensor, OutputTensor: the same sizes. QuantizationTensors: a scale and, with SCALE_ZERO_POINT, a zero point of
    the input's data type; their sizes divide the input's, one element for each block.
    """

    InputTensor: Input
    QuantizationType: DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int = count_of("QuantizationTensors")
    QuantizationTensors: InputArray
    OutputTensor: Output
