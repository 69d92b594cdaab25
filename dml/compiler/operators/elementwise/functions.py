"""Functions of one float.

Functions that Vulkan's built-ins do not compute precisely enough come from shaders/lib/math.glsl.
"""

from __future__ import annotations

from dml import enums
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import elementwise
from dml.compiler.operators.elementwise.numeric import scaled
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d

_ACCURATE = (
    "ACOS", "ACOSH", "ASIN", "ASINH", "ATAN", "ATANH", "COS", "COSH", "ERF", "EXP", "LOG", "SIN", "SINH", "SQRT", "TAN",
    "TANH",
)  # fmt: skip
_FUNCTIONS = {name: f"{name.lower()}_accurate($x0)" for name in _ACCURATE}
for _name, _code in (_FUNCTIONS | {"CEIL": "ceil($x0)", "FLOOR": "floor($x0)", "RECIP": "reciprocal($x0)"}).items():
    elementwise(getattr(d, f"DML_ELEMENT_WISE_{_name}_OPERATOR_DESC"), "InputTensor")(
        lambda desc, code=_code: node(code, scaled(desc), includes=[MATH])
    )


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
