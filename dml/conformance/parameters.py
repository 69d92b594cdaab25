"""What a subject is varied in: parameters with labelled values, and one choice of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Any

from dml.capability import operator_support, short_name
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_REDUCE_FUNCTION
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: By name, a parameter's values by label; the first is what a case has that says nothing of the parameter.
Parameters = Mapping[str, Mapping[str, Any]]

#: What a label may be, so that a case's id tells it.
LABEL = re.compile(r"[A-Za-z0-9_.+-]+")


class Skip(Exception):
    """This combination of parameters has no meaning for the operator; str() says why."""


class Choice:
    """One value of each parameter, as attributes: ``choice.type``."""

    def __init__(self, parameters: Parameters, labels: Mapping[str, str]) -> None:
        self._labels = dict(labels)
        self._values = {name: parameters[name][label] for name, label in labels.items() if name in parameters}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def label(self, name: str) -> str:
        """The label of a parameter's value."""
        return self._labels[name]


def types_of(operator: type[OperatorDesc], tensor: str, function: DML_REDUCE_FUNCTION | None = None) -> dict[str, Any]:
    """The data types a tensor may have at the latest feature level, FLOAT32 first where it is among them."""
    found = operator_support(operator.OPERATOR_TYPE, function=function)
    assert found is not None
    kinds = sorted(found[tensor].data_types, key=lambda kind: (short_name(kind) != "FLOAT32", kind))
    return {short_name(kind): kind for kind in kinds}


def sizes(*texts: str) -> dict[str, tuple[int, ...]]:
    """``sizes("1x2x3", "7")``: the sizes by their labels."""
    return {text: tuple(int(size) for size in text.split("x")) for text in texts}


def enumerators(enumeration: Iterable[IntEnum]) -> dict[str, Any]:
    """Enumerators by their short names."""
    return {short_name(one): one for one in enumeration}


def flags() -> dict[str, bool]:
    """Off and on."""
    return {"no": False, "yes": True}


def tensor(kind: Any, dimensions: Iterable[int]) -> DML_BUFFER_TENSOR_DESC:
    """A packed tensor of a data type; the framework lays it out otherwise where the case asks for it."""
    return DML_BUFFER_TENSOR_DESC(kind, tuple(dimensions))


def whole_along(dimensions: tuple[int, ...], axes: Collection[int]) -> tuple[int, ...]:
    """The sizes, 1 in all dimensions but the axes: those of a parameter that broadcasts."""
    return tuple(size if axis in axes else 1 for axis, size in enumerate(dimensions))
