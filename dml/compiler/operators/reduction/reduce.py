"""REDUCE, ARGMIN and ARGMAX."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dml import enums
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import INT64, MATH
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.reduction.engine import VALUE, reduce
from dml.compiler.operators.reduction.monoids import (
    FLOAT_MAX,
    FLOAT_SUM,
    NORM,
    ORDER,
    Monoid,
    largest_of,
    product_of,
    smallest_of,
    sum_of,
)
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors.reduction import DML_ARGMAX_OPERATOR_DESC, DML_ARGMIN_OPERATOR_DESC, DML_REDUCE_OPERATOR_DESC


def square(kind: str) -> Expression:
    if kind.endswith("64"):
        return node("mul64($x0, $x0)", VALUE, glsl="uvec2", includes=[INT64])
    return node("$x0 * $x0", VALUE, glsl=kind)


def absolute(kind: str) -> Expression:
    if kind == "int64":
        return node("int($x0.y) < 0 ? sub64(uvec2(0u), $x0) : $x0", VALUE, glsl="uvec2", includes=[INT64])
    return VALUE if kind in ("uint", "uint64") else node("abs($x0)", VALUE, glsl=kind)


@lowering(DML_REDUCE_OPERATOR_DESC, epilogue=Epilogues.ANY)
def reduce_operator(desc: DML_REDUCE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Lower REDUCE. FLOAT16 accumulates in float32; integers wrap; a NaN element makes MIN and MAX NaN."""
    source, result = builder["InputTensor"], builder["OutputTensor"]
    axes, kind = desc.Axes, DATA_TYPES[source.data_type].kind
    name = enums.DML_REDUCE_FUNCTION(desc.Function).name.removeprefix("DML_REDUCE_FUNCTION_")
    if name in ("ARGMIN", "ARGMAX"):
        arg_reduce(
            builder, source, result, axes, largest=name == "ARGMAX", direction=enums.DML_AXIS_DIRECTION_INCREASING
        )
        return
    if name == "LOG_SUM_EXP":
        log_sum_exp(builder, source, result, axes)
        return
    if name == "L2":
        norm(builder, source, result, axes)
        return
    count = math.prod(source.sizes[axis] for axis in axes)
    monoid = {"MAX": largest_of, "MIN": smallest_of, "MULTIPLY": product_of}.get(name, sum_of)(kind)
    element: Expression = VALUE
    if name == "L1":
        element = absolute(kind)
    elif name == "SUM_SQUARE":
        element = square(kind)
    finish: Expression = VALUE
    if name == "AVERAGE":
        finish = node("divide($x0, $Count)", VALUE, includes=[MATH], Count=float(count))
    elif name == "LOG_SUM":
        finish = node("log_accurate($x0)", VALUE, includes=[MATH])
    reduce(builder, monoid, [source], axes, [(result, finish)], element)


def norm(builder: ProgramBuilder, source: Operand, result: Operand, axes: Sequence[int], more: float = 0.0) -> None:
    """Compute the root of the sum of squares plus ``more``; it overflows only if float32 cannot hold the root."""
    if DATA_TYPES[source.data_type].has_exact_squares:
        finish = node("sqrt_accurate($x0 + $More)", VALUE, includes=[MATH], More=more)
        reduce(builder, FLOAT_SUM, [source], axes, [(result, finish)], square("float"))
        return
    terms = node("norm_terms($x0)", VALUE, glsl="vec3")
    reduce(builder, NORM, [source], axes, [(result, node("norm_of($x0, $More)", VALUE, More=more))], terms)


def log_sum_exp(builder: ProgramBuilder, source: Operand, result: Operand, axes: Sequence[int]) -> None:
    """Compute log(sum(exp(x))), with the maximum subtracted first, so that no exponential overflows."""
    largest = builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
    reduce(builder, FLOAT_MAX, [source], axes, [(largest, VALUE)])
    # An infinite maximum is not subtracted: the difference of two infinities would be NaN.
    shift = node("abs($x0) < 3.402824e38 ? $x0 : 0.0", Leaf(1))
    element = node("exp_accurate($x0 - $x1)", VALUE, shift, includes=[MATH])
    finish = node("log_accurate($x0) + $x1", VALUE, shift, includes=[MATH])
    reduce(builder, FLOAT_SUM, [source, largest], axes, [(result, finish)], element)


@lowering(DML_ARGMIN_OPERATOR_DESC, DML_ARGMAX_OPERATOR_DESC)
def arg_operator(desc: DML_ARGMIN_OPERATOR_DESC | DML_ARGMAX_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    largest = isinstance(desc, DML_ARGMAX_OPERATOR_DESC)
    arg_reduce(builder, source, result, desc.Axes, largest=largest, direction=desc.AxisDirection)


def arg_reduce(
    builder: ProgramBuilder,
    source: Operand,
    result: Operand,
    axes: Sequence[int],
    *,
    largest: bool,
    direction: enums.DML_AXIS_DIRECTION,
) -> None:
    """Compute the row-major index among ``axes`` of the largest or smallest element: the first or the last of equal
    elements.

    NaN wins in both, as in NumPy; the two zeros are equal. result: any integer type of 32 or 64 bits.
    """
    kind = DATA_TYPES[source.data_type].kind
    position = Leaf(1)
    last = direction == enums.DML_AXIS_DIRECTION_DECREASING
    before, none = (">", "0u") if last else ("<", "0xffffffffu")
    # The largest key wins. For the smallest element keys are complemented, except NaN's, which wins either way.
    flip = "" if largest else "~"
    if kind.endswith("64"):
        pick = f"(a.y != b.y ? a.y > b.y : a.x != b.x ? a.x > b.x : a.z {before} b.z) ? a : b"
        words: tuple[str, ...] = ("$x0.x", "$x0.y", "$x0.z")
        monoid = Monoid("uvec3", f"uvec3(0u, 0u, {none})", pick, words, "uvec3($x0, $x1, $x2)")
        element = node(f"uvec3({flip}order_{kind}($x0), $x1)", VALUE, position, glsl="uvec3", includes=[ORDER])
        index = node("$x0.z", VALUE, glsl="uint")
    else:
        pick = f"(a.x != b.x ? a.x > b.x : a.y {before} b.y) ? a : b"
        monoid = Monoid("uvec2", f"uvec2(0u, {none})", pick, ("$x0.x", "$x0.y"), "uvec2($x0, $x1)")
        key = node(f"order_{kind}($x0)", VALUE, glsl="uint", includes=[ORDER])
        if not largest:
            nan = "$x0 == 0xffffffffu ? $x0 : ~$x0" if kind == "float" else "~$x0"
            key = node(nan, key, glsl="uint")
        element = node("uvec2($x0, $x1)", key, position, glsl="uvec2")
        index = node("$x0.y", VALUE, glsl="uint")
    if DATA_TYPES[result.data_type].bits == 64:
        index = node("uvec2($x0, 0u)", index, glsl="uvec2")
    reduce(builder, monoid, [source], axes, [(result, index)], element, positional=True)
