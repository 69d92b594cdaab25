"""Construction of directml.h's structures: the order of their fields, and their types.

Fields are given by name, or by position in C's order. Counts follow from their arrays and may be omitted, also by
position: an array in the place of C's first count means that all counts are omitted. An unknown, repeated or missing
field and a value of another type raise a DMLError at once. The validator checks whether values are in range.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from .arguments import described, field_checks, is_number
from .enums import DML_TENSOR_DATA_TYPE
from .enums.naming import by_name, did_you_mean, nearby
from .errors import DMLError
from .traced import TracedInt

_Kind = TypeVar("_Kind")
_Enum = TypeVar("_Enum", bound=Enum)


_LEFT_OUT = object()


class HashedOnce:
    """A lookup key with the equality of its value, hashed once."""

    __slots__ = ("_hash", "_value")

    def __init__(self, value: Hashable) -> None:
        self._value = value
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, HashedOnce) and self._hash == other._hash and self._value == other._value


class Signature:
    """The fields of a structure.

    in_c: all, in directml.h's order. short: the order without the counts before arrays, or with counts last. defaults:
    values of optional fields.
    """

    def __init__(self, name: str, in_c: tuple[str, ...], short: tuple[str, ...], defaults: dict[str, Any]) -> None:
        self.name = name
        self._in_c = in_c
        self._short = short
        self._fields = frozenset(in_c)
        self._required = [field for field in in_c if field not in defaults]
        #: The first position at which the orders differ: an array in the short one, a number in C's.
        self._differs = next(
            (index for index, pair in enumerate(zip(in_c, short, strict=False)) if pair[0] != pair[1]), None
        )

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the values by field. Raises DMLError if they do not match the structure."""
        values = self._by_position(args) if args else {}
        for field in kwargs:
            if field not in self._fields:
                raise DMLError(f"{self.name}: has no field {field}{did_you_mean(field, self._in_c)}")
            if field in values:
                raise DMLError(f"{self.name}.{field}: given both by position and by name")
        values.update(kwargs)
        for field in self._required:
            if field not in values:
                missing = ", ".join(field for field in self._required if field not in values)
                if self._has_number_for_array(args):
                    index = self._differs or 0
                    raise DMLError(
                        f"{self.name}.{self._short[index]}: must be a sequence, found {args[index]!r}; as the "
                        f"{self._in_c[index]} of C's order it leaves out {missing}{self._orders()}"
                    )
                raise DMLError(f"{self.name}: {missing} must be given{self._orders() if args else ''}")
        return values

    def takes_in_order(self, count: int) -> bool:
        """Whether `count` positional values suffice, in either order."""
        return self._differs is None and len(self._required) <= count <= len(self._in_c)

    def _by_position(self, args: tuple[Any, ...]) -> dict[str, Any]:
        index = self._differs
        order = self._in_c if index is None or len(args) <= index or _may_be_count(args[index]) else self._short
        if len(args) > len(order):
            raise DMLError(f"{self.name}: has {len(order)} fields, found {len(args)} values{self._orders()}")
        return dict(zip(order, args, strict=False))

    def _has_number_for_array(self, args: tuple[Any, ...]) -> bool:
        """Whether a number is given at the position of an array in the short order and of a count in C's."""
        return self._differs is not None and len(args) > self._differs and _may_be_count(args[self._differs])

    def _orders(self) -> str:
        either = "" if self._differs is None else f"({', '.join(self._short)}) or, as in C, "
        return f"; by position: {either}({', '.join(self._in_c)})"


def _may_be_count(value: object) -> bool:
    return value is None or (hasattr(type(value), "__index__") and not isinstance(value, np.ndarray))


def structure(*in_c: str, converted: tuple[str, ...] = ()) -> Callable[[type[_Kind]], type[_Kind]]:
    """Decorate a dataclass as a structure of directml.h, whose values are checked against its annotations.

    in_c: C's field order if it differs from the dataclass's. converted: fields that ``__post_init__`` checks itself,
    because it accepts more types than it stores.
    """

    def decorate(kind: type[_Kind]) -> type[_Kind]:
        fields = dataclasses.fields(kind)  # type: ignore[arg-type] # a dataclass, which no type expresses
        names = tuple(field.name for field in fields)
        defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
        signature = Signature(kind.__name__, in_c or names, names, defaults)
        make = kind.__init__
        checks: dict[str, Callable[[Any], Any]] | None = None
        in_order: list[tuple[Callable[[Any], Any] | None, Any]] = []

        @functools.wraps(make)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            nonlocal checks
            if checks is None:  # deferred, since annotations may name later definitions of their module
                checked_names = set(names) - set(converted)
                checks = {
                    name: check for name, check in field_checks(make, kind.__name__).items() if name in checked_names
                }
                in_order.extend((checks.get(name), defaults.get(name, _LEFT_OUT)) for name in names)
            if not kwargs and signature.takes_in_order(len(args)):
                make(self, *(
                    value if check is None or value is default else check(value)
                    for value, (check, default) in zip(args, in_order, strict=False)
                ))  # fmt: skip
                return
            values = signature.bind(args, kwargs)
            for name, check in checks.items():
                value = values.get(name, _LEFT_OUT)
                if value is not _LEFT_OUT and value is not defaults.get(name, _LEFT_OUT):
                    values[name] = check(value)
            make(self, **values)

        kind.__init__ = __init__  # type: ignore[method-assign]  # the same arguments, checked
        return kind

    return decorate


def convert(where: str, value: Any, converter: Callable[[Any], Any], wanted: str) -> Any:
    """Convert a value, or raise the error of ``not_converted``."""
    try:
        return converter(value)
    except (TypeError, ValueError, OverflowError):
        raise not_converted(where, value, wanted) from None


def not_converted(where: str, value: Any, wanted: str, kind: type[Enum] | None = None) -> DMLError:
    """Return the error for a failed conversion: ``where`` must be ``wanted``.

    kind: the expected enumeration; similar names of it are suggested.
    """
    hint = nearby(kind, value) if kind is not None and isinstance(value, str) else ""
    if kind is DML_TENSOR_DATA_TYPE and isinstance(value, type | np.dtype):
        hint = "; dml.data_type_of(dtype) is that of a NumPy type"
    return DMLError(f"{where}: must be {wanted}, found {described(value)}{hint}")


def integer(value: Any) -> int:
    """Convert any index except a boolean to an int. Raises TypeError."""
    if type(value) is int:
        return value
    if isinstance(value, bool):
        raise TypeError
    return value if type(value) is TracedInt else operator.index(value)


def sequence(item: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a converter of ordered iterables other than text into tuples, with a converter for the items."""

    def convert_all(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes | dict | set | frozenset):
            raise TypeError
        return tuple(map(item, value))

    return convert_all


_integers = sequence(integer)


def integers(value: Any) -> tuple[int, ...]:
    """Convert to a tuple of ints."""
    return value if type(value) is tuple and set(map(type, value)) <= {int} else _integers(value)


def enumerator(kind: type[_Enum]) -> Callable[[Any], _Enum]:
    """Return a converter into members of an enumeration; it takes their numbers and names too. Unknown names raise a
    ValueError."""

    def convert_number(value: Any) -> _Enum:
        if type(value) is kind:
            return value
        if isinstance(value, str):
            found = by_name(kind, value)
            if found is None:
                raise ValueError
            return found
        return kind(integer(value))

    return convert_number


class Derived(int):
    """A number that follows from other fields: ``dataclasses.replace`` passes it on, and it is recomputed."""

    __slots__ = ()


def derive_count(desc: Any, field: str, length: int, counted: str) -> None:
    """Fill in an omitted count; refuse one that contradicts the length of the field ``counted``."""
    given = getattr(desc, field)
    if given is None or type(given) is Derived:
        object.__setattr__(desc, field, Derived(length) if type(length) is int else length)
    elif not is_number(given, length):
        raise DMLError(
            f"{type(desc).__name__}.{field}: must be {length}, found {given!r}: {counted} has {length} item(s)"
        )
