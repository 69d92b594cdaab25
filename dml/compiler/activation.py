"""Activations: expressions of one value, alone or fused after the operator that produces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dml.compiler.expression import Expression, Leaf, node, substitute
from dml.compiler.lowering import elementwise
from dml.descriptors import activation as d
from dml.descriptors.base import OperatorDesc

MATH = "lib/math.glsl"
_ACTIVATIONS: dict[type[OperatorDesc], Callable[[Any], Expression]] = {}


def activation(cls: type[OperatorDesc], *inputs: str) -> Callable[[Callable[[Any], Expression]], Callable[[Any], Expression]]:
    """Register an activation as an operator of its own and as one that others fuse."""

    def register(function: Callable[[Any], Expression]) -> Callable[[Any], Expression]:
        _ACTIVATIONS[cls] = function
        return elementwise(cls, *(inputs or ("InputTensor",)))(function)

    return register


def activate(desc: OperatorDesc | None, x: Expression = Leaf(0)) -> Expression:
    """The activation of x; x itself where none is given. The descriptor was validated as fusable."""
    return x if desc is None else substitute(_ACTIVATIONS[type(desc)](desc), [x])


@activation(d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC)
def identity(desc: d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC) -> Expression:
    return Leaf(0)


@activation(d.DML_ACTIVATION_RELU_OPERATOR_DESC)
def relu(desc: d.DML_ACTIVATION_RELU_OPERATOR_DESC) -> Expression:
    # Not max(): GLSL leaves the maximum of NaN open.
    return node("$x0 < 0.0 ? 0.0 : $x0", Leaf(0))


@activation(d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
def sigmoid(desc: d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC) -> Expression:
    return node("sigmoid($x0)", Leaf(0), includes=[MATH])


@activation(d.DML_ACTIVATION_TANH_OPERATOR_DESC)
def tanh(desc: d.DML_ACTIVATION_TANH_OPERATOR_DESC) -> Expression:
    return node("tanh_accurate($x0)", Leaf(0), includes=[MATH])
