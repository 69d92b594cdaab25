"""FOLD and UNFOLD: between a tensor and the columns of its sliding windows.

The column tensor is 3-D, {N, C x window, blocks}, as the reference's text and examples have it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.loops import ranges, rounds
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import raw, split
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
    builder.for_each(
        "movement/unfold.comp",
        result,
        {"source": source},
        constants=_constants(strides, dilations, start),
        code="\n".join(lines),
        split_axes=(0, 1),
    )


@lowering(d.DML_UNFOLD_OPERATOR_DESC)
def unfold(desc: d.DML_UNFOLD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    result = _by_window(desc, builder["OutputTensor"], source.sizes[2:])
    copy_windows(builder, source, result, desc.Strides, desc.Dilations, desc.StartPadding)


@lowering(d.DML_FOLD_OPERATOR_DESC)
def fold(desc: d.DML_FOLD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    columns, result = builder["InputTensor"], builder["OutputTensor"]
    source = _by_window(desc, columns, result.sizes[2:])
    most = max_steps(builder.target) // DATA_TYPES[result.data_type].per_word
    tensors = {"source": source}
    for taps in ranges(desc.WindowSizes, most):
        is_last = all(end == size for (_, end), size in zip(taps, desc.WindowSizes, strict=True))
        to = result if is_last else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        builder.for_each(
            "movement/fold.comp",
            to,
            tensors,
            constants={
                **_constants(desc.Strides, desc.Dilations, desc.StartPadding),
                **{f"FROM_{k}": begin for k, (begin, _) in enumerate(taps)},
                **{f"TO_{k}": end for k, (_, end) in enumerate(taps)},
            },
            code=_gathered(desc, source, result),
            steps=rounds([end - begin for begin, end in taps]),
            split_axes=(0, 1),
        )
        tensors["carry"] = to


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
