"""Scalar expressions: trees of GLSL over the elements of tensors.

A leaf reads one operand's element; a node is GLSL over its operands ``$x0``, ``$x1``, ... and its own named constants
(``$Alpha``), which kernels read as data.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

#: A number that kernels read: bool, int (uint in GLSL), np.int32 (int) or float.
Constant = bool | int | float | np.int32


class Leaf(NamedTuple):
    """The element of operand ``index``."""

    index: int  # type: ignore[assignment]  # tuples have a method of that name


@dataclass(frozen=True, eq=False)
class ScalarNode:
    """``code`` computes a ``glsl`` value (float, int, uint, uvec2) from the operands' values and the constants."""

    code: str
    operands: tuple[Expression, ...]
    glsl: str = "float"
    constants: Mapping[str, Constant] = field(default_factory=dict)
    includes: tuple[str, ...] = ()
    #: Nodes on the longest path to a leaf, this one included.
    depth: int = field(init=False)
    #: Cached by ``repeated.expression_key``.
    key: Hashable = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max(map(depth_of, self.operands), default=0))


Expression = Leaf | ScalarNode


def depth_of(expression: Expression) -> int:
    return expression.depth if isinstance(expression, ScalarNode) else 0


def node(
    code: str, *operands: Expression, glsl: str = "float", includes: Sequence[str] = (), **constants: Constant
) -> ScalarNode:
    return ScalarNode(code, operands, glsl, constants, tuple(includes))


def substitute(expression: Expression, operands: Sequence[Expression]) -> Expression:
    """Replace every ``Leaf(i)`` by ``operands[i]``.

    Equal arguments give the same object, so facts cached on it are reused.
    """
    return _substituted(expression, tuple(operands))


@lru_cache(maxsize=4096)
def _substituted(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    if all(type(operand) is Leaf and operand.index == index for index, operand in enumerate(operands)):
        return expression
    done: dict[int, Expression] = {}

    def walk(node: Expression) -> Expression:
        if isinstance(node, Leaf):
            return operands[node.index]
        if id(node) not in done:
            done[id(node)] = ScalarNode(
                node.code, tuple(walk(o) for o in node.operands), node.glsl, node.constants, node.includes
            )
        return done[id(node)]

    return walk(expression)


def leaves_of(*expressions: Expression) -> set[int]:
    """Return the operand numbers that the expressions read."""
    found: set[int] = set()
    seen: set[int] = set()
    left = list(expressions)
    while left:
        expression = left.pop()
        if isinstance(expression, Leaf):
            found.add(expression.index)
        elif id(expression) not in seen:
            seen.add(id(expression))
            left += expression.operands
    return found
