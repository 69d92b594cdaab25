"""Expressions as GLSL functions, and the bodies of element-wise kernels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import Template

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.kinds import MATH
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, ScalarNode


@dataclass(frozen=True)
class Emitted:
    """A GLSL function and its constants."""

    code: str
    constants: dict[str, Constant]


def emit(
    expression: Expression, parameters: Sequence[str], name: str = "compute", result: str | None = None
) -> Emitted:
    """Return ``<result> name(<parameters[0]> x0, ...)`` that computes the expression; the parameters are GLSL types."""
    return _emitted(expression, tuple(parameters), name, result)


@lru_cache(maxsize=4096)
def _emitted(expression: Expression, parameters: tuple[str, ...], name: str, result: str | None) -> Emitted:
    lines: list[str] = []
    constants: dict[str, Constant] = {}
    includes: dict[str, None] = {}
    names: dict[int, str] = {}
    # GLSL type and formula of each computed value -> its variable, so that equal values are computed once
    computed: dict[tuple[str, str], str] = {}

    def walk(node: Expression) -> str:
        if isinstance(node, Leaf):
            return f"x{node.index}"
        if id(node) in names:
            return names[id(node)]
        values = {f"x{i}": walk(operand) for i, operand in enumerate(node.operands)}
        for constant, value in node.constants.items():
            values[constant] = f"{name}_{constant}_{len(constants)}"
            constants[values[constant]] = value
        code, needed, precise = node.code, node.includes, "precise " if _cancels(node) else ""
        if node.glsl == "float" and code == "$x0 - $x1" and values["x0"] == values["x1"]:
            # Drivers simplify x - x to 0, Mesa 26 even if it is precise
            code, needed = "is_nan($x0) || is_inf($x0) ? NOT_A_NUMBER : 0.0", (MATH,)
        includes.update(dict.fromkeys(needed))
        formula = Template(code).substitute(values)
        if (node.glsl, formula) not in computed:
            computed[node.glsl, formula] = f"t{len(computed)}"
            lines.append(f"    {precise}{node.glsl} {computed[node.glsl, formula]} = {formula};")
        names[id(node)] = computed[node.glsl, formula]
        return names[id(node)]

    value = walk(expression)
    if result is None:
        result = expression.glsl if isinstance(expression, ScalarNode) else parameters[expression.index]
    arguments = ", ".join(f"{glsl} x{i}" for i, glsl in enumerate(parameters))
    text = [f'#include "{include}"' for include in includes]
    text += [f"{result} {name}({arguments}) {{", *lines, f"    return {result}({value});", "}"]
    return Emitted("\n".join(text), constants)


#: Code that adds, subtracts or negates numbers.
_SUMS = ("$x0 + $x1", "$x0 - $x1", "-$x0")


def _cancels(node: ScalarNode) -> bool:
    """Return whether a compiler may simplify a sum of floats, such as (a + b) - b to a, which is wrong if a + b is
    rounded."""
    if node.glsl != "float" or node.code not in _SUMS[:2]:
        return False
    parts = [part for part in node.operands if isinstance(part, ScalarNode)]
    return any(part.glsl == "float" and part.code in _SUMS for part in parts)


#: Functions of shaders/lib that loop over the bits of a number, and the maximum rounds of such a loop.
_LOOPS = re.compile(r"\b(?:modulus_(?!uint|truncate_int|floor_int)\w+|quotient_[iu]64|power_\w+)\(")
_ROUNDS = 64


def rounds_of_loops(code: str) -> int:
    """Return the maximum rounds of all loops in the functions that the code calls."""
    return _ROUNDS * len(_LOOPS.findall(code))


def scalar_body(inputs: Mapping[str, Operand], rank: int) -> str:
    loads = ", ".join(f"{name}_load({name}_at(c))" for name in inputs)
    return f"void scalar(uint i) {{ uint c[{rank}]; coordinates(i, c); result_store(result_at(c), compute({loads})); }}"


def vector_body(inputs: Mapping[str, Operand], result: Operand, unit: int) -> str:
    """Return void vectors(c): the elements starting at coordinates c, with every load before the first store."""
    lines = [f"void vectors(uint c[{result.rank}]) {{"]
    vectors = {name: lanes.variables(f"{name}_", operand, unit) for name, operand in inputs.items()}
    for name, operand in inputs.items():
        if operand.strides[-1] == 0:
            lines.append(f"    {name}_VALUE {name}_same = {name}_load({name}_at(c));")
            continue
        lines.append(f"    uint {name}_first = {name}_at(c) / {DATA_TYPES[operand.data_type].per_vector}u;")
        lines += lanes.load(name, vectors[name], f"{name}_first")
    results = lanes.variables("r", result, unit)
    lines.append(f"    uint start = result_at(c), first = start / {DATA_TYPES[result.data_type].per_vector}u;")
    lines += lanes.clear(results)
    for k in range(unit):
        arguments = [
            f"{name}_same" if operand.strides[-1] == 0 else lanes.element(name, operand, vectors[name], k)
            for name, operand in inputs.items()
        ]
        lines.append(lanes.put("result", result, results, k, "start", f"compute({', '.join(arguments)})"))
    return "\n".join([*lines, *lanes.store("result", results, "first"), "}"])
