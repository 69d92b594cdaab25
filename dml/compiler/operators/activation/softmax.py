"""Softmax, its logarithm and hardmax, over the last dimension or any axes.

The maximum is subtracted before any exponential, partial sums are added in float32, and a NaN or +infinity makes its
row NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dml import enums
from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder, merge_axes
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.lanes import adjacent
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.reduction.engine import VALUE, reduce
from dml.compiler.operators.reduction.monoids import FLOAT_MAX, FLOAT_SUM
from dml.compiler.operators.reduction.reduce import arg_reduce
from dml.compiler.parts import cut, in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf, node
from dml.compiler.selection.lines import (
    WALKS,
    HeldRows,
    held_rows,
    softmax_fits_one_dispatch,
    softmax_sharing,
    softmax_takes_ragged,
    softmax_vectors,
)
from dml.descriptors import activation as d
from dml.descriptors.base import OperatorDesc
from dml.shapes import ones_along

SOFTMAX = d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC | d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC
KERNEL, HELD_KERNEL = "activation/softmax.comp", "activation/softmax_held.comp"


def softmax(
    builder: ProgramBuilder, source: Operand, result: Operand, axes: Sequence[int], *, logarithm: bool = False
) -> None:
    """Write the softmax of ``source`` over ``axes`` to ``result``, which has its sizes and may be the same memory."""
    rows = _rows(source, result, axes)
    if rows is None:
        _in_passes(builder, source, result, axes, logarithm)
        return
    x, y = rows
    length, count = x.sizes[-1], math.prod(x.sizes[:-1])
    unit, ragged = _step(builder, x, y)
    outer, most = range(x.rank - 1), builder.target.max_region
    held = held_rows(builder.target, length, unit)
    # Parts of ragged rows may be processed element by element.
    steps = length if ragged else length // unit
    fits = held is not None or softmax_fits_one_dispatch(builder.target, count, length, steps)
    if not fits or cut(rows, most, outer) is None:
        _in_passes(builder, source, result, axes, logarithm)
        return
    for x, y in in_parts(rows, most, outer):
        _whole_rows(builder, x, y, logarithm, held)


def _whole_rows(builder: ProgramBuilder, x: Operand, y: Operand, logarithm: bool, held: HeldRows | None) -> None:
    """Process rows in one dispatch."""
    length, count = x.sizes[-1], math.prod(x.sizes[:-1])
    unit, ragged = _step(builder, x, y)
    steps = length // unit + 2 if ragged else length // unit
    sharing = held or softmax_sharing(builder.target, steps)
    if isinstance(sharing, HeldRows):
        of_halves = y.data_type == enums.DML_TENSOR_DATA_TYPE_FLOAT16 and not logarithm
        own: dict[str, object] = {"STEPS": sharing.steps, "SUBGROUP": sharing.subgroup, "OF_HALVES": int(of_halves)}
    else:
        own = {"STAGGER": f"{0 if ragged else sharing.stagger}u", "RAGGED": int(ragged)}
    builder.dispatch(
        HELD_KERNEL if held else KERNEL,
        {"x": read(x, vector=unit > 1), "y": write(y, vector=unit > 1)},
        count=count * sharing.lanes,
        workgroup=sharing.workgroup,
        constants={"ROWS": count, "LENGTH": length},
        defines={"LANES": sharing.lanes, "UNIT": unit, "LOG": int(logarithm), **own},
        code="\n".join([coordinates("row", "x", x.rank, range(x.rank - 1)), _steps(x, y, unit)]),
        steps=held.steps if held else WALKS * -(-steps // sharing.lanes),
        each=unit,
    )


class _Step(NamedTuple):
    """How an invocation steps through a row. unit: elements per step, at most eight. ragged: a step may span the end of
    one row and the start of the next."""

    unit: int
    ragged: bool


def _step(builder: ProgramBuilder, x: Operand, y: Operand) -> _Step:
    vectors = softmax_vectors(builder.target, x.count)
    unit = adjacent((x, y), x.rank - 1) if vectors else 1
    if unit > 1:
        return _Step(2 * unit if vectors == 2 and unit == 4 and x.sizes[-1] % 8 == 0 else unit, False)
    # A step at a row's end also reads the next row, which no other invocation may overwrite meanwhile.
    flat = all(_is_whole_in_one_line(operand) for operand in (x, y)) and not x.region.overlaps(y.region)
    ragged = bool(vectors) and flat and softmax_takes_ragged(builder.target)
    return _Step(4 if ragged else 1, ragged)


def _is_whole_in_one_line(operand: Operand) -> bool:
    """Whether the operand is a whole number of aligned FLOAT32 vectors, even if rows begin inside vectors."""
    is_whole = operand.count % 4 == 0 and operand.base % 4 == 0
    return operand.data_type == enums.DML_TENSOR_DATA_TYPE_FLOAT32 and operand.is_packed and is_whole


def _rows(source: Operand, result: Operand, axes: Sequence[int]) -> tuple[Operand, Operand] | None:
    """Return both operands as (..., length) if the axes are one contiguous dimension of each."""
    kept = [axis for axis in range(source.rank) if axis not in axes]
    both = (source, result)
    inner, inner_strides = merge_axes(both, sorted(axes))
    if len(inner) != 1 or inner_strides != [(1,), (1,)]:
        return None
    outer, outer_strides = merge_axes(both, kept)
    x, y = (operand.view((*outer, *inner), (*s, 1)) for operand, s in zip(both, outer_strides, strict=True))
    return x, y


def _in_passes(builder: ProgramBuilder, source: Operand, result: Operand, axes: Sequence[int], logarithm: bool) -> None:
    sizes = ones_along(source.sizes, axes)
    most = builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    reduce(builder, FLOAT_MAX, [source], axes, [(most, VALUE)])
    halves = result.data_type == enums.DML_TENSOR_DATA_TYPE_FLOAT16 and not logarithm
    power = node(f"{'exp_of_half' if halves else 'exp_nonpositive'}($x0 - $x1)", Leaf(0), Leaf(1), includes=[MATH])
    total = builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    # These exponentials are undefined for NaN. A NaN or infinity in the row makes `most`, the maximum, NaN or infinite,
    # and then every result of the row NaN.
    usual = f"{'log_accurate' if logarithm else 'reciprocal'}($x0)"
    finish = node(f"is_nan($x1) || is_inf($x1) ? NOT_A_NUMBER : {usual}", VALUE, Leaf(1), includes=[MATH])
    reduce(builder, FLOAT_SUM, [source, most], axes, [(total, finish)], power)
    value: Expression = node("$x0 * $x1", power, Leaf(2))
    if logarithm:
        value = node("($x0 - $x1) - $x2", Leaf(0), Leaf(1), Leaf(2))
    apply(builder, value, result, [source, most, total])


def _steps(x: Operand, y: Operand, unit: int) -> str:
    """Return load_step(at, v) and store_step(at, v) for UNIT elements starting at index ``at``."""
    load = ["void load_step(uint at, out float v[UNIT]) {"]
    store = ["void store_step(uint at, float v[UNIT]) {"]
    if unit == 1:
        return "\n".join([*load, "    v[0] = x_load(at);", "}", *store, "    y_store(at, v[0]);", "}"])
    for name, operand, lines in (("x", x, load), ("y", y, store)):
        bits = DATA_TYPES[operand.data_type].bits
        per_vector = 128 // bits
        for vector in range(unit // per_vector):
            if name == "x":
                lines.append(f"    uvec4 w{vector} = x_vector(at / {per_vector}u + {vector}u);")
            for k in range(per_vector):
                component, shift = "xyzw"[k * bits // 32], k * bits % 32
                element = vector * per_vector + k
                if name == "x":
                    lines.append(f"    v[{element}] = x_decode(w{vector}.{component} >> {shift}u);")
                else:
                    lines.append(f"    {'uvec4 w = uvec4(0u); ' if element == 0 else ''}")
                    lines.append(f"    w.{component} |= y_encode_at(at + {element}u, v[{element}]) << {shift}u;")
            if name == "y":
                lines.append(f"    y_vector_store(at / {per_vector}u + {vector}u, w); w = uvec4(0u);")
        lines.append("}")
    return "\n".join([*load, *store])


def axes_of(desc: OperatorDesc, rank: int) -> tuple[int, ...]:
    """Return the axes: the last dimension, or those of the operator's ``1`` form."""
    axes: tuple[int, ...] = getattr(desc, "Axes", (rank - 1,))
    return axes


_LOG_SOFTMAXES = (d.DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC, d.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC)


@lowering(
    d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, *_LOG_SOFTMAXES,
    epilogue=Epilogues.SAME_STRIDES,
)  # fmt: skip
def softmax_operator(desc: OperatorDesc, builder: ProgramBuilder) -> None:
    source, logarithm = builder["InputTensor"], isinstance(desc, _LOG_SOFTMAXES)
    softmax(builder, source, builder["OutputTensor"], axes_of(desc, source.rank), logarithm=logarithm)


@lowering(d.DML_ACTIVATION_HARDMAX_OPERATOR_DESC, d.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC)
def hardmax_operator(desc: d.DML_ACTIVATION_HARDMAX_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Write 1 at the first largest element along the axes (the first NaN, if any), else 0."""
    source, result = builder["InputTensor"], builder["OutputTensor"]
    axes = axes_of(desc, source.rank)
    sizes = ones_along(source.sizes, axes)
    first = builder.temporary(enums.DML_TENSOR_DATA_TYPE_UINT32, sizes)
    arg_reduce(builder, source, first, axes, largest=True, direction=enums.DML_AXIS_DIRECTION_INCREASING)
    place = "0u"
    for axis in sorted(axes):
        place = f"({place} * SIZE_{axis} + c[{axis}])"
    value = f"return first_load(first_at(c)) == {place} ? 1.0 : 0.0;"
    builder.for_each(
        "elementwise/elementwise.comp",
        result,
        {"first": first.broadcast(result.sizes)},
        code=f"result_VALUE value(uint c[RANK]) {{ {value} }}",
        split_axes=[axis for axis in range(result.rank) if axis not in axes],
    )
