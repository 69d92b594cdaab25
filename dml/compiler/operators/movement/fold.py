"""FOLD and UNFOLD: between a tensor and the columns of its sliding windows.

The column tensor is 3-D, {N, C x window, blocks}, as the reference's text and examples have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dml.compiler.apply import raw
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.loops import ranges, rounds
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import split
from dml.compiler.parts import Box, cut, in_reach, window_reach, within_whole
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection import max_steps
from dml.descriptors import movement as d
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.shapes import window_counts

_Fold = d.DML_FOLD_OPERATOR_DESC | d.DML_UNFOLD_OPERATOR_DESC


def _by_window(desc: _Fold, columns: Operand, spatial: tuple[int, ...]) -> Operand:
    """View the columns as {N, C, window..., blocks...}."""
    channels = columns.sizes[1] // math.prod(desc.WindowSizes)
    blocks = window_counts(spatial, desc.WindowSizes, desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding)
    return split(split(columns, 2, blocks), 1, (channels, *desc.WindowSizes))


def _constants(strides: Sequence[int], dilations: Sequence[int], start: Sequence[int]) -> dict[str, Constant]:
    constants: dict[str, Constant] = {}
    for k, (step, dilation, before) in enumerate(zip(strides, dilations, start, strict=True)):
        constants[f"STEP_{k}"] = step
        constants[f"DILATION_{k}"] = dilation
        constants[f"START_{k}"] = np.int32(before) if before < 0 else before
    return constants


def copy_windows(
    builder: ProgramBuilder,
    source: Operand,
    result: Operand,
    strides: Sequence[int],
    dilations: Sequence[int],
    start: Sequence[int],
) -> None:
    """Copy the sliding windows of {N, C, spatial...} to {N, C, window..., blocks...}; padding is zero.

    start: the padding before the source; a negative number skips its beginning.
    """
    source, result, dimensions = raw(source), raw(result), len(strides)
    lines = [f"bool locate(uint c[{result.rank}], out uint s[{source.rank}]) {{", "    s[0] = c[0]; s[1] = c[1];"]
    for k in range(dimensions):
        block, tap = f"c[{2 + dimensions + k}]", f"c[{2 + k}]"
        lines.append(f"    s[{2 + k}] = {block} * STEP_{k} + {tap} * DILATION_{k} - START_{k};")
    inside = " && ".join(f"s[{2 + k}] < source_SIZE_{2 + k}" for k in range(dimensions))
    lines.append(f"    return {inside};\n}}")
    code = "\n".join(lines)

    def reach(box: Box) -> Box:
        found = list(box[:2])
        for k in range(dimensions):
            (tap, taps), (block, blocks) = box[2 + k], box[2 + dimensions + k]
            window, before = (taps - 1) * dilations[k] + 1, start[k] - tap * dilations[k]
            found.append(window_reach(block, blocks, strides[k], window, before, source.sizes[2 + k]))
        return tuple(found)

    def run(to: Operand, of: Operand, before: Sequence[int]) -> None:
        constants = _constants(strides, dilations, before)
        builder.for_each("movement/unfold.comp", to, {"source": of}, constants=constants, code=code, split_axes=(0, 1))

    most = builder.target.max_region
    if cut([result, source], most, (0, 1)) is not None:
        run(result, source, start)
        return
    for box, (own,), place, read in in_reach([result], source, most, reach):
        before = [
            start[k] - box[2 + k][0] * dilations[k] - box[2 + dimensions + k][0] * strides[k] + first
            for k, (first, _) in enumerate(place[2:])
        ]
        run(own, read, before)


@lowering(d.DML_UNFOLD_OPERATOR_DESC)
def unfold(desc: d.DML_UNFOLD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    result = _by_window(desc, builder["OutputTensor"], source.sizes[2:])
    copy_windows(builder, source, result, desc.Strides, desc.Dilations, desc.StartPadding)


@lowering(d.DML_FOLD_OPERATOR_DESC)
def fold(desc: d.DML_FOLD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    columns, result = builder["InputTensor"], builder["OutputTensor"]
    source = _by_window(desc, columns, result.sizes[2:])
    fits = cut([result, source], builder.target.max_region, (0, 1)) is not None
    # With one tap at a time, the source's elements are close enough together to be bound in parts.
    most = max_steps(builder.target) // DATA_TYPES[result.data_type].per_word if fits else 1
    carry: list[Operand] = []
    for taps in ranges(desc.WindowSizes, most):
        is_last = all(end == size for (_, end), size in zip(taps, desc.WindowSizes, strict=True))
        to = result if is_last else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        whole = ((0,) * result.rank, [to, *carry], source)
        for first, results, read in [whole] if fits else _parts_of_fold(desc, builder, taps, [to, *carry], source):
            padding = [before + start for before, start in zip(desc.StartPadding, first[2:], strict=True)]
            builder.for_each(
                "movement/fold.comp",
                results[0],
                {"source": read, **({"carry": results[1]} if carry else {})},
                constants={
                    **_constants(desc.Strides, desc.Dilations, padding),
                    **{f"FROM_{k}": begin for k, (begin, _) in enumerate(taps)},
                    **{f"TO_{k}": end for k, (_, end) in enumerate(taps)},
                },
                code=_gathered(desc, source, result),
                steps=rounds([end - begin for begin, end in taps]),
                split_axes=(0, 1),
            )
        carry = [to]


def _parts_of_fold(
    desc: d.DML_FOLD_OPERATOR_DESC,
    builder: ProgramBuilder,
    taps: Sequence[tuple[int, int]],
    results: Sequence[Operand],
    source: Operand,
) -> Iterator[tuple[tuple[int, ...], list[Operand], Operand]]:
    """Divide the results into parts that fit a binding. Yield, for each part, its first element, the operands of the
    results, and the blocks of the source that contain the given taps of its elements."""
    dimensions = desc.DimensionCount

    def reach(box: Box) -> Box:
        blocks = []
        for k, ((begin, end), (start, size)) in enumerate(zip(taps, box[2:], strict=True)):
            step, dilation, last = desc.Strides[k], desc.Dilations[k], source.sizes[2 + dimensions + k] - 1
            place = start + desc.StartPadding[k]
            first = min(max((place - (end - 1) * dilation) // step, 0), last)
            blocks.append((first, min(max((place + size - 1 - begin * dilation) // step, first), last) - first + 1))
        return *box[:2], *((begin, end - begin) for begin, end in taps), *blocks

    axes = range(2, source.rank)
    for box, own, place, read in in_reach(results, source, builder.target.max_region, reach):
        part = within_whole(builder.crop(read), axes, place[2:], source.sizes[2:])
        yield tuple(start for start, _ in box), own, part


def _gathered(desc: d.DML_FOLD_OPERATOR_DESC, source: Operand, result: Operand) -> str:
    """Return gathered(c), which sums the occurrences of element c in the windows, over taps FROM_k up to, but not
    including, TO_k.

    ``carry`` holds the sum over earlier taps.
    """
    dimensions = desc.DimensionCount
    # A loop over the window per dimension. The window whose tap t covers c starts at c + start - t * dilation.
    lines = [
        f"float gathered(uint c[{result.rank}]) {{",
        "    float sum = 0.0;\n#ifdef carry_VALUE\n    sum = carry_load(carry_at(c));\n#endif",
        f"    uint s[{source.rank}];\n    s[0] = c[0]; s[1] = c[1];",
    ]
    for k in range(dimensions):
        tap, block = f"s[{2 + k}]", f"s[{2 + dimensions + k}]"
        lines += [
            f"    for ({tap} = FROM_{k}; {tap} < TO_{k}; ++{tap}) {{",
            f"    if (c[{2 + k}] + START_{k} < {tap} * DILATION_{k}) break;",
            f"    {block} = c[{2 + k}] + START_{k} - {tap} * DILATION_{k};",
            f"    if (take_coordinate({block}, STEP_{k}_DIVISOR) != 0u) continue;",
            f"    if ({block} >= source_SIZE_{2 + dimensions + k}) continue;",
        ]
    lines += ["    sum += source_load(source_at(s));", "    " + "}" * dimensions, "    return sum;\n}"]
    return "\n".join(lines)
