"""OpenVINO's Dimension, PartialShape and Shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dml.errors import DMLError

from .refused import with_refused_names


@with_refused_names
class Dimension:
    """A size, or the range of a dynamic one.

    ``Dimension(3)`` is 3, ``Dimension()`` and ``Dimension(-1)`` are dynamic, ``Dimension(1, 8)`` is dynamic from 1 to
    8.
    """

    def __init__(self, low: int = -1, high: int | None = None) -> None:
        if high is None:
            low, high = (low, low) if low >= 0 else (0, -1)
        #: Limits of the size; -1 means none.
        self.min_length, self.max_length = max(low, 0), high

    def __repr__(self) -> str:
        return f"<Dimension: {self}>"

    def __str__(self) -> str:
        if self.is_static:
            return str(self.min_length)
        low, high = self.min_length or "", "" if self.max_length < 0 else self.max_length
        return f"{low}..{high}" if low or high else "?"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.is_static and self.min_length == other
        return isinstance(other, Dimension) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        return self.get_length()

    @staticmethod
    def dynamic() -> Dimension:
        return Dimension()

    def to_string(self) -> str:
        return str(self)

    @property
    def is_static(self) -> bool:
        return self.min_length == self.max_length

    @property
    def is_dynamic(self) -> bool:
        return not self.is_static

    def get_length(self) -> int:
        """Return the size. Raises DMLError if it is dynamic."""
        if not self.is_static:
            raise DMLError(f"Dimension.get_length: {self} is dynamic")
        return self.min_length

    def get_min_length(self) -> int:
        return self.min_length

    def get_max_length(self) -> int:
        return self.max_length

    def holds(self, size: int) -> bool:
        """Return whether ``size`` is allowed."""
        return self.min_length <= size and (self.max_length < 0 or size <= self.max_length)

    def compatible(self, other: Dimension | int) -> bool:
        """Return whether some size is allowed by both."""
        second = other if isinstance(other, Dimension) else Dimension(other)
        return not (0 <= self.max_length < second.min_length or 0 <= second.max_length < self.min_length)


class Shape(list[int]):
    """The sizes of a tensor; equal to a list or tuple of the same numbers."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None

    def __str__(self) -> str:
        return f"[{','.join(map(str, self))}]"

    def __repr__(self) -> str:
        return f"<Shape: {self}>"

    def to_string(self) -> str:
        return str(self)


@with_refused_names
class PartialShape:
    """Sizes that may be dynamic.

    dimensions: each is a Dimension, a number (-1 is dynamic) or a range (1, 8); or all are one text, "1,3,?,?".
    """

    def __init__(self, dimensions: Iterable[Any] | str = ()) -> None:
        given = _parsed(dimensions) if isinstance(dimensions, str) else dimensions
        self._dimensions = [_dimension(item) for item in given]

    def __repr__(self) -> str:
        return f"<PartialShape: {self}>"

    def __str__(self) -> str:
        return f"[{','.join(map(str, self._dimensions))}]"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | tuple):
            other = PartialShape(other)
        return isinstance(other, PartialShape) and self._dimensions == other._dimensions

    def __hash__(self) -> int:
        return hash(str(self))

    def __len__(self) -> int:
        return len(self._dimensions)

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self._dimensions)

    def __getitem__(self, index: Any) -> Any:
        found = self._dimensions[index]
        return PartialShape(found) if isinstance(found, list) else found

    def __setitem__(self, index: int, value: Any) -> None:
        self._dimensions[index] = _dimension(value)

    def to_string(self) -> str:
        return str(self)

    @staticmethod
    def dynamic(rank: int | Dimension | None = None) -> PartialShape:
        """Return a shape of dynamic sizes. Raises DMLError if the rank is dynamic too."""
        if rank is None or (isinstance(rank, Dimension) and rank.is_dynamic):
            raise DMLError("PartialShape.dynamic: the number of dimensions must be given")
        return PartialShape([-1] * (rank.get_length() if isinstance(rank, Dimension) else rank))

    @property
    def rank(self) -> Dimension:
        return Dimension(len(self))

    @property
    def is_static(self) -> bool:
        return all(item.is_static for item in self)

    @property
    def is_dynamic(self) -> bool:
        return not self.is_static

    @property
    def all_non_negative(self) -> bool:
        return True

    def get_dimension(self, index: int) -> Dimension:
        return self._dimensions[index]

    def to_shape(self) -> Shape:
        """Return the sizes. Raises DMLError if one is dynamic."""
        return Shape(item.get_length() for item in self)

    get_shape = to_shape

    def get_min_shape(self) -> Shape:
        return Shape(item.min_length for item in self)

    def get_max_shape(self) -> Shape:
        """Return the largest sizes; 2**63 - 1 means no limit."""
        return Shape(2**63 - 1 if item.max_length < 0 else item.max_length for item in self)

    def compatible(self, other: PartialShape) -> bool:
        return len(self) == len(other) and all(a.compatible(b) for a, b in zip(self, other, strict=True))


def _parsed(text: str) -> list[Any]:
    items = [item.strip() for item in text.strip().strip("[]").split(",") if item.strip()]
    return [[_number(part) for part in item.split("..")] if ".." in item else _number(item) for item in items]


def _number(text: str) -> int:
    if text in ("?", "-1", ""):
        return -1
    if not text.isdecimal():
        raise DMLError(f"PartialShape: takes numbers, ? and ranges such as 1..8, found {text!r}")
    return int(text)


def _dimension(given: Any) -> Dimension:
    if isinstance(given, Dimension):
        return given
    try:
        if isinstance(given, list | tuple) and len(given) == 2:
            return Dimension(int(given[0]), int(given[1]))
        return Dimension(*_parsed(given)) if isinstance(given, str) else Dimension(int(given))
    except (TypeError, ValueError):
        raise DMLError(f"PartialShape: takes numbers, Dimensions and pairs of limits, found {given!r}") from None
