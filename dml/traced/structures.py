"""Structures that hold traced numbers: dataclasses, tuples, lists and arrays of objects."""

from __future__ import annotations

import dataclasses
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .number import TracedInt


class TracedValue(ABC):
    """Something that follows from traced numbers in a way of its own."""

    @property
    @abstractmethod
    def numbers(self) -> Iterable[int]:
        """The traced ones, and maybe others."""

    @abstractmethod
    def at(self, numbers: Mapping[int, int]) -> Any:
        """What it is for other numbers. Raises UntracedError where that cannot be."""


def filled(value: Any, numbers: Mapping[int, int]) -> Any:
    """The same with plain numbers for the traced ones in it; arrays of them are int64 then."""
    if type(value) is TracedInt:
        return numbers[value]
    if isinstance(value, TracedValue):
        return value.at(numbers)
    if isinstance(value, list):
        return [filled(item, numbers) for item in value]
    if isinstance(value, tuple):
        items = [filled(item, numbers) for item in value]
        if all(map(operator.is_, items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        traced = value.dtype.hasobject and any(True for _ in numbers_in(value))
        return np.array(filled(value.tolist(), numbers), np.int64) if traced else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        changed = {name: filled(item, numbers) for name, item in own.items()}
        if all(changed[name] is item for name, item in own.items()):
            return value
        made = object.__new__(type(value))
        made.__dict__.update(changed)  # (what it keeps beside its fields was of the traced numbers)
        return made
    return value


def numbers_in(value: Any) -> Iterator[TracedInt]:
    """The traced numbers of such a structure."""
    if type(value) is TracedInt:
        yield value
    elif isinstance(value, TracedValue):
        yield from (number for number in value.numbers if type(number) is TracedInt)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            yield from numbers_in(value.reshape(-1).tolist())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from numbers_in(getattr(value, field.name))
