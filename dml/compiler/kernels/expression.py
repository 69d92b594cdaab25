"""Scalar expressions applied to tensors: what element-wise operators, activations and fused chains are.

Nodes put together (an activation after an addition, a chain that a graph fuses) still make one kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.kernels.prelude import VALUE_TYPES, read, write
from dml.compiler.kernels.scalar import Emitted, Expression, Leaf, Node, emit, node, substitute
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.compiler.target import Target

__all__ = ["Emitted", "Expression", "Leaf", "Node", "apply", "emit", "node", "substitute"]


def apply(builder: ProgramBuilder, expression: Expression, result: Operand, inputs: Sequence[Operand]) -> None:
    """Write the expression's value for every element of ``result``. The inputs broadcast to its sizes.

    Inputs and result may have any data types; the expression's type is converted to the result's value type.
    """
    merged = merge(*_in_memory_order(result, *(operand.broadcast(result.sizes) for operand in inputs)))
    parameters = [VALUE_TYPES[operand.data_type].glsl for operand in inputs]
    emitted = emit(expression, parameters, result=VALUE_TYPES[result.data_type].glsl)
    for part in in_parts(merged, builder.target.max_region):
        _apply(builder, emitted, *part)


def _apply(builder: ProgramBuilder, emitted: Emitted, result: Operand, *inputs: Operand) -> None:
    unit = _vector_elements(result, inputs)
    named = {f"x{i}": operand for i, operand in enumerate(inputs)}
    if unit is None:
        loads = ", ".join(f"{name}_load({name}_at(c))" for name in named)
        code = f"{emitted.code}\nresult_VALUE value(uint c[{result.rank}]) {{ return compute({loads}); }}"
        builder.for_each("elementwise/elementwise.comp", result, named, constants=emitted.constants, code=code)
        return
    rounds = unit * _ROUNDS * len(_LOOPS.findall(emitted.code)) or 1
    steps, workgroup = _steps(-(-result.count // unit), unit * emitted.code.count("\n"), rounds, builder.target)
    builder.dispatch(
        "elementwise/vector.comp",
        {
            "result": write(result, vector=True),
            **{name: read(operand, vector=operand.strides[-1] == 1) for name, operand in named.items()},
        },
        space=result.sizes,
        count=-(-result.count // (unit * steps)),
        workgroup=workgroup,
        constants=emitted.constants,
        defines={"UNIT": f"{unit}u", "STEPS": steps, "UNROLL": min(steps, 4), "TAIL": int(result.count % unit > 0)},
        code="\n".join([emitted.code, _scalar_body(named, result.rank), _vector_body(named, result, unit)]),
        steps=steps * rounds,
        each=-(-unit // rounds),
    )


#: Lines of GLSL for a unit of elements above which the arithmetic outweighs what a workgroup costs.
_LONG = 64
#: Functions of shaders/lib that loop over the bits of a number, and their rounds, at most.
_LOOPS = re.compile(r"\b(?:modulus_(?!uint|truncate_int|floor_int)\w+|quotient_[iu]64|power_\w+)\(")
_ROUNDS = 64


def _steps(units: int, lines: int, rounds: int, target: Target) -> tuple[int, int]:
    """Steps of an invocation and invocations of a workgroup. rounds: of loops in each step.

    A CPU's driver pays for every workgroup, and most for one of several vectors: there a workgroup is one vector, and
    takes as many steps as leave 16 workgroups for the cores.
    """
    lanes = max(4, min(32, target.subgroup_size))
    steps = min(512, max_steps(target) // rounds, units // (16 * lanes)) // 4 * 4
    return (steps, lanes) if target.is_cpu and steps and lines <= _LONG else (1, target.workgroup)


def _in_memory_order(result: Operand, *inputs: Operand) -> list[Operand]:
    """The operands, of equal sizes, with their dimensions as the result's lie in memory, the innermost last."""
    order = sorted(range(result.rank), key=lambda d: -result.strides[d])
    return [
        operand.view(tuple(operand.sizes[d] for d in order), tuple(operand.strides[d] for d in order))
        for operand in (result, *inputs)
    ]


def _vector_elements(result: Operand, inputs: Sequence[Operand]) -> int | None:
    """How many neighbouring elements an invocation takes to move whole uvec4, or None where the layout forbids it."""
    moving = [operand for operand in (result, *inputs) if operand.strides[-1] != 0]
    if result.strides[-1] != 1 or any(operand.strides[-1] != 1 for operand in moving):
        return None
    unit = max(128 // VALUE_TYPES[operand.data_type].bits for operand in moving)
    if result.rank > 1 and result.sizes[-1] % unit:
        return None
    for operand in moving:
        bits = VALUE_TYPES[operand.data_type].bits
        if any(step * bits % 128 for step in (operand.base, *operand.strides[:-1])):
            return None
    return unit


def _place(operand: Operand, element: int) -> tuple[int, str, int]:
    """Vector, components and shift of an element counted from an aligned one."""
    bits = VALUE_TYPES[operand.data_type].bits
    vector, rest = divmod(element * bits, 128)
    component = rest // 32
    return vector, "xyzw"[component : component + max(1, bits // 32)], rest % 32


def _scalar_body(inputs: Mapping[str, Operand], rank: int) -> str:
    loads = ", ".join(f"{name}_load({name}_at(c))" for name in inputs)
    return f"void scalar(uint i) {{ uint c[{rank}]; coordinates(i, c); result_store(result_at(c), compute({loads})); }}"


def _vector_body(inputs: Mapping[str, Operand], result: Operand, unit: int) -> str:
    """void vectors(c): the elements from coordinates c on, every load before the first store."""
    lines = [f"void vectors(uint c[{result.rank}]) {{"]
    for name, operand in inputs.items():
        if operand.strides[-1] == 0:
            lines.append(f"    {name}_VALUE {name}_same = {name}_load({name}_at(c));")
            continue
        per_vector = 128 // VALUE_TYPES[operand.data_type].bits
        lines.append(f"    uint {name}_first = {name}_at(c) / {per_vector}u;")
        for v in range(unit // per_vector):
            lines.append(f"    uvec4 {name}_{v} = {name}_vector({name}_first + {v}u);")
    value = VALUE_TYPES[result.data_type]
    per_vector = 128 // value.bits
    lines.append(f"    uint start = result_at(c), first = start / {per_vector}u;")
    for v in range(unit // per_vector):
        lines.append(f"    uvec4 r{v} = uvec4(0u);")
    for k in range(unit):
        arguments = []
        for name, operand in inputs.items():
            if operand.strides[-1] == 0:
                arguments.append(f"{name}_same")
                continue
            vector, components, shift = _place(operand, k)
            if len(components) == 2:
                arguments.append(f"{name}_{vector}.{components}")
            else:
                arguments.append(f"{name}_decode({name}_{vector}.{components} >> {shift}u)")
        vector, components, shift = _place(result, k)
        call = f"compute({', '.join(arguments)})"
        encoded = call if len(components) == 2 else f"result_encode_at(start + {k}u, {call}) << {shift}u"
        lines.append(f"    r{vector}.{components} |= {encoded};")
    for v in range(unit // per_vector):
        lines.append(f"    result_vector_store(first + {v}u, r{v});")
    return "\n".join([*lines, "}"])
