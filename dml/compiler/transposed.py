"""Expressions of a transposed tensor, whose adjacent elements are not adjacent in the result."""

from __future__ import annotations

import math
from collections.abc import Callable

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.expression import Emitted
from dml.compiler.kernels.prelude import read, write
from dml.compiler.program import Operand
from dml.compiler.selection import CPU_TRANSPOSED, TRANSPOSE_WORKGROUP, transpose_blocks, transpose_tile
from dml.enums import DML_TENSOR_DATA_TYPE_UINT16

#: FLOAT16, or other two-byte elements, per vector.
_HALVES = 8


def apply_transposed(
    builder: ProgramBuilder, emitted: Emitted, result: Operand, source: Operand, *, is_copy: bool
) -> bool:
    """Add the dispatch; return False if rows share words, or on CPU drivers if they are not whole vectors.

    emitted: the expression, from ``apply``. is_copy: whether it is the element itself.
    """
    tile = transpose_tile(builder.target, DATA_TYPES[result.data_type].bits)
    turned = _turned(tile or CPU_TRANSPOSED, result, source)
    if turned is not None and _in_blocks(*turned):
        _blocks(builder, emitted, *turned, is_copy=is_copy)
    elif turned is not None and tile is not None:
        _tiles(builder, emitted, tile, *turned)
    else:
        return False
    return True


def _turned(tile: int, result: Operand, source: Operand) -> tuple[Operand, Operand] | None:
    """Permute the dimensions of both operands so that the source's innermost dimension is the last but one.

    None if it is innermost in the result too, if either dimension is short, or if words are shared.
    """
    last = result.rank - 1
    found = [axis for axis in range(last) if source.strides[axis] == 1 and source.sizes[axis] >= tile // 2]
    if not found or result.strides[last] != 1 or source.strides[last] in (0, 1) or result.sizes[last] < tile // 2:
        return None
    per_word = DATA_TYPES[result.data_type].per_word
    if any(step % per_word for step in (result.base, result.sizes[last], *result.strides[:last])):
        return None
    order = [axis for axis in range(last) if axis != found[0]] + [found[0], last]
    return result.permuted(order), source.permuted(order)


def _tiles(builder: ProgramBuilder, emitted: Emitted, tile: int, result: Operand, source: Operand) -> None:
    """Transpose through shared memory."""
    *outer, high, across = result.sizes
    wide = tile * DATA_TYPES[result.data_type].per_word
    space = (*outer, -(-high // tile), -(-across // wide))
    builder.dispatch(
        "elementwise/transpose.comp",
        {"result": write(result), "x0": read(source)},
        space=space,
        groups=math.prod(space),
        workgroup=TRANSPOSE_WORKGROUP,
        constants={"HIGH": high, "ACROSS": across, **emitted.constants},
        defines={"TILE": f"{tile}u", "NARROW": int(DATA_TYPES[result.data_type].per_word > 1)},
        code=emitted.code,
        steps=2,
        each=tile * wide // TRANSPOSE_WORKGROUP,
    )


def _in_blocks(result: Operand, source: Operand) -> bool:
    """Whether both operands have rows of whole vectors with the same number of elements: 4 or 8."""
    unit = DATA_TYPES[result.data_type].per_vector
    if DATA_TYPES[source.data_type].per_vector != unit or unit not in (4, _HALVES):
        return False
    *outer, high, across = result.strides
    steps = (source.base, *source.strides[:-2], source.strides[-1], result.base, *outer, high)
    return across == 1 and not any(number % unit for number in (*steps, *result.sizes[-2:]))


def _blocks(builder: ProgramBuilder, emitted: Emitted, result: Operand, source: Operand, *, is_copy: bool) -> None:
    """Transpose in an invocation's registers."""
    unit = DATA_TYPES[result.data_type].per_vector
    if is_copy and result.data_type == source.data_type and result.epilogue is None and unit == _HALVES:
        result, source = (operand.as_type(DML_TENSOR_DATA_TYPE_UINT16) for operand in (result, source))
        code = _store_block(result, _copied_halves)
    else:

        def computed(row: int) -> list[str]:
            elements = (lanes.element("x0", source, [f"v[{k}]"], row) for k in range(unit))
            puts = (
                lanes.put("result", result, ["made"], k, f"to_{row}", f"compute({element})")
                for k, element in enumerate(elements)
            )
            return [*lanes.clear(["made"]), *puts]

        code = "\n".join([emitted.code, _store_block(result, computed)])
    *outer, high, across = result.sizes
    workgroup, along = transpose_blocks(builder.target)
    groups_across = workgroup // along
    space = (*outer, -(-high // (along * unit)), -(-across // (groups_across * unit)))
    builder.dispatch(
        "elementwise/transpose_blocks.comp",
        {"result": write(result, vector=True), "x0": read(source, vector=True)},
        space=space,
        groups=math.prod(space),
        workgroup=workgroup,
        constants={"HIGH": high, "ACROSS": across, **emitted.constants},
        defines={"UNIT": f"{unit}u", "ALONG": f"{along}u"},
        code=code,
        steps=2,
        each=unit * unit,
    )


def _store_block(result: Operand, make: Callable[[int], list[str]]) -> str:
    """Return GLSL of void store_block(v, to), which transposes a block. make: returns the lines that declare ``made``,
    the vector of a row of the transposed block."""
    unit = DATA_TYPES[result.data_type].per_vector
    lines = [f"void store_block(uvec4 v[{unit}], uint to) {{"]
    for row in range(unit):
        lines.append("    {")
        lines.append(f"    uint to_{row} = to + {row}u * result_STRIDE_{result.rank - 2};")
        lines += make(row)
        lines.append(f"    result_vector_store(to_{row} / {unit}u, made);")
        lines.append("    }")
    return "\n".join([*lines, "}"])


def _copied_halves(row: int) -> list[str]:
    """Return the lines for a row of FLOAT16 elements, taken from a column of words."""
    words = []
    for k in range(0, _HALVES, 2):
        low, high = (f"v[{k + half}].{'xyzw'[row // 2]}" for half in (0, 1))
        words.append(f"{low} >> 16 | ({high} & 0xffff0000u)" if row % 2 else f"({low} & 0xffffu) | {high} << 16")
    return [f"    uvec4 made = uvec4({', '.join(words)});"]
