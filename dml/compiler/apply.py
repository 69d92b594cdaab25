"""Scalar expressions applied to tensors: what element-wise operators, activations and fused chains are.

Expressions put together (an activation after an addition, a chain that a graph fuses) still make one kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.data_types import DATA_TYPES, VECTOR_BITS
from dml.compiler.kernels.expression import Emitted, emit, rounds_of_loops, scalar_body, vector_body
from dml.compiler.kernels import lanes
from dml.compiler.kernels.prelude import read, write
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf
from dml.enums import DML_TENSOR_DATA_TYPE_UINT16
from dml.compiler.selection import LONG_ARITHMETIC, TRANSPOSE_WORKGROUP, elementwise_walk, transpose_tile


def apply(builder: ProgramBuilder, expression: Expression, result: Operand, inputs: Sequence[Operand]) -> None:
    """Write the expression's value for every element of ``result``. The inputs broadcast to its sizes.

    Inputs and result may have any data types; the expression's type is converted to the result's value type.
    """
    merged = merge(*_in_memory_order(result, *(operand.broadcast(result.sizes) for operand in inputs)))
    parameters = [DATA_TYPES[operand.data_type].glsl for operand in inputs]
    emitted = emit(expression, parameters, result=DATA_TYPES[result.made].glsl)
    for part in in_parts(merged, builder.target.max_region):
        unit = _vector_elements(*part)
        tile = transpose_tile(builder.target, DATA_TYPES[result.data_type].bits) if len(inputs) == 1 else None
        turned = _turned(tile, *part) if tile is not None else None
        if unit is not None:
            _apply_to_vectors(builder, emitted, unit, *part)
        elif turned is not None and BLOCKS and _in_blocks(*turned):
            plain = expression == Leaf(0) and turned[0].data_type == turned[1].data_type
            _apply_to_blocks(builder, emitted, *turned, plain=plain)
        elif tile is not None and turned is not None:
            _apply_transposed(builder, emitted, tile, *turned)
        else:
            _apply_to_each(builder, emitted, *part)


def _apply_to_each(builder: ProgramBuilder, emitted: Emitted, result: Operand, *inputs: Operand) -> None:
    named = {f"x{i}": operand for i, operand in enumerate(inputs)}
    loads = ", ".join(f"{name}_load({name}_at(c))" for name in named)
    code = f"{emitted.code}\nresult_VALUE value(uint c[{result.rank}]) {{ return compute({loads}); }}"
    builder.for_each("elementwise/elementwise.comp", result, named, constants=emitted.constants, code=code)


def _apply_to_vectors(builder: ProgramBuilder, emitted: Emitted, unit: int, result: Operand, *inputs: Operand) -> None:
    """unit: the elements that an invocation takes at once."""
    named = {f"x{i}": operand for i, operand in enumerate(inputs)}
    rounds = unit * rounds_of_loops(emitted.code) or 1
    lines = unit * emitted.code.count("\n")
    walk = elementwise_walk(builder.target, -(-result.count // unit), lines, rounds)
    builder.dispatch(
        "elementwise/vector.comp",
        {
            "result": write(result, vector=True),
            **{name: read(operand, vector=operand.strides[-1] == 1) for name, operand in named.items()},
        },
        space=result.sizes,
        count=-(-result.count // (unit * walk.steps)),
        workgroup=walk.workgroup,
        constants={"STEPS": walk.steps, **emitted.constants},
        defines={"UNIT": f"{unit}u", "UNROLL": walk.unrolled, "TAIL": int(_ends_anywhere(result, unit, lines))},
        code="\n".join([emitted.code, scalar_body(named, result.rank), vector_body(named, result, unit)]),
        steps=walk.steps * rounds,
        each=-(-unit // rounds),
    )


def _ends_anywhere(result: Operand, unit: int, lines: int) -> bool:
    """Whether the kernel takes results that end within a unit, one element after the other.

    One for all lengths is worth having, but not of long arithmetic: that stands in it twice then, and the loop around
    one of them took SwiftShader more than 22 GiB to compile for some tens of operators in a chain.
    """
    return result.rank == 1 and (lines <= LONG_ARITHMETIC or result.count % unit != 0)


def _apply_transposed(builder: ProgramBuilder, emitted: Emitted, tile: int, result: Operand, source: Operand) -> None:
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


BLOCKS, ALONG, BLOCK_WORKGROUP = 1, 8, 128


def _in_blocks(result: Operand, source: Operand) -> bool:
    """Whether both sides are rows of whole vectors, of as many elements."""
    unit = DATA_TYPES[result.data_type].per_vector
    if DATA_TYPES[source.data_type].per_vector != unit or DATA_TYPES[result.data_type].bits not in (16, 32):
        return False
    last = result.rank - 1
    others = (source.base, *source.strides[: last - 1], source.strides[last], source.sizes[last - 1])
    return not any(step % unit for step in (*others, result.base, result.sizes[last], *result.strides[:last]))


def _apply_to_blocks(builder: ProgramBuilder, emitted: Emitted, result: Operand, source: Operand, *, plain: bool) -> None:
    """plain: the bits are copied as they are."""
    unit = DATA_TYPES[result.data_type].per_vector
    plain = plain and result.epilogue is None and unit == 8
    if plain:
        result, source = result.as_type(DML_TENSOR_DATA_TYPE_UINT16), source.as_type(DML_TENSOR_DATA_TYPE_UINT16)
    *outer, high, across = result.sizes
    beside = BLOCK_WORKGROUP // ALONG
    space = (*outer, -(-high // (ALONG * unit)), -(-across // (beside * unit)))
    held = [f"v[{k}]" for k in range(unit)]
    lines = [f"void store_block(uvec4 v[{unit}], uint to) {{"]
    for row in range(unit):
        own = [f"w{row}"]
        lines += lanes.clear(own)
        lines += [f"    uint to{row} = to + {row}u * result_STRIDE_{result.rank - 2};"]
        if plain:
            word, shift = "xyzw"[row // 2], row % 2 * 16
            for k in range(4):
                low, high_ = (f"v[{2 * k + half}].{word}" for half in (0, 1))
                value = f"({low} & 0xffffu) | {high_} << 16" if not shift else f"{low} >> 16 | ({high_} & 0xffff0000u)"
                lines.append(f"    {own[0]}.{'xyzw'[k]} = {value};")
        else:
            for k in range(unit):
                value = f"compute({lanes.element('x0', source, [held[k]], row)})"
                lines.append(lanes.put("result", result, own, k, f"to{row}", value))
        lines += [f"    result_vector_store(to{row} / {unit}u, {own[0]});"]
    builder.dispatch(
        "elementwise/transpose_blocks.comp",
        {"result": write(result, vector=True), "x0": read(source, vector=True)},
        space=space,
        groups=math.prod(space),
        workgroup=BLOCK_WORKGROUP,
        constants={"HIGH": high, "ACROSS": across, "ACROSS_STEP": source.strides[-1], **emitted.constants},
        defines={"UNIT": f"{unit}u", "ALONG": f"{ALONG}u"},
        code="\n".join([*([] if plain else [emitted.code]), *lines, "}"]),
        steps=2,
        each=unit * unit,
    )


def _turned(tile: int, result: Operand, source: Operand) -> tuple[Operand, Operand] | None:
    """Both with the dimension along which the source's elements are neighbours as the last but one.

    None where they are neighbours along the result's last dimension, or these two are short, or words are shared.
    """
    last = result.rank - 1
    found = [axis for axis in range(last) if source.strides[axis] == 1 and source.sizes[axis] >= tile // 2]
    if not found or result.strides[last] != 1 or source.strides[last] in (0, 1) or result.sizes[last] < tile // 2:
        return None
    per_word = DATA_TYPES[result.data_type].per_word
    if any(step % per_word for step in (result.base, result.sizes[last], *result.strides[:last])):
        return None
    order = [axis for axis in range(last) if axis != found[0]] + [found[0], last]
    turned, along = (
        operand.view(tuple(operand.sizes[d] for d in order), tuple(operand.strides[d] for d in order))
        for operand in (result, source)
    )
    return turned, along


def _in_memory_order(result: Operand, *inputs: Operand) -> list[Operand]:
    """The operands, of equal sizes, with their dimensions as the result's lie in memory, the innermost last."""
    order = sorted(range(result.rank), key=lambda d: -result.strides[d])
    return [
        operand.view(tuple(operand.sizes[d] for d in order), tuple(operand.strides[d] for d in order))
        for operand in (result, *inputs)
    ]


def _vector_elements(result: Operand, *inputs: Operand) -> int | None:
    """How many neighbouring elements an invocation takes to move whole uvec4, or None where the layout forbids it."""
    moving = [operand for operand in (result, *inputs) if operand.strides[-1] != 0]
    if result.strides[-1] != 1 or any(operand.strides[-1] != 1 for operand in moving):
        return None
    unit = max(DATA_TYPES[operand.data_type].per_vector for operand in moving)
    if result.rank > 1 and result.sizes[-1] % unit:
        return None
    for operand in moving:
        bits = DATA_TYPES[operand.data_type].bits
        if any(step * bits % VECTOR_BITS for step in (operand.base, *operand.strides[:-1])):
            return None
    return unit
