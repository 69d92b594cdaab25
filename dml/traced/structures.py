"""Structures of traced numbers: dataclasses, tuples, lists and arrays of objects."""

from __future__ import annotations

import dataclasses
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from .number import Numbers, TracedInt

_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})


class TracedValue(ABC):
    """A value that depends on traced numbers, and can compute itself for other values of them."""

    @property
    @abstractmethod
    def numbers(self) -> Iterable[int]:
        """Return its traced numbers; plain ones may be among them."""

    @abstractmethod
    def at(self, numbers: Numbers) -> Any:
        """Return the value for these numbers in place of the traced ones. Raises UntracedError if there is none."""


def filled(value: Any, numbers: Numbers) -> Any:
    """Replace traced numbers by plain ones; object arrays of them become int64."""
    return _filled(value, numbers, {})


def _filled(value: Any, numbers: Numbers, known: dict[int, Any]) -> Any:
    """Replace traced numbers. known: dataclasses replaced so far, by identity, since many structures share them."""
    kind = type(value)
    if kind is TracedInt:
        return numbers[value]
    if kind in _PLAIN:
        return value
    if isinstance(value, TracedValue):
        return value.at(numbers)
    if isinstance(value, list):
        return [_filled(item, numbers, known) for item in value]
    if isinstance(value, tuple):
        items = [_filled(item, numbers, known) for item in value]
        if all(map(operator.is_, items, value)):
            return value
        return kind(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        traced = value.dtype.hasobject and any(True for _ in numbers_in(value))
        return np.array(_filled(value.tolist(), numbers, known), np.int64) if traced else value
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    if id(value) not in known:
        own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        changed = {name: _filled(item, numbers, known) for name, item in own.items()}
        result = value
        if not all(map(operator.is_, changed.values(), own.values())):
            result = object.__new__(kind)
            result.__dict__.update(changed)  # cached attributes depend on the traced numbers
        known[id(value)] = result
    return known[id(value)]


def numbers_in(value: Any) -> set[TracedInt]:
    """Return the traced numbers of a structure."""
    found: set[TracedInt] = set()
    _collect(value, found, set())
    return found


def _collect(value: Any, found: set[TracedInt], known: set[int]) -> None:
    """Add a value's traced numbers to ``found``. known: dataclasses visited so far, by identity."""
    kind = type(value)
    if kind is TracedInt:
        found.add(value)
    elif kind in _PLAIN:
        return
    elif isinstance(value, TracedValue):
        found.update(number for number in value.numbers if type(number) is TracedInt)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, found, known)
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            _collect(value.reshape(-1).tolist(), found, known)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and id(value) not in known:
        known.add(id(value))
        for field in dataclasses.fields(value):
            _collect(getattr(value, field.name), found, known)
