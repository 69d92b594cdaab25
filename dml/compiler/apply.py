"""Scalar expressions over tensors: element-wise operators, activations and fused chains.

Composed expressions (an activation after an addition, a chain that a graph fuses) make one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.data_types import DATA_TYPES, UNSIGNED, VECTOR_BITS
from dml.compiler.kernels.expression import Emitted, emit, rounds_of_loops, scalar_body, vector_body
from dml.compiler.kernels.prelude import read, write
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression, Leaf
from dml.compiler.selection import LONG_ARITHMETIC, unit_walk
from dml.compiler.selection.devices import keeps
from dml.compiler.transposed import apply_transposed


def raw(operand: Operand) -> Operand:
    """View the elements as unsigned integers, so that moving them preserves all bits, NaN's included."""
    return operand.as_type(UNSIGNED[DATA_TYPES[operand.data_type].bits])


def copy(builder: ProgramBuilder, result: Operand, source: Operand) -> None:
    """Write the source's elements to the result; equal sizes, any strides, one data type."""
    apply(builder, Leaf(0), raw(result), [raw(source)])


def copy_each(builder: ProgramBuilder, result: Operand, source: Operand) -> None:
    """Copy element by element with unmerged dimensions: one kernel for all sizes."""
    emitted = emit(Leaf(0), [DATA_TYPES[source.data_type].glsl], result=DATA_TYPES[result.computed_type].glsl)
    for part in in_parts((result, source), builder.target.max_region):
        _apply_to_each(builder, emitted, *part)


def apply(builder: ProgramBuilder, expression: Expression, result: Operand, inputs: Sequence[Operand]) -> None:
    """Write the expression's value to every element of ``result``. Inputs broadcast to its sizes.

    Any data types may be mixed; the expression's type is converted to the result's value type.
    """
    merged = merge(*_in_memory_order(result, *(operand.broadcast(result.sizes) for operand in inputs)))
    parameters = [DATA_TYPES[operand.data_type].glsl for operand in inputs]
    emitted = emit(expression, parameters, result=DATA_TYPES[result.computed_type].glsl)
    for part in in_parts(merged, builder.target.max_region):
        unit = _vector_elements(*part)
        if unit is not None and keeps(builder.target, unit):
            _apply_to_vectors(builder, emitted, unit, *part)
        elif len(inputs) != 1 or not apply_transposed(builder, emitted, *part, is_copy=expression == Leaf(0)):
            _apply_to_each(builder, emitted, *part)


def _apply_to_each(builder: ProgramBuilder, emitted: Emitted, result: Operand, *inputs: Operand) -> None:
    named = {f"x{i}": operand for i, operand in enumerate(inputs)}
    loads = ", ".join(f"{name}_load({name}_at(c))" for name in named)
    code = f"{emitted.code}\nresult_VALUE value(uint c[{result.rank}]) {{ return compute({loads}); }}"
    builder.for_each("elementwise/elementwise.comp", result, named, constants=emitted.constants, code=code)


def _apply_to_vectors(builder: ProgramBuilder, emitted: Emitted, unit: int, result: Operand, *inputs: Operand) -> None:
    """Add a dispatch that computes whole vectors. unit: elements per invocation step."""
    named = {f"x{i}": operand for i, operand in enumerate(inputs)}
    rounds = unit * rounds_of_loops(emitted.code) or 1
    lines = unit * emitted.code.count("\n")
    units = -(-result.count // unit)
    walk = unit_walk(builder.target, units, rounds, lines)
    builder.dispatch(
        "elementwise/vector.comp",
        {
            "result": write(result, vector=True),
            **{name: read(operand, vector=operand.strides[-1] == 1) for name, operand in named.items()},
        },
        space=result.sizes,
        count=walk.invocations(units),
        workgroup=walk.workgroup,
        constants={"STEPS": walk.steps, **emitted.constants},
        defines={
            "UNIT": f"{unit}u",
            "LOOPS": int(walk.loops),
            "TAIL": str(_ends_anywhere(result, unit, lines)).lower(),
        },
        code="\n".join([emitted.code, scalar_body(named, result.rank), vector_body(named, result, unit)]),
        steps=walk.steps * rounds,
        each=-(-unit // rounds),
    )


def _ends_anywhere(result: Operand, unit: int, lines: int) -> bool:
    """Whether the kernel accepts results that end within a unit; it then computes that unit's elements one by one.

    One kernel then serves all lengths. Long expressions are excluded, since their code would appear twice: SwiftShader
    needed more than 22 GiB to compile a loop around a few dozen chained operators.
    """
    return result.rank == 1 and (lines <= LONG_ARITHMETIC or result.count % unit != 0)


def _in_memory_order(result: Operand, *inputs: Operand) -> list[Operand]:
    """Return the operands, of equal sizes, with dimensions permuted to the result's order in memory, innermost last."""
    order = sorted(range(result.rank), key=lambda d: -result.strides[d])
    return [operand.permuted(order) for operand in (result, *inputs)]


def _vector_elements(result: Operand, *inputs: Operand) -> int | None:
    """Return the number of adjacent elements that make whole uvec4s for one invocation; None if a layout forbids it."""
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
