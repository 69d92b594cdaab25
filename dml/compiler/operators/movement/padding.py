"""Padding in its five modes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dml import enums
from dml.compiler.apply import copy, raw
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, WORD_BITS
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.move import move_each
from dml.compiler.operators.movement.views import constant_words, encode, fill, merge_between, union_bits, window
from dml.compiler.parts import cut, narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.descriptors import movement as d

_PLACES = {
    enums.DML_PADDING_MODE_CONSTANT: "place_constant",
    enums.DML_PADDING_MODE_EDGE: "place_edge",
    enums.DML_PADDING_MODE_REFLECTION: "place_reflection",
    enums.DML_PADDING_MODE_SYMMETRIC: "place_symmetric",
    enums.DML_PADDING_MODE_WRAP: "place_wrap",
}

#: By mode: a function from a dimension's size to the period with which its padding repeats.
_PERIODS: Mapping[enums.DML_PADDING_MODE, Callable[[int], int]] = {
    enums.DML_PADDING_MODE_REFLECTION: lambda size: 2 * max(size - 1, 1),
    enums.DML_PADDING_MODE_SYMMETRIC: lambda size: 2 * size,
    enums.DML_PADDING_MODE_WRAP: lambda size: size,
}


#: Maximum number of repetitions of the source for which each repetition is a separate copy.
_MOST_TURNS = 64


def _pad(desc: d.DML_PADDING_OPERATOR_DESC | d.DML_PADDING1_OPERATOR_DESC, builder: ProgramBuilder, bits: int) -> None:
    result, source = raw(builder["OutputTensor"]), raw(builder["InputTensor"])
    padded = [axis for axis in range(result.rank) if desc.StartPadding[axis] or desc.EndPadding[axis]]
    if not padded:
        copy(builder, result, source)
        return
    inner = [axis for axis in range(result.rank) if axis not in padded]
    if cut([result, source], builder.target.max_region, inner) is None and not _turns_often(desc):
        _by_copies(desc, builder, result, source, bits)
        return
    starts = [desc.StartPadding[axis] for axis in padded]
    places, (result, source) = merge_between(padded, result, source)
    value, words = constant_words("VALUE", bits, result.data_type)
    constants: dict[str, Constant] = dict(words)
    place, period = _PLACES[desc.PaddingMode], _PERIODS.get(desc.PaddingMode)
    steps = ""
    for k, (dimension, start) in enumerate(zip(places, starts, strict=True)):
        repeats = ""
        if period is not None:
            constants[f"PERIOD_{k}"] = period(source.sizes[dimension])
            start, repeats = start % period(source.sizes[dimension]), f", PERIOD_{k}_DIVISOR"
        constants[f"START_{k}"] = start
        steps += f"    if (!{place}(c[{dimension}], START_{k}, source_SIZE_{dimension}{repeats})) return false;\n"
    move_each(
        builder,
        "movement/padding.comp",
        result,
        {"source": source},
        {},
        constants=constants,
        keep=places,
        split_axes=[axis for axis in range(result.rank) if axis not in places],
        code="\n".join([
            '#include "movement/element.glsl"',
            f"#if VECTORS\nuvec4 padding() {{ return {_repeated(value, result)}; }}",
            f"#else\nresult_VALUE padding() {{ return {value}; }}\n#endif",
            '#include "movement/padding.glsl"',
            f"bool locate(inout uint c[{result.rank}]) {{\n{steps}    return true;\n}}",
        ]),
    )  # fmt: skip


def _by_copies(
    desc: d.DML_PADDING_OPERATOR_DESC | d.DML_PADDING1_OPERATOR_DESC,
    builder: ProgramBuilder,
    result: Operand,
    source: Operand,
    bits: int,
) -> None:
    """Pad by separate copies: one for each combination of the axes' runs. Copies of large tensors can be split at any
    element."""
    runs = [
        _runs(desc.PaddingMode, *axis) for axis in zip(desc.StartPadding, source.sizes, desc.EndPadding, strict=True)
    ]
    for box in itertools.product(*runs):
        to = narrow(result, range(result.rank), tuple((run.start, run.length) for run in box))
        if any(run.first is None for run in box):
            fill(builder, to, bits)
        else:
            copy(builder, to, window(source, [run.first or 0 for run in box], to.sizes, [run.step for run in box]))


def _turns_often(desc: d.DML_PADDING_OPERATOR_DESC | d.DML_PADDING1_OPERATOR_DESC) -> bool:
    axes = zip(desc.StartPadding, desc.InputTensor.Sizes, desc.EndPadding, strict=True)
    return desc.PaddingMode in _PERIODS and any(before + after > _MOST_TURNS * size for before, size, after in axes)


class _Run(NamedTuple):
    """Results along an axis from ``start`` on that are the source's elements ``first``, ``first + step``, ...; the
    constant if ``first`` is None."""

    start: int
    length: int
    first: int | None
    step: int


def _runs(mode: enums.DML_PADDING_MODE, before: int, size: int, after: int) -> list[_Run]:
    """Return the runs of which the result consists along an axis, in order."""
    if mode == enums.DML_PADDING_MODE_CONSTANT:
        runs = [_Run(0, before, None, 0), _Run(before, size, 0, 1), _Run(before + size, after, None, 0)]
        return [run for run in runs if run.length]
    if mode == enums.DML_PADDING_MODE_EDGE or size == 1:
        runs = [_Run(0, before, 0, 0), _Run(before, size, 0, 1), _Run(before + size, after, size - 1, 0)]
        return [run for run in runs if run.length]
    period = _PERIODS[mode](size)
    turn = period if mode == enums.DML_PADDING_MODE_WRAP else period // 2
    runs, start, end = [], 0, before + size + after
    while start < end:
        index = (start - before) % period
        if index < turn:
            first, step, count = index, 1, turn - index
        else:
            first, step, count = period - index - (mode == enums.DML_PADDING_MODE_SYMMETRIC), -1, period - index
        runs.append(_Run(start, min(count, end - start), first, step))
        start += count
    return runs


def _repeated(value: str, result: Operand) -> str:
    """Return GLSL for a vector of copies of an element's bits."""
    bits = DATA_TYPES[result.data_type].bits
    if bits == 64:
        return f"uvec4({value}, {value})"
    if bits == WORD_BITS:
        return f"uvec4({value})"
    ones = sum(1 << shift for shift in range(0, WORD_BITS, bits))
    return f"uvec4({value} * 0x{ones:08x}u)"


@lowering(d.DML_PADDING_OPERATOR_DESC)
def padding(desc: d.DML_PADDING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _pad(desc, builder, encode(desc.PaddingValue, desc.OutputTensor.DataType))


@lowering(d.DML_PADDING1_OPERATOR_DESC)
def padding1(desc: d.DML_PADDING1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _pad(desc, builder, union_bits(desc.PaddingValue, desc.PaddingValueDataType))
