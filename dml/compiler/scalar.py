"""Scalar expressions: trees of GLSL over the elements of tensors, and the functions they become.

A leaf reads one operand's element; a node is GLSL over its operands ``$x0``, ``$x1``, ... and its own named constants
(``$Alpha``), which become specialization constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Template

import numpy as np

#: A specialization constant: bool, int (uint in GLSL), np.int32 (int) or float.
Constant = bool | int | float | np.int32


@dataclass(frozen=True)
class Leaf:
    """The element of operand number ``index``."""

    index: int


@dataclass(frozen=True, eq=False)
class Node:
    """``code`` computes a ``glsl`` value (float, int, uint, uvec2) from the operands' values and the constants."""

    code: str
    operands: tuple[Expression, ...]
    glsl: str = "float"
    constants: Mapping[str, Constant] = field(default_factory=dict)
    includes: tuple[str, ...] = ()
    #: How many nodes stand on each other.
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max(map(depth_of, self.operands), default=0))


Expression = Leaf | Node


def depth_of(expression: Expression) -> int:
    return expression.depth if isinstance(expression, Node) else 0


def node(
    code: str, *operands: Expression, glsl: str = "float", includes: Sequence[str] = (), **constants: Constant
) -> Node:
    return Node(code, operands, glsl, constants, tuple(includes))


def substitute(expression: Expression, operands: Sequence[Expression]) -> Expression:
    """The expression with ``operands[i]`` in place of every ``Leaf(i)``."""
    done: dict[int, Expression] = {}

    def walk(at: Expression) -> Expression:
        if isinstance(at, Leaf):
            return operands[at.index]
        if id(at) not in done:
            done[id(at)] = Node(at.code, tuple(walk(o) for o in at.operands), at.glsl, at.constants, at.includes)
        return done[id(at)]

    return walk(expression)


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
        result = expression.glsl if isinstance(expression, Node) else parameters[expression.index]
    arguments = ", ".join(f"{glsl} x{i}" for i, glsl in enumerate(parameters))
    text = [f'#include "{include}"' for include in includes]
    text += [f"{result} {name}({arguments}) {{", *lines, f"    return {result}({value});", "}"]
    return Emitted("\n".join(text), constants)
