"""Element-wise operators: each is an expression of the elements at one place.

A new one costs a line in a table (its GLSL per kind of number) or, with attributes, a function of a few lines. Kinds:
float (FLOAT32, FLOAT16), int and uint (8 to 32 bits, computed in 32, wrapping at the store), int64 and uint64 (pairs
of words), float64 (bits only).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dml import enums
from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, FLOAT32, UNSIGNED
from dml.compiler.lowering import elementwise, lowering
from dml.compiler.operators.activation.functions import (
    INT64,
    INTEGER,
    MATH,
    X,
    activate,
    activation,
    affine,
    integer,
    kind,
)
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALE_BIAS, nearest_float

INCLUDES = {"float": (MATH,), "int": (INTEGER,), "uint": (INTEGER,), "int64": (INT64,), "uint64": (INT64,)}


def scaled(desc: Any, x: Expression = X) -> Expression:
    """The input after its ScaleBias, x * Scale + Bias, where the descriptor has one."""
    given: DML_SCALE_BIAS | None = desc.ScaleBias
    return x if given is None else affine(desc.InputTensor, given.Scale, given.Bias, x)


def glsl_of(tensor: DML_BUFFER_TENSOR_DESC) -> str:
    return DATA_TYPES[tensor.DataType].glsl


# --- functions of one float -------------------------------------------------------------------------------------------

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


@elementwise(d.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, "InputTensor")
def is_nan(desc: d.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC) -> Expression:
    return node("uint(is_nan($x0))", Leaf(0), glsl="uint", includes=[MATH])


@elementwise(d.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, "InputTensor")
def is_infinity(desc: d.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC) -> Expression:
    code = {
        enums.DML_IS_INFINITY_MODE_EITHER: "uint(is_inf($x0))",
        enums.DML_IS_INFINITY_MODE_POSITIVE: "uint(floatBitsToUint($x0) == 0x7f800000u)",
        enums.DML_IS_INFINITY_MODE_NEGATIVE: "uint(floatBitsToUint($x0) == 0xff800000u)",
    }[desc.InfinityMode]
    return node(code, Leaf(0), glsl="uint", includes=[MATH])


# --- numbers of every kind: GLSL per kind; "word" serves int and uint, "pair" int64 and uint64 ------------------------

AB = ("ATensor", "BTensor")


def pick(codes: Mapping[str, str], of: str) -> str:
    """The code for a kind; ``{t}`` in it stands for its name, ``{s}`` for int64's and uint64's i or u."""
    general = {"int": "word", "uint": "word", "int64": "pair", "uint64": "pair"}
    code = codes[of] if of in codes else codes[general.get(of, of)]
    return code.replace("{t}", of).replace("{s}", of[0])


def numeric(cls: type[OperatorDesc], inputs: Sequence[str] = AB, glsl: str | None = None, **codes: str) -> None:
    """Register an operator by its code per kind of its first input; ``glsl`` is the result's type where another."""

    def expression(desc: Any) -> Expression:
        first: DML_BUFFER_TENSOR_DESC = getattr(desc, inputs[0])
        of = kind(first)
        leaves: list[Expression] = [Leaf(i) for i in range(len(inputs))]
        if hasattr(desc, "ScaleBias"):
            leaves[0] = scaled(desc)
        return node(pick(codes, of), *leaves, glsl=glsl or glsl_of(first), includes=INCLUDES.get(of, ()))

    elementwise(cls, *inputs)(expression)


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
# NaN wins a maximum and a minimum, whichever input it is in.
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
# Halves first: the sum may not fit. Integers are truncated, as their division is.
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
        # Whole exponents are exact here too.
        whole = "trunc($x1) == $x1 && abs($x1) < 2147483648.0"
        code = f"{whole} ? power_{of}($x0, int($x1)) : {of}_of_float(pow_truncated(float($x0), $x1))"
    else:
        code = f"power_{of}($x0, $x1)"
    return node(code, scaled(desc), Leaf(1), glsl=of, includes=[MATH, INTEGER])


# --- comparison and logic: 1 for true, 0 for false --------------------------------------------------------------------

for _cls, _word, _pair in (
    (d.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, "$x0 == $x1", "$x0 == $x1"),
    (d.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, "$x0 > $x1", "less_{s}64($x1, $x0)"),
    (d.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, "$x0 < $x1", "less_{s}64($x0, $x1)"),
    (d.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, "$x0 >= $x1", "!less_{s}64($x0, $x1)"),
    (d.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, "$x0 <= $x1", "!less_{s}64($x1, $x0)"),
):
    numeric(_cls, glsl="uint", float=f"uint({_word})", word=f"uint({_word})", pair=f"uint({_pair})")

numeric(d.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC, uint="uint($x0 != 0u && $x1 != 0u)")
numeric(d.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC, uint="uint(($x0 | $x1) != 0u)")
numeric(d.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC, uint="uint(($x0 != 0u) != ($x1 != 0u))")
numeric(d.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC, ["InputTensor"], uint="uint($x0 == 0u)")


@elementwise(d.DML_ELEMENT_WISE_IF_OPERATOR_DESC, "ConditionTensor", *AB)
def select(desc: d.DML_ELEMENT_WISE_IF_OPERATOR_DESC) -> Expression:
    return node("$x0 != 0u ? $x1 : $x2", Leaf(0), Leaf(1), Leaf(2), glsl=glsl_of(desc.OutputTensor))


# --- bits -------------------------------------------------------------------------------------------------------------

# A shift by the width or more leaves no bit.
numeric(d.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC, uint="shift_left($x0, $x1)",
        uint64="$x1.y != 0u ? uvec2(0u) : shift_left_64($x0, $x1.x)")  # fmt: skip
numeric(d.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC, uint="shift_right($x0, $x1)",
        uint64="$x1.y != 0u ? uvec2(0u) : shift_right_u64($x0, $x1.x)")  # fmt: skip


def bitwise(cls: type[OperatorDesc], inputs: Sequence[str], code: str) -> None:
    """Register an operator on the elements' bits, whatever their data type says they mean."""

    @lowering(cls)
    def lower_bitwise(desc: OperatorDesc, builder: ProgramBuilder) -> None:
        operands = [builder[name] for name in (*inputs, "OutputTensor")]
        *sources, result = [operand.as_type(UNSIGNED[DATA_TYPES[operand.data_type].bits]) for operand in operands]
        glsl = DATA_TYPES[sources[0].data_type].glsl
        apply(builder, node(code, *(Leaf(i) for i in range(len(inputs))), glsl=glsl), result, sources)


bitwise(d.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC, AB, "$x0 & $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC, AB, "$x0 | $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC, AB, "$x0 ^ $x1")
bitwise(d.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC, ["InputTensor"], "~$x0")


@lowering(d.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC)
def bit_count(desc: d.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    bits = DATA_TYPES[source.data_type].bits
    code = "uint(bitCount($x0.x) + bitCount($x0.y))" if bits == 64 else "uint(bitCount($x0))"
    apply(builder, node(code, Leaf(0), glsl="uint"), builder["OutputTensor"], [source.as_type(UNSIGNED[bits])])


@elementwise(d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, "InputTensor")
def identity(desc: d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC) -> Expression:
    return scaled(desc)


@lowering(d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC)
def copy_or_scale(desc: d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    if desc.ScaleBias is None:
        # Bits, so that subnormals and the payload of NaN stay as they are.
        bits = UNSIGNED[DATA_TYPES[source.data_type].bits]
        source, result = source.as_type(bits), result.as_type(bits)
    apply(builder, identity(desc), result, [source])


# --- bounds -----------------------------------------------------------------------------------------------------------


def bound(value: float | int, tensor: DML_BUFFER_TENSOR_DESC | None) -> int | float:
    """Min or Max as the tensor's data type has it: floats rounded, integers truncated and kept in their range."""
    row = FLOAT32 if tensor is None else DATA_TYPES[tensor.DataType]
    if row.is_floating:
        return nearest_float(value, row.dtype.type)
    return int(min(max(value, row.lowest), row.highest))


def constant(name: str, value: int | float, of: str) -> tuple[str, dict[str, Constant]]:
    """The GLSL of a bound and the specialization constants in it."""
    if of == "float":
        return f"${name}", {name: float(value)}
    if of in ("int", "uint"):
        return f"${name}", {name: integer(int(value), of)}
    bits = int(value) & (1 << 64) - 1
    words: dict[str, Constant] = {f"{name}Low": bits & 0xFFFFFFFF, f"{name}High": bits >> 32}
    return f"uvec2(${name}Low, ${name}High)", words


def less(of: str, a: str, b: str) -> str:
    return f"less_{of[0]}64({a}, {b})" if of in ("int64", "uint64") else f"{a} < {b}"


def limited(tensor: DML_BUFFER_TENSOR_DESC | None, name: str, value: int | float, x: Expression) -> Expression:
    """x, but no less than the bound named Min, or no more than that named Max. NaN goes through."""
    of = kind(tensor)
    code, constants = constant(name, value, of)
    if of in ("int64", "uint64"):
        beyond = less(of, "$x0", code) if name == "Min" else less(of, code, "$x0")
        text = f"{beyond} ? {code} : $x0"
    else:
        text = f"{'max' if name == 'Min' else 'min'}($x0, {code})"
        text = f"is_nan($x0) ? $x0 : {text}" if of == "float" else text
    return node(text, x, glsl="float" if tensor is None else glsl_of(tensor), includes=INCLUDES[of], **constants)


def limits(desc: Any) -> tuple[int | float, int | float]:
    """Min and Max of the clip operators: floats, or scalars in MinMaxDataType."""
    tensor: DML_BUFFER_TENSOR_DESC | None = desc.InputTensor
    low, high = desc.Min, desc.Max
    if hasattr(desc, "MinMaxDataType"):
        low, high = low.value(desc.MinMaxDataType), high.value(desc.MinMaxDataType)
    return bound(low, tensor), bound(high, tensor)


@elementwise(d.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, "InputTensor")
@activation(d.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC)
def clip(desc: Any) -> Expression:
    low, high = limits(desc)
    return limited(desc.InputTensor, "Min", low, limited(desc.InputTensor, "Max", high, scaled(desc)))


def clip_grad(desc: Any) -> Expression:
    of, glsl = kind(desc.InputTensor), glsl_of(desc.InputTensor)
    low, high = limits(desc)
    low_code, low_constants = constant("Min", low, of)
    high_code, high_constants = constant("Max", high, of)
    inside = f"{less(of, low_code, '$x0')} && {less(of, '$x0', high_code)}"
    zero = "uvec2(0u)" if glsl == "uvec2" else f"{glsl}(0)"
    # NaN is at neither bound, so its gradient goes through.
    free = f"{inside} || is_nan($x0)" if of == "float" else inside
    return node(
        f"{free} ? $x1 : {zero}", Leaf(0), Leaf(1), glsl=glsl, includes=INCLUDES[of], **low_constants, **high_constants
    )


for _cls in (d.DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC, d.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC):
    elementwise(_cls, "InputTensor", "InputGradientTensor")(clip_grad)


@elementwise(d.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC, "InputTensor")
def threshold(desc: d.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC) -> Expression:
    return limited(desc.InputTensor, "Min", bound(desc.Min, desc.InputTensor), scaled(desc))


# --- quantization -----------------------------------------------------------------------------------------------------
#
# The pages say clamp(round(Input / Scale) + ZeroPoint), and neither how exact the quotient is nor where halves go. Here
# every step of their equations is one of float32 (of FLOAT16 and INT32 too), correctly rounded, and halves go to even:
# what ONNX Runtime and NumPy do. Quotients that are halves in float32 alone, as those of values that were quantized
# before often are, would come out otherwise if the exact quotient decided.


def quantized(tensor: DML_BUFFER_TENSOR_DESC, rounded: Expression, zero_point: Expression | None) -> Expression:
    """clamp(rounded + zero point) in the range of an 8-bit type; rounded is a whole float."""
    glsl = glsl_of(tensor)
    low, high = ("-128", "127") if glsl == "int" else ("0", "255")
    whole = node("int(clamp($x0, -1024.0, 1024.0))", rounded, glsl="int")
    moved = whole if zero_point is None else node("$x0 + int($x1)", whole, zero_point, glsl="int")
    return node(f"{glsl}(clamp($x0, {low}, {high}))", moved, glsl=glsl)


def difference(tensor: DML_BUFFER_TENSOR_DESC, x: Expression, zero_point: Expression | None) -> Expression:
    """x - zero point as a float, exact up to 24 bits."""
    if zero_point is None:
        return node("float($x0)", x)
    return node(f"difference_{kind(tensor)}($x0, $x1)", x, zero_point, includes=[INTEGER])


@lowering(d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC)
def quantize_linear(desc: d.DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    rounded = node("round_quotient(float($x0), $x1)", Leaf(0), Leaf(1), includes=[MATH])
    sources = [builder["InputTensor"], builder["ScaleTensor"]]
    zero_point = builder.get("ZeroPointTensor")
    if zero_point is not None:
        sources.append(zero_point)
    expression = quantized(desc.OutputTensor, rounded, None if zero_point is None else Leaf(2))
    apply(builder, expression, builder["OutputTensor"], sources)


@lowering(d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC)
def dequantize_linear(desc: d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    sources = [builder["InputTensor"], builder["ScaleTensor"]]
    zero_point = builder.get("ZeroPointTensor")
    if zero_point is not None:
        sources.append(zero_point)
    value = difference(desc.InputTensor, Leaf(0), None if zero_point is None else Leaf(2))
    apply(builder, node("$x0 * $x1", value, Leaf(1)), builder["OutputTensor"], sources)


@lowering(d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC)
def quantized_linear_add(desc: d.DML_ELEMENT_WISE_QUANTIZED_LINEAR_ADD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    sources = []

    def leaf(name: str) -> Expression | None:
        operand = builder.get(name)
        if operand is None:
            return None
        sources.append(operand)
        return Leaf(len(sources) - 1)

    def needed(name: str) -> Expression:
        found = leaf(name)
        assert found is not None, name
        return found

    terms = []
    for which, tensor in (("A", desc.ATensor), ("B", desc.BTensor)):
        x, scale, zero_point = needed(f"{which}Tensor"), needed(f"{which}ScaleTensor"), leaf(f"{which}ZeroPointTensor")
        terms += [difference(tensor, x, zero_point), scale]
    output_scale, output_zero_point = needed("OutputScaleTensor"), leaf("OutputZeroPointTensor")
    # DEQUANTIZE_LINEAR of both, ADD and QUANTIZE_LINEAR, as one after another.
    total = node("multiply_add($x0, $x1, $x2 * $x3)", *terms, includes=[MATH])
    rounded = node("round_quotient($x0, $x1)", total, output_scale, includes=[MATH])
    apply(builder, quantized(desc.OutputTensor, rounded, output_zero_point), builder["OutputTensor"], sources)
