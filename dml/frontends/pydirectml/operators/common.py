"""Fused activations and required parameters, for the functions of all families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml.descriptors import operators as all_operators
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_OPERATOR_TYPE
from dml.frontends.pydirectml.enumerations import OperatorType

#: Default of required parameters that follow optional ones, as in PyDirectML's signatures.
REQUIRED: Any = object()


class FusedActivation:
    """An activation to fuse into an operator, with parameters in the order of the description's fields."""

    def __init__(self, activation: Any = OperatorType.INVALID, param_1: float = 0.0, param_2: float = 0.0) -> None:
        self.activation = activation
        self.param_1 = param_1
        self.param_2 = param_2

    def desc(self) -> OperatorDesc | None:
        """Return the activation's description; None for no activation."""
        kind = DML_OPERATOR_TYPE(int(self.activation))
        if kind == DML_OPERATOR_TYPE.DML_OPERATOR_INVALID:
            return None
        cls = all_operators()[kind]
        names = [info.name for info in cls.fields_info if not info.is_tensor]
        return cls(**dict(zip(names, (float(self.param_1), float(self.param_2)), strict=False)))


def need(**parameters: Any) -> None:
    missing = [name for name, value in parameters.items() if value is REQUIRED]
    if missing:
        raise TypeError(f"missing arguments: {', '.join(missing)}")


def fused(activation: FusedActivation | None) -> OperatorDesc | None:
    return None if activation is None else activation.desc()


def each(values: Sequence[int], count: int, default: int) -> tuple[int, ...]:
    """Return one number per spatial dimension; further numbers are dropped."""
    return tuple(values)[:count] if len(values) else (default,) * count
