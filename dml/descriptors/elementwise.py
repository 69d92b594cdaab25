"""Descriptions of the elementwise operators."""
from __future__ import annotations

from ..enums import DML_IS_INFINITY_MODE, DML_ROUNDING_MODE, DML_TENSOR_DATA_TYPE
from ..tensors import DML_SCALAR_UNION
from .base import Input, OperatorDesc, OptionalInput, OptionalOperator, OptionalScaleBias, Output, fusable, operator


@operator
class DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_IDENTITY.

    Reference: dml_element_wise_identity_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ABS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ABS.

    Reference: dml_element_wise_abs_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ACOS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ACOS.

    Reference: dml_element_wise_acos_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ADD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ADD.

    Reference: dml_element_wise_add_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ASIN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ASIN.

    Reference: dml_element_wise_asin_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ATAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ATAN.

    Reference: dml_element_wise_atan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CEIL_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_CEIL.

    Reference: dml_element_wise_ceil_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_CLIP.

    Reference: dml_element_wise_clip_operator_desc.
    """

    InputTensor: Input = fusable()
    OutputTensor: Output = fusable()
    ScaleBias: OptionalScaleBias = None
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_COS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_COS.

    Reference: dml_element_wise_cos_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_DIVIDE.

    Reference: dml_element_wise_divide_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_EXP_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_EXP.

    Reference: dml_element_wise_exp_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_FLOOR.

    Reference: dml_element_wise_floor_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_LOG_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOG.

    Reference: dml_element_wise_log_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_AND.

    Reference: dml_element_wise_logical_and_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_EQUALS.

    Reference: dml_element_wise_logical_equals_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN.

    Reference: dml_element_wise_logical_greater_than_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN.

    Reference: dml_element_wise_logical_less_than_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_NOT.

    Reference: dml_element_wise_logical_not_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_OR.

    Reference: dml_element_wise_logical_or_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_XOR.

    Reference: dml_element_wise_logical_xor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MAX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MAX.

    Reference: dml_element_wise_max_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MEAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MEAN.

    Reference: dml_element_wise_mean_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MIN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MIN.

    Reference: dml_element_wise_min_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MULTIPLY.

    Reference: dml_element_wise_multiply_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_POW_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_POW.

    Reference: dml_element_wise_pow_operator_desc.
    """

    InputTensor: Input
    ExponentTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW.

    Reference: dml_element_wise_constant_pow_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    Exponent: float


@operator
class DML_ELEMENT_WISE_RECIP_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_RECIP.

    Reference: dml_element_wise_recip_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SIN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_SIN.

    Reference: dml_element_wise_sin_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_SQRT.

    Reference: dml_element_wise_sqrt_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_SUBTRACT.

    Reference: dml_element_wise_subtract_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_TAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_TAN.

    Reference: dml_element_wise_tan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_THRESHOLD.

    Reference: dml_element_wise_threshold_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    Min: float


@operator
class DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR.

    Reference: dml_element_wise_quantize_linear_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR.

    Reference: dml_element_wise_dequantize_linear_operator_desc.
    """

    InputTensor: Input
    ScaleTensor: Input
    ZeroPointTensor: OptionalInput = None
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_SIGN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_SIGN.

    Reference: dml_element_wise_sign_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_IS_NAN.

    Reference: dml_element_wise_is_nan_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ERF_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ERF.

    Reference: dml_element_wise_erf_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_SINH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_SINH.

    Reference: dml_element_wise_sinh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_COSH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_COSH.

    Reference: dml_element_wise_cosh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_TANH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_TANH.

    Reference: dml_element_wise_tanh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ASINH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ASINH.

    Reference: dml_element_wise_asinh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ACOSH.

    Reference: dml_element_wise_acosh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_ATANH_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ATANH.

    Reference: dml_element_wise_atanh_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None


@operator
class DML_ELEMENT_WISE_IF_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_IF.

    Reference: dml_element_wise_if_operator_desc.
    """

    ConditionTensor: Input
    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ADD1.

    Reference: dml_element_wise_add1_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output
    FusedActivation: OptionalOperator = None


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_LEFT.

    Reference: dml_element_wise_bit_shift_left_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_SHIFT_RIGHT.

    Reference: dml_element_wise_bit_shift_right_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ROUND_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ROUND.

    Reference: dml_element_wise_round_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    RoundingMode: DML_ROUNDING_MODE


@operator
class DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_IS_INFINITY.

    Reference: dml_element_wise_is_infinity_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    InfinityMode: DML_IS_INFINITY_MODE


@operator
class DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MODULUS_TRUNCATE.

    Reference: dml_element_wise_modulus_truncate_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_MODULUS_FLOOR.

    Reference: dml_element_wise_modulus_floor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_AND.

    Reference: dml_element_wise_bit_and_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_OR.

    Reference: dml_element_wise_bit_or_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_XOR.

    Reference: dml_element_wise_bit_xor_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_NOT.

    Reference: dml_element_wise_bit_not_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_BIT_COUNT.

    Reference: dml_element_wise_bit_count_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL.

    Reference: dml_element_wise_logical_greater_than_or_equal_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL.

    Reference: dml_element_wise_logical_less_than_or_equal_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_ATAN_YX.

    Reference: dml_element_wise_atan_yx_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD.

    Reference: dml_element_wise_clip_grad_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    Min: float
    Max: float


@operator
class DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE.

    Reference: dml_element_wise_difference_square_operator_desc.
    """

    ATensor: Input
    BTensor: Input
    OutputTensor: Output


@operator
class DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_QUANTIZED_LINEAR_ADD.

    Reference: dml_element_wise_quantized_linear_add_operator_desc.
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
    """Describes DML_OPERATOR_ELEMENT_WISE_CLIP1.

    Reference: dml_element_wise_clip1_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
    ScaleBias: OptionalScaleBias = None
    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_CLIP_GRAD1.

    Reference: dml_element_wise_clip_grad1_operator_desc.
    """

    InputTensor: Input
    InputGradientTensor: Input
    OutputGradientTensor: Output
    MinMaxDataType: DML_TENSOR_DATA_TYPE
    Min: DML_SCALAR_UNION
    Max: DML_SCALAR_UNION


@operator
class DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_ELEMENT_WISE_NEGATE.

    Reference: dml_element_wise_negate_operator_desc.
    """

    InputTensor: Input
    OutputTensor: Output
