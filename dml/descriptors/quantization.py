"""Descriptions of the quantization operators."""
from __future__ import annotations

from ..enums import DML_QUANTIZATION_TYPE
from .base import Input, InputArray, OperatorDesc, Output, count_of, operator


@operator
class DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_DYNAMIC_QUANTIZE_LINEAR.

    Reference: dml_dynamic_quantize_linear_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    OutputScaleTensor: Output
    OutputZeroPointTensor: Output


@operator
class DML_QUANTIZE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_QUANTIZE.

    Reference: dml_quantize_operator_desc.
    """

    InputTensor: Input
    QuantizationType: DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int = count_of("QuantizationTensors")
    QuantizationTensors: InputArray
    OutputTensor: Output


@operator
class DML_DEQUANTIZE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_DEQUANTIZE.

    Reference: dml_dequantize_operator_desc.
    """

    InputTensor: Input
    QuantizationType: DML_QUANTIZATION_TYPE
    QuantizationTensorCount: int = count_of("QuantizationTensors")
    QuantizationTensors: InputArray
    OutputTensor: Output
