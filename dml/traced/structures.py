"""Structures that hold traced numbers: dataclasses, tuples, lists and arrays of objects."""

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
    """Something that follows from traced numbers in a way of its own."""

    @property
    @abstractmethod
    def numbers(self) -> Iterable[int]:
        """The traced ones, and maybe others."""

    @abstractmethod
    def at(self, numbers: Numbers) -> Any:
        """What it is for other numbers. Raises UntracedError where that cannot be."""


def filled(value: Any, numbers: Numbers) -> Any:
    """The same with plain numbers for the traced ones in it; arrays of them are int64 then."""
    return _filled(value, numbers, {})


def _filled(value: Any, numbers: Numbers, known: dict[int, Any]) -> Any:
    """known: what dataclasses became, by identity; many structures hold the same ones."""
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
        made = value
        if not all(map(operator.is_, changed.values(), own.values())):
            made = object.__new__(kind)
            made.__dict__.update(changed)  # (what it keeps beside its fields was of the traced numbers)
        known[id(value)] = made
    return known[id(value)]


def numbers_in(value: Any) -> set[TracedInt]:
    """The traced numbers of such a structure."""
    found: set[TracedInt] = set()
    _collect(value, found, set())
    return found


def _collect(value: Any, found: set[TracedInt], known: set[int]) -> None:
    """known: the dataclasses that were looked at, by identity."""
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
