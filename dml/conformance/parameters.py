"""Parameters of a subject with labelled values, and one choice of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum
from functools import partial
from typing import Any

from dml.capability import operator_support, short_name
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_tensor

#: Parameter -> label -> value; the first label is the default.
Parameters = Mapping[str, Mapping[str, Any]]


class OpenLabels(dict[str, Any]):
    """A parameter's values by label. ``read`` parses further labels and returns None for those it cannot read.

    Only listed labels are combined into cases. A catalogue and ``--case`` may use others: sizes=1x64x56x56.
    """

    def __init__(self, values: Mapping[str, Any], read: Callable[[str], Any]) -> None:
        super().__init__(values)
        self._read = read

    def __missing__(self, label: str) -> Any:
        value = self._read(label)
        if value is None:
            raise KeyError(label)
        return value

    def __contains__(self, label: object) -> bool:
        return super().__contains__(label) or (isinstance(label, str) and self._read(label) is not None)


def _read_number(label: str) -> int | None:
    return int(label) if re.fullmatch(r"\d{1,7}", label) else None


def _read_sizes(label: str) -> tuple[int, ...] | None:
    return tuple(map(int, label.split("x"))) if re.fullmatch(r"\d{1,8}(x\d{1,8})*", label) else None


def _read_numbers(label: str) -> tuple[int, ...] | None:
    return tuple(map(int, label.split("."))) if re.fullmatch(r"\d{1,7}(\.\d{1,7})*", label) else None


def _read_padding(label: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Parse 0.2_1: 0 and 2 before, 1 after; without _ the same before and after."""
    if not re.fullmatch(r"[\d.]+(_[\d.]+)?", label):
        return None
    before, _, after = label.partition("_")
    found = _read_numbers(before), _read_numbers(after or before)
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def opened(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make the parameter accept further labels, if all of its own are numbers, sizes or paddings in one notation.

    Sizes keep to the listed dimension counts, which a subject may rely on.
    """
    readers: tuple[Callable[[str], Any], ...] = (_read_number, _read_sizes, _read_numbers, _read_padding)
    for read in readers:
        if not all(type(value) is type(read(label)) and value == read(label) for label, value in values.items()):
            continue
        if read is _read_sizes:
            return OpenLabels(values, partial(_read_sizes_of, {len(value) for value in values.values()}))
        return OpenLabels(values, read)
    return values


def _read_sizes_of(ranks: Collection[int], label: str) -> tuple[int, ...] | None:
    found = _read_sizes(label)
    return found if found is not None and len(found) in ranks else None


class Skip(Exception):
    """The operator has no such combination of parameters; str() says why."""


class Choice:
    """One value of each parameter, as attributes: ``choice.type``."""

    def __init__(self, parameters: Parameters, labels: Mapping[str, str]) -> None:
        self._parameters, self._labels = parameters, labels

    def __getattr__(self, name: str) -> Any:
        if name not in self.__dict__.get("_labels", ()):
            raise AttributeError(name)
        value = self._parameters[name][self.label(name)]
        setattr(self, name, value)  # later reads bypass this function
        return value

    def label(self, name: str) -> str:
        """Return the label of a parameter's value."""
        return self._labels[name]


class ReadChoice(Choice):
    """A choice that remembers which labels were read, in the order of first use."""

    def __init__(self, parameters: Parameters, labels: Mapping[str, str]) -> None:
        super().__init__(parameters, labels)
        self.read: dict[str, str] = {}

    def label(self, name: str) -> str:
        return self.read.setdefault(name, super().label(name))


def types_of(operator: type[OperatorDesc], tensor: str, function: DML_REDUCE_FUNCTION | None = None) -> dict[str, Any]:
    """Return the data types of a tensor at the latest feature level, FLOAT32 first if it is one of them."""
    found = operator_support(operator.OPERATOR_TYPE, function=function)
    assert found is not None
    kinds = sorted(found[tensor].data_types, key=lambda kind: (short_name(kind) != "FLOAT32", kind))
    return {short_name(kind): kind for kind in kinds}


def data_types(*names: str) -> dict[str, Any]:
    """Return data types by name: ``data_types("FLOAT32", "INT8")``."""
    return {name: DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"] for name in names}


def sizes(*texts: str) -> dict[str, tuple[int, ...]]:
    """Return sizes by label: ``sizes("1x2x3", "7")``."""
    return {text: tuple(int(size) for size in text.split("x")) for text in texts}


def enumerators(enumeration: Iterable[IntEnum]) -> dict[str, Any]:
    """Return enumerators by their short names."""
    return {short_name(item): item for item in enumeration}


def flags() -> dict[str, bool]:
    """Return a flag's values by label: off, on."""
    return {"no": False, "yes": True}


def tensor(kind: Any, dimensions: Iterable[int]) -> DML_BUFFER_TENSOR_DESC:
    """Describe a packed tensor of a data type; the framework applies the case's layout."""
    return packed_tensor(kind, tuple(dimensions))


def whole_along(dimensions: tuple[int, ...], axes: Collection[int]) -> tuple[int, ...]:
    """Set the sizes of all dimensions but the axes to 1, as for a parameter that broadcasts."""
    return tuple(size if axis in axes else 1 for axis, size in enumerate(dimensions))
