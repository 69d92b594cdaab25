"""Arithmetic on every kind of number.

A new operator needs a line of GLSL per kind or, with attributes, a short function.
"""

from __future__ import annotations

from dml.compiler.kernels.kinds import INTEGER, MATH, kind
from dml.compiler.lowering import elementwise
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.elementwise.numeric import AB, numeric, scaled
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d

numeric(
    d.DML_ELEMENT_WISE_ABS_OPERATOR_DESC,
    ["InputTensor"],
    float="abs($x0)",
    int="$x0 < 0 ? -$x0 : $x0",
    int64="abs_i64($x0)",
)
numeric(d.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC, ["InputTensor"], float="-$x0", int="-$x0", int64="neg64($x0)")
numeric(
    d.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC,
    ["InputTensor"],
    float="$x0 < 0.0 ? -1.0 : $x0 > 0.0 ? 1.0 : 0.0",
    int="$x0 < 0 ? -1 : $x0 > 0 ? 1 : 0",
    uint="min($x0, 1u)",
    int64="negative_i64($x0) ? uvec2(0xffffffffu) : uvec2(min($x0.x | $x0.y, 1u), 0u)",
    uint64="uvec2(min($x0.x | $x0.y, 1u), 0u)",
)
numeric(d.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, float="$x0 + $x1", word="$x0 + $x1", pair="add64($x0, $x1)")
numeric(d.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, float="$x0 - $x1", word="$x0 - $x1", pair="sub64($x0, $x1)")
numeric(d.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, float="$x0 * $x1", word="$x0 * $x1", pair="mul64($x0, $x1)")
numeric(
    d.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC,
    float="divide($x0, $x1)",
    word="divide_{t}($x0, $x1)",
    pair="quotient_{s}64($x0, $x1)",
)
numeric(
    d.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC,
    float="modulus_truncate($x0, $x1)",
    int="modulus_truncate_int($x0, $x1)",
    uint="modulus_uint($x0, $x1)",
    int64="modulus_truncate_i64($x0, $x1)",
    uint64="modulus_u64($x0, $x1)",
)
numeric(
    d.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC,
    float="modulus_floor($x0, $x1)",
    int="modulus_floor_int($x0, $x1)",
    uint="modulus_uint($x0, $x1)",
    int64="modulus_floor_i64($x0, $x1)",
    uint64="modulus_u64($x0, $x1)",
)
# If either input is NaN, so are the maximum and the minimum.
numeric(
    d.DML_ELEMENT_WISE_MAX_OPERATOR_DESC,
    float="is_nan($x0) ? $x0 : is_nan($x1) ? $x1 : max($x0, $x1)",
    word="max($x0, $x1)",
    pair="less_{s}64($x0, $x1) ? $x1 : $x0",
)
numeric(
    d.DML_ELEMENT_WISE_MIN_OPERATOR_DESC,
    float="is_nan($x0) ? $x0 : is_nan($x1) ? $x1 : min($x0, $x1)",
    word="min($x0, $x1)",
    pair="less_{s}64($x1, $x0) ? $x1 : $x0",
)
# Each input is halved before the addition, which might overflow. Integers round toward zero, as in their division.
numeric(
    d.DML_ELEMENT_WISE_MEAN_OPERATOR_DESC,
    float="0.5 * $x0 + 0.5 * $x1",
    int="mean_int($x0, $x1)",
    uint="($x0 & $x1) + (($x0 ^ $x1) >> 1)",
)
numeric(
    d.DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC,
    float="($x0 - $x1) * ($x0 - $x1)",
    word="($x0 - $x1) * ($x0 - $x1)",
)


@elementwise(d.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, *AB)
def add_activated(desc: d.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC) -> Expression:
    return activate(desc.FusedActivation, node("$x0 + $x1", Leaf(0), Leaf(1)))


@elementwise(d.DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC, *AB)
def atan_yx(desc: d.DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC) -> Expression:
    return node("atan2_accurate($x0, $x1)", Leaf(0), Leaf(1), includes=[MATH])


@elementwise(d.DML_ELEMENT_WISE_POW_OPERATOR_DESC, "InputTensor", "ExponentTensor")
def power(desc: d.DML_ELEMENT_WISE_POW_OPERATOR_DESC) -> Expression:
    of = kind(desc.InputTensor)
    if of == "float":
        code = "pow_accurate($x0, $x1)"
    elif kind(desc.ExponentTensor) == "float":
        # With a whole exponent the power is computed exactly, by integer arithmetic.
        whole = "trunc($x1) == $x1 && abs($x1) < 2147483648.0"
        code = f"{whole} ? power_{of}($x0, int($x1)) : {of}_of_float(pow_truncated(float($x0), $x1))"
    else:
        code = f"power_{of}($x0, $x1)"
    return node(code, scaled(desc), Leaf(1), glsl=of, includes=[MATH, INTEGER])
