"""Functions of one float.

Functions that Vulkan's built-ins do not compute precisely enough come from shaders/lib/math.glsl.
"""

from __future__ import annotations

from collections.abc import Mapping

from dml import enums
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import elementwise
from dml.compiler.operators.elementwise.numeric import scaled
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.descriptors.base import OperatorDesc

FUNCTIONS: Mapping[type[OperatorDesc], str] = {
    d.DML_ELEMENT_WISE_ACOS_OPERATOR_DESC: "acos_accurate($x0)",
    d.DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC: "acosh_accurate($x0)",
    d.DML_ELEMENT_WISE_ASIN_OPERATOR_DESC: "asin_accurate($x0)",
    d.DML_ELEMENT_WISE_ASINH_OPERATOR_DESC: "asinh_accurate($x0)",
    d.DML_ELEMENT_WISE_ATAN_OPERATOR_DESC: "atan_accurate($x0)",
    d.DML_ELEMENT_WISE_ATANH_OPERATOR_DESC: "atanh_accurate($x0)",
    d.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC: "ceil($x0)",
    d.DML_ELEMENT_WISE_COS_OPERATOR_DESC: "cos_accurate($x0)",
    d.DML_ELEMENT_WISE_COSH_OPERATOR_DESC: "cosh_accurate($x0)",
    d.DML_ELEMENT_WISE_ERF_OPERATOR_DESC: "erf_accurate($x0)",
    d.DML_ELEMENT_WISE_EXP_OPERATOR_DESC: "exp_accurate($x0)",
    d.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC: "floor($x0)",
    d.DML_ELEMENT_WISE_LOG_OPERATOR_DESC: "log_accurate($x0)",
    d.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC: "reciprocal($x0)",
    d.DML_ELEMENT_WISE_SIN_OPERATOR_DESC: "sin_accurate($x0)",
    d.DML_ELEMENT_WISE_SINH_OPERATOR_DESC: "sinh_accurate($x0)",
    d.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC: "sqrt_accurate($x0)",
    d.DML_ELEMENT_WISE_TAN_OPERATOR_DESC: "tan_accurate($x0)",
    d.DML_ELEMENT_WISE_TANH_OPERATOR_DESC: "tanh_accurate($x0)",
}

for _cls, _code in FUNCTIONS.items():
    elementwise(_cls, "InputTensor")(lambda desc, code=_code: node(code, scaled(desc), includes=[MATH]))


@elementwise(d.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC, "InputTensor")
def constant_pow(desc: d.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC) -> Expression:
    return node("pow_accurate($x0, $Exponent)", scaled(desc), Exponent=desc.Exponent, includes=[MATH])


@elementwise(d.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, "InputTensor")
def round_to(desc: d.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC) -> Expression:
    code = {
        enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN: "roundEven($x0)",
        enums.DML_ROUNDING_MODE_TOWARD_ZERO: "trunc($x0)",
        enums.DML_ROUNDING_MODE_TOWARD_INFINITY: "round_half_away($x0)",
    }[desc.RoundingMode]
    return node(code, Leaf(0), includes=[MATH])


@elementwise(d.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, "InputTensor", fits=True)
def is_nan(desc: d.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC) -> Expression:
    return node("uint(is_nan($x0))", Leaf(0), glsl="uint", includes=[MATH])


@elementwise(d.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, "InputTensor", fits=True)
def is_infinity(desc: d.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC) -> Expression:
    code = {
        enums.DML_IS_INFINITY_MODE_EITHER: "uint(is_inf($x0))",
        enums.DML_IS_INFINITY_MODE_POSITIVE: "uint(floatBitsToUint($x0) == 0x7f800000u)",
        enums.DML_IS_INFINITY_MODE_NEGATIVE: "uint(floatBitsToUint($x0) == 0xff800000u)",
    }[desc.InfinityMode]
    return node(code, Leaf(0), glsl="uint", includes=[MATH])
