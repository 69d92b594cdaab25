"""Expressions as GLSL: the functions that they become, and the bodies of the element-wise kernels around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from dml.compiler.data_types import DATA_TYPES, VECTOR_BITS, WORD_BITS
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, ScalarNode


@dataclass(frozen=True)
class Emitted:
    """A GLSL function and the constants that it uses."""

    code: str
    constants: dict[str, Constant]


def emit(
    expression: Expression, parameters: Sequence[str], name: str = "compute", result: str | None = None
) -> Emitted:
    """``<result> name(<parameters[0]> x0, ...)`` computing the expression; the parameters are GLSL types."""
    lines: list[str] = []
    constants: dict[str, Constant] = {}
    includes: dict[str, None] = {}
    names: dict[int, str] = {}

    def walk(at: Expression) -> str:
        if isinstance(at, Leaf):
            return f"x{at.index}"
        if id(at) in names:
            return names[id(at)]
        values = {f"x{i}": walk(operand) for i, operand in enumerate(at.operands)}
        for constant, value in at.constants.items():
            values[constant] = f"{name}_{constant}_{len(constants)}"
            constants[values[constant]] = value
        includes.update(dict.fromkeys(at.includes))
        names[id(at)] = f"t{len(names)}"
        lines.append(f"    {at.glsl} {names[id(at)]} = {Template(at.code).substitute(values)};")
        return names[id(at)]

    value = walk(expression)
    if result is None:
        result = expression.glsl if isinstance(expression, ScalarNode) else parameters[expression.index]
    arguments = ", ".join(f"{glsl} x{i}" for i, glsl in enumerate(parameters))
    text = [f'#include "{include}"' for include in includes]
    text += [f"{result} {name}({arguments}) {{", *lines, f"    return {result}({value});", "}"]
    return Emitted("\n".join(text), constants)


#: Functions of shaders/lib that loop over the bits of a number, and the rounds that they make, at most.
_LOOPS = re.compile(r"\b(?:modulus_(?!uint|truncate_int|floor_int)\w+|quotient_[iu]64|power_\w+)\(")
_ROUNDS = 64


def rounds_of_loops(code: str) -> int:
    """How many rounds all loops of the functions that the code calls make at most."""
    return _ROUNDS * len(_LOOPS.findall(code))


def _place(operand: Operand, element: int) -> tuple[int, str, int]:
    """Vector, components and shift of an element counted from an aligned one."""
    bits = DATA_TYPES[operand.data_type].bits
    vector, rest = divmod(element * bits, VECTOR_BITS)
    component = rest // WORD_BITS
    return vector, "xyzw"[component : component + max(1, bits // WORD_BITS)], rest % WORD_BITS


def scalar_body(inputs: Mapping[str, Operand], rank: int) -> str:
    loads = ", ".join(f"{name}_load({name}_at(c))" for name in inputs)
    return f"void scalar(uint i) {{ uint c[{rank}]; coordinates(i, c); result_store(result_at(c), compute({loads})); }}"


def vector_body(inputs: Mapping[str, Operand], result: Operand, unit: int) -> str:
    """void vectors(c): the elements from coordinates c on, every load before the first store."""
    lines = [f"void vectors(uint c[{result.rank}]) {{"]
    for name, operand in inputs.items():
        if operand.strides[-1] == 0:
            lines.append(f"    {name}_VALUE {name}_same = {name}_load({name}_at(c));")
            continue
        per_vector = DATA_TYPES[operand.data_type].per_vector
        lines.append(f"    uint {name}_first = {name}_at(c) / {per_vector}u;")
        for v in range(unit // per_vector):
            lines.append(f"    uvec4 {name}_{v} = {name}_vector({name}_first + {v}u);")
    per_vector = DATA_TYPES[result.data_type].per_vector
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
