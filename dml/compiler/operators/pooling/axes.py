"""Separable windows, one axis after the other: each axis takes sums or maxima of the previous axis's results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, WORD_BITS
from dml.compiler.kernels.prelude import read, write
from dml.compiler.parts import cut, in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Leaf
from dml.compiler.selection.windows import LineOfWindows, lines_of_windows
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32

KERNEL = "pooling/line.comp"
#: Constants of an axis, in the order of LineOfWindows's fields.
_FIELDS = ("WINDOW", "STEP", "DILATION", "START")


def along_axes(
    builder: ProgramBuilder,
    source: Operand,
    result: Operand,
    window: Mapping[str, Constant],
    *,
    mean: Mapping[str, Constant] | None = None,
) -> bool:
    """Pool volumes axis by axis; return False if that is not faster.

    window: see ``pooling.window``. mean: additional constants for the mean; None for the maximum.
    """
    lines = [
        LineOfWindows(
            axis, source.sizes[axis], result.sizes[axis], *(cast(int, window[f"{name}_{axis - 2}"]) for name in _FIELDS)
        )
        for axis in (4, 3, 2)
        if not _stays(axis, source, result, window)
    ]
    if cut([result, source], builder.target.max_region, (0, 1)) is None:
        return False
    is_half = source.data_type == DML_TENSOR_DATA_TYPE_FLOAT16
    units = lines_of_windows(builder.target, lines, source.count, copied=is_half)
    if units is None or not (is_half or DATA_TYPES[source.data_type].bits == WORD_BITS):
        return False
    pooled = result
    if is_half:  # in FLOAT32
        if WORD_BITS // 8 * max(source.count, result.count) > builder.target.max_region:
            return False
        wide, pooled = (builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, each.sizes) for each in (source, result))
        apply(builder, Leaf(0), wide, [source])
        source = wide
    for index, (line, unit) in enumerate(zip(lines, units, strict=True)):
        is_last = index == len(lines) - 1
        left = tuple(line.results if d == line.axis else size for d, size in enumerate(source.sizes))
        into = pooled if is_last else builder.temporary(source.data_type, left)
        for y, x in in_parts([into, source], builder.target.max_region, (0, 1)):
            _line(builder, line, unit, x, y, window if mean is not None and is_last else {}, mean)
        source = into
    if is_half:
        apply(builder, Leaf(0), result, [pooled])
    return True


def _stays(axis: int, source: Operand, result: Operand, window: Mapping[str, Constant]) -> bool:
    """Whether each window along the axis is the element at its own position. (Equal sizes and a stride of 1 do not
    suffice: padding may shift the windows.)"""
    spatial = axis - 2
    own = window[f"WINDOW_{spatial}"], window[f"STEP_{spatial}"], window[f"START_{spatial}"]
    return own == (1, 1, 0) and source.sizes[axis] == result.sizes[axis]


def _line(
    builder: ProgramBuilder,
    line: LineOfWindows,
    unit: int,
    source: Operand,
    result: Operand,
    window: Mapping[str, Constant],
    mean: Mapping[str, Constant] | None,
) -> None:
    space = tuple(-(-size // unit) if axis == line.axis else size for axis, size in enumerate(result.sizes))
    builder.walk(
        KERNEL,
        {"result": write(result), "source": read(source)},
        math.prod(space),
        space=space,
        rounds=line.rounds(unit),
        constants={
            "START": line.start,
            "LENGTH": line.length,
            "RESULTS": line.results,
            **window,
            **((mean or {}) if window else {}),
        },
        defines={
            "AXIS": line.axis,
            "UNIT": unit,
            "WINDOW": line.window,
            "STEP": line.step,
            "MAXIMUM": int(mean is None),
            "MEAN": int(bool(window)),
            "WHOLE_WORDS": 0,
            "WIDE": 0,
        },
    )
