"""Descriptions of the element-wise operators.

Input and output tensors have the same sizes (a stride of 0 broadcasts an input). Where an operator takes ScaleBias, its
function sees x * Scale + Bias in place of x.
"""

from __future__ import annotations

from ...enums import DML_IS_INFINITY_MODE, DML_ROUNDING_MODE, DML_TENSOR_DATA_TYPE
from ...tensors import DML_SCALAR_UNION
from ..base import Input, OperatorDesc, OptionalInput, OptionalOperator, OptionalScaleBias, Output, fusable, operator


@operator
class DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(OperatorDesc):
    """Copy each element, x: with strides, a change of layout.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_identity_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ABS_OPERATOR_DESC(OperatorDesc):
    """Absolute value, |x|.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_abs_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ACOS_OPERATOR_DESC(OperatorDesc):
    """Inverse cosine of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_acos_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(OperatorDesc):
    """Sum, a + b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_add_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ASIN_OPERATOR_DESC(OperatorDesc):
    """Inverse sine of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_asin_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ATAN_OPERATOR_DESC(OperatorDesc):
    """Inverse tangent of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_atan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CEIL_OPERATOR_DESC(OperatorDesc):
    """The smallest integer that is not below x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_ceil_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(OperatorDesc):
    """Limit each element to the range from Min to Max.

    InputTensor, OutputTensor: the same sizes and data type; both None when fused into CONVOLUTION or GEMM (from 6_0).
    Reference: dml_element_wise_clip_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    ScaleBias: OptionalScaleBias = None
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_COS_OPERATOR_DESC(OperatorDesc):
    """Cosine of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_cos_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(OperatorDesc):
    """Quotient, a / b; of integers, rounded toward zero.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_divide_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(OperatorDesc):
    """e to the power of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_exp_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC(OperatorDesc):
    """The largest integer that is not above x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_floor_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(OperatorDesc):
    """Natural logarithm of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_log_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(OperatorDesc):
    """Whether both elements are true.

    ATensor, BTensor, OutputTensor: the same sizes; zero is false, everything else true, and results are 0 or 1.
    Reference: dml_element_wise_logical_and_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC(OperatorDesc):
    """Whether a = b.

    ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false. Reference:
    dml_element_wise_logical_equals_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC(OperatorDesc):
    """Whether a > b.

    ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false. Reference:
    dml_element_wise_logical_greater_than_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(OperatorDesc):
    """Whether a < b.

    ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false. Reference:
    dml_element_wise_logical_less_than_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC(OperatorDesc):
    """Whether the element is zero, as 0 or 1.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_logical_not_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC(OperatorDesc):
    """Whether at least one of the elements is true.

    ATensor, BTensor, OutputTensor: the same sizes; zero is false, everything else true, and results are 0 or 1.
    Reference: dml_element_wise_logical_or_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC(OperatorDesc):
    """Whether exactly one of the elements is true.

    ATensor, BTensor, OutputTensor: the same sizes; zero is false, everything else true, and results are 0 or 1.
    Reference: dml_element_wise_logical_xor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(OperatorDesc):
    """The larger of a and b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_max_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(OperatorDesc):
    """The mean of a and b, (a + b) / 2.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_mean_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(OperatorDesc):
    """The smaller of a and b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_min_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(OperatorDesc):
    """Product, a * b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_multiply_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc):
    """Power, x to the exponent at the same place; ScaleBias applies to x.

    InputTensor, OutputTensor: the same sizes and data type. ExponentTensor: those sizes, of a data type of its own.
    Reference: dml_element_wise_pow_operator_desc.
    """

    InputTensor: Input
    ExponentTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(OperatorDesc):
    """Power, x to the one constant Exponent.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_constant_pow_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    Exponent: float


@operator
class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(OperatorDesc):
    """Reciprocal, 1 / x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_recip_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SIN_OPERATOR_DESC(OperatorDesc):
    """Sine of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sin_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(OperatorDesc):
    """Square root of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sqrt_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(OperatorDesc):
    """Difference, a - b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_subtract_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_TAN_OPERATOR_DESC(OperatorDesc):
    """Tangent of each element, in radians.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_tan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(OperatorDesc):
    """Raise elements below Min to it: max(x, Min).

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_threshold_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    Min: float


@operator
class DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Quantize with a scale and zero point per element: round(x / scale) + zero point, halves to even, limited to the
    output type.

    All tensors: the same sizes (broadcast by strides). ZeroPointTensor: the data type of OutputTensor, optional from
    6_2. Reference: dml_element_wise_quantize_linear_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Undo linear quantization with a scale and zero point per element: (x - zero point) * scale.

    All tensors: the same sizes (broadcast by strides). ZeroPointTensor: the data type of InputTensor, optional from
    6_2. Reference: dml_element_wise_dequantize_linear_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(OperatorDesc):
    """The sign of each element: -1, 0 or 1.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sign_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC(OperatorDesc):
    """Whether each element is not a number, as 0 or 1.

    InputTensor, OutputTensor: the same sizes. Reference: dml_element_wise_is_nan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(OperatorDesc):
    """The Gauss error function of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_erf_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SINH_OPERATOR_DESC(OperatorDesc):
    """Hyperbolic sine of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_sinh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_COSH_OPERATOR_DESC(OperatorDesc):
    """Hyperbolic cosine of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_cosh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_TANH_OPERATOR_DESC(OperatorDesc):
    """Hyperbolic tangent of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_tanh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ASINH_OPERATOR_DESC(OperatorDesc):
    """Inverse hyperbolic sine of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_asinh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC(OperatorDesc):
    """Inverse hyperbolic cosine of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_acosh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ATANH_OPERATOR_DESC(OperatorDesc):
    """Inverse hyperbolic tangent of each element.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_atanh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_IF_OPERATOR_DESC(OperatorDesc):
    """Take the element of ATensor where the condition is not zero, of BTensor where it is.

    ConditionTensor, ATensor, BTensor, OutputTensor: the same sizes. The last three: the same data type. Reference:
    dml_element_wise_if_operator_desc.
    """

    ConditionTensor: Input
    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(OperatorDesc):
    """Sum with an activation fused onto it, FusedActivation(a + b).

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_add1_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output
    FusedActivation: OptionalOperator = None


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(OperatorDesc):
    """Shift a left by b bits; zeros come in.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_bit_shift_left_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(OperatorDesc):
    """Shift a right by b bits; zeros come in.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_bit_shift_right_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(OperatorDesc):
    """Round to an integer: RoundingMode says toward zero, or to the nearest with halves to even or away from zero.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_round_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    RoundingMode: DML_ROUNDING_MODE


@operator
class DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC(OperatorDesc):
    """Whether each element is an infinity of the sign InfinityMode asks for, as 0 or 1.

    InputTensor, OutputTensor: the same sizes. Reference: dml_element_wise_is_infinity_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    InfinityMode: DML_IS_INFINITY_MODE


@operator
class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(OperatorDesc):
    """Remainder of the division rounded toward zero: it has the sign of a.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_modulus_truncate_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(OperatorDesc):
    """Remainder of the division rounded down: it has the sign of b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_modulus_floor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC(OperatorDesc):
    """Bitwise a AND b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_bit_and_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC(OperatorDesc):
    """Bitwise a OR b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_bit_or_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC(OperatorDesc):
    """Bitwise a XOR b.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_bit_xor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(OperatorDesc):
    """Each element with every bit inverted.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_bit_not_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(OperatorDesc):
    """How many bits of each element are set.

    InputTensor, OutputTensor: the same sizes. Reference: dml_element_wise_bit_count_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    """Whether a >= b.

    ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false. Reference:
    dml_element_wise_logical_greater_than_or_equal_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    """Whether a <= b.

    ATensor, BTensor: the same sizes and data type. OutputTensor: those sizes, 1 for true and 0 for false. Reference:
    dml_element_wise_logical_less_than_or_equal_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC(OperatorDesc):
    """The angle of the point (x = b, y = a), in radians from -pi to pi.

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_atan_yx_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC(OperatorDesc):
    """Gradient of CLIP: the incoming gradient where the input lies strictly between Min and Max, else 0.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes and data type. Reference:
    dml_element_wise_clip_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(OperatorDesc):
    """Squared difference, (a - b) * (a - b).

    ATensor, BTensor, OutputTensor: the same sizes and data type. Reference:
    dml_element_wise_difference_square_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(OperatorDesc):
    """Dequantize A and B, add them, and quantize the sum.

    All tensors: the same dimension count; scales and zero points broadcast by strides or hold one element. Each zero
    point has the data type of the tensor it belongs to and is optional. Reference:
    dml_element_wise_quantized_linear_add_operator_desc.
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


@operator
class DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC(OperatorDesc):
    """CLIP with limits in any data type: MinMaxDataType says how Min and Max are read.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_clip1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(OperatorDesc):
    """CLIP_GRAD with limits in any data type: MinMaxDataType says how Min and Max are read.

    InputTensor, InputGradientTensor, OutputGradientTensor: the same sizes and data type. Reference:
    dml_element_wise_clip_grad1_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(OperatorDesc):
    """Negate each element, -x.

    InputTensor, OutputTensor: the same sizes and data type. Reference: dml_element_wise_negate_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
