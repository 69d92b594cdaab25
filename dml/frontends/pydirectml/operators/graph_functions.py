"""DirectMLX functions that PyDirectML lacks: the graph builder's operations on expressions.

Each wraps the function of the same name in ``dml.graph.operations``, which documents its arguments; activations begin
with ``activation_``, as in PyDirectML. Changes of layout, including element-wise broadcasting, happen in the graph.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import dml.graph.operations as op
from dml.frontends.pydirectml.device import GraphBuilder
from dml.frontends.pydirectml.expressions import Expression
from dml.frontends.pydirectml.operators.common import FusedActivation
from dml.graph.builder import Tensor
from dml.graph.operations import activation


def on_expressions(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of tensors as one of expressions; a GraphBuilder is passed on as its Builder."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _expressions(function(*map(_tensors, args), **{name: _tensors(value) for name, value in kwargs.items()}))

    return call


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Raise TypeError, as PyDirectML does, if an argument is not the Expression or FusedActivation of the signature."""
    signature = inspect.signature(function)
    hints = {name: str(parameter.annotation) for name, parameter in signature.parameters.items()}
    classes = {
        name: cls
        for name, hint in hints.items()
        for cls in (Expression, FusedActivation)
        if hint in (cls.__name__, f"{cls.__name__} | None", f"Sequence[{cls.__name__}]")
    }

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint, cls = hints[name], classes.get(name)
            if cls is None or (value is None and hint.endswith(" | None")):
                continue
            for item in value if hint.startswith("Sequence") else [value]:
                if not isinstance(item, cls):
                    raise TypeError(
                        f"pydirectml.{function.__name__}: {name} must be {hint}, found {type(item).__name__}"
                    )
        return function(*args, **kwargs)

    return call


def _tensors(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.tensor
    if isinstance(value, GraphBuilder):
        return value.builder
    if isinstance(value, list | tuple) and any(isinstance(item, Expression) for item in value):
        return [_tensors(item) for item in value]
    return value


def _expressions(value: Any) -> Any:
    if value is None or isinstance(value, Tensor):
        return Expression(value)
    return type(value)(map(_expressions, value))


def functions(own: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Return name -> function for every graph operation, except those that PyDirectML defines itself."""
    result = {}
    for name in op.NAMES:
        function = getattr(op, name)
        shown = f"activation_{name}" if hasattr(activation, name) else name
        if shown not in own and name not in ("fused", "upsample_2d", "slice_"):
            result[shown] = on_expressions(function)
    return result
