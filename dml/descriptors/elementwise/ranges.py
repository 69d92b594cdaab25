"""Copies, elements limited to a range, rounding, and quantization with a scale and zero point per element."""

from __future__ import annotations

from ...enums import DML_ROUNDING_MODE, DML_TENSOR_DATA_TYPE
from ...tensors import DML_SCALAR_UNION
from ..base import (
    ActivationDesc,
    Input,
    OperatorDesc,
    OptionalInput,
    OptionalScaleBias,
    Output,
    ScaledDesc,
    UnaryDesc,
    operator,
)


@operator
class DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(ScaledDesc):
    """Copy each element; with strides, a change of layout."""


@operator
class DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(ActivationDesc):
    """Limit each element to the range from Min to Max.

    InputTensor, OutputTensor: the same sizes and data type; both None when fused into CONVOLUTION or GEMM (from 6_0).
    """

    ScaleBias: OptionalScaleBias = None
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(ScaledDesc):
    """CLIP with limits of any data type: MinMaxDataType is the type of Min and Max."""

    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of CLIP: the incoming gradient where the input lies strictly between Min and Max, else 0.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes and data type.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(OperatorDesc):
    """CLIP_GRAD with limits of any data type: MinMaxDataType is the type of Min and Max.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes and data type.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(ScaledDesc):
    """Raise elements below Min to Min: max(x, Min)."""

    Min: float


@operator
class DML_ELEMENT_WISE_CEIL_OPERATOR_DESC(ScaledDesc):
    """The smallest integer that is not below x."""


@operator
class DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC(ScaledDesc):
    """The largest integer that is not above x."""


@operator
class DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(UnaryDesc):
    """Round to an integer: RoundingMode is toward zero, or to the nearest with halves to even or away from zero."""

    RoundingMode: DML_ROUNDING_MODE


@operator
class DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Quantize with a scale and zero point per element: round(x / scale) + zero point, halves to even, limited to the
    output type.

    All tensors: the same sizes (broadcast by strides). ScaleTensor: the difference between adjacent integers.
    ZeroPointTensor: the integer that represents 0, in the data type of OutputTensor; optional from 6_2.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Undo linear quantization with a scale and zero point per element: (x - zero point) * scale.

    All tensors: the same sizes (broadcast by strides). ScaleTensor: the difference between adjacent integers.
    ZeroPointTensor: the integer that represents 0, in the data type of InputTensor; optional from 6_2.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(OperatorDesc):
    """Dequantize A and B, add them, and quantize the sum.

    All tensors: the same dimension count; scales and zero points broadcast by strides or hold one element. Each zero
    point is optional and has the data type of its tensor.
    """

    ATensor: Input
    AScaleTensor: Input
    AZeroPointTensor: OptionalInput = None
    BTensor: Input
    BScaleTensor: Input
    BZeroPointTensor: OptionalInput = None
    OutputScaleTensor: Input
    OutputZeroPointTensor: OptionalInput = None
    OutputTensor: Output
