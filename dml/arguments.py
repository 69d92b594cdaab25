"""Argument checks of public functions, from their annotations: misuse raises a DMLError."""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntFlag
from typing import Any, NoReturn, ParamSpec, SupportsIndex, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from .enums.naming import did_you_mean, named
from .errors import DMLError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Test = Callable[[Any], bool]


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function so that arguments of other types than annotated raise a DMLError that names the argument.

    A class accepts its instances; ``int`` any index, except booleans; sequences and mappings are checked item by item.
    An enumeration also accepts members' numbers and names, which become members (``X | str`` tells type checkers); a
    flags enumeration accepts any combination of its bits. A one-dimensional array is a sequence, text is not. Any,
    protocols, array-likes and names imported only for type checkers accept everything. An unknown keyword raises a
    DMLError that names a similar one.
    """
    parameters: dict[str, _Parameter] = {}
    positional: list[_Parameter] = []
    takes_any = bool(function.__code__.co_flags & inspect.CO_VARKEYWORDS)
    takes_more = bool(function.__code__.co_flags & inspect.CO_VARARGS)
    most = function.__code__.co_argcount

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if not parameters:
            found = _parameters(function)
            positional.extend(found.values())
            parameters.update(found)
        if len(args) > most and not takes_more:
            raise _too_many(function, args)
        converted: list[Any] | None = None
        for index, (value, parameter) in enumerate(zip(args, positional, strict=False)):
            if parameter.takes is not None:
                if parameter.rest:
                    converted = [*args[:index], *map(parameter.check_one, args[index:])]
                elif not parameter.takes(value):
                    converted = list(args) if converted is None else converted
                    converted[index] = parameter.named(value)
        for name, value in kwargs.items():
            parameter_ = parameters.get(name)
            if parameter_ is None:
                if not takes_any:
                    where = function.__qualname__.removesuffix(".__init__")
                    raise DMLError(f"{where}: has no parameter {name}{did_you_mean(name, parameters)}")
            elif parameter_.takes is not None and not parameter_.takes(value):
                kwargs[name] = parameter_.named(value)  # kwargs is a new dictionary in each call
        return function(*(args if converted is None else converted), **kwargs)

    return call


def counted(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function so that too many positional arguments raise a DMLError; nothing else is checked."""
    most = function.__code__.co_argcount

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        if len(args) > most:
            raise _too_many(function, args)
        return function(*args, **kwargs)

    return call


def _too_many(function: Callable[..., Any], args: Sequence[Any]) -> DMLError:
    """Return the error for more positional arguments than parameters; C's counts before arrays are a usual reason."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    given = args
    if names[:1] == ("self",):
        names, given = names[1:], args[1:]
    counts = any(
        isinstance(following, list | tuple) and is_number(count, len(following))
        for count, following in itertools.pairwise(given)
    )
    hint = "; a sequence has its own length: leave out C's count" if counts else ""
    where = function.__qualname__.removesuffix(".__init__")
    return DMLError(f"{where}: takes {', '.join(names) or 'nothing'}, found {len(given)} arguments{hint}")


def field_checks(make: Callable[..., Any], structure: str) -> dict[str, Callable[[Any], Any]]:
    """Return a check per parameter of ``make``, a structure's constructor. A check returns the value; an enumerator's
    name becomes the enumerator."""
    return {
        name: replace(parameter, where=f"{structure}.{name}:").check_one
        for name, parameter in _parameters(make).items()
        if parameter.takes is not None
    }


@dataclass(frozen=True)
class _Parameter:
    """The check of one parameter. rest: it takes all further positional arguments. names: the enumeration whose members
    may be given by name."""

    where: str
    written: str
    takes: _Test | None
    rest: bool
    names: type[Enum] | None = None

    def check_one(self, value: Any) -> Any:
        """Check the value and return it; an enumerator's name becomes the enumerator."""
        return value if self.takes is None or self.takes(value) else self.named(value)

    def named(self, value: Any) -> Enum:
        """Return the enumerator named by a value of the wrong type."""
        if self.names is None or not isinstance(value, str):
            self.refuse(value)
        return named(self.names, value, self.where.removesuffix(":"))

    def refuse(self, value: Any) -> NoReturn:
        raise DMLError(f"{self.where} takes {self.written}, found {described(value)}")


def described(value: object) -> str:
    """Format a value for messages: short ones verbatim, else its type and its items' types."""
    if value is None or isinstance(value, str | int | float):
        return repr(value)[:80]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    kinds = sorted({type(item).__name__ for item in items})
    return f"{type(value).__name__}{' of ' + ', '.join(kinds) if kinds else ''}"


def _parameters(function: Callable[..., Any]) -> dict[str, _Parameter]:
    hints = typing.get_type_hints(function, localns=_Names(function))
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        written = parameter.annotation if isinstance(parameter.annotation, str) else str(hint)
        # an alias: show its meaning, since callers cannot know its name
        if written.isidentifier() and typing.get_origin(hint) in _UNIONS:
            members = map(_meaning, typing.get_args(hint))
            written = " | ".join((typing.get_origin(member) or member).__name__ for member in members)
        names = _enumeration(hint)
        takes = None if parameter.kind is parameter.VAR_KEYWORD else _test(hint, names)
        rest = parameter.kind is parameter.VAR_POSITIONAL
        where = function.__qualname__.removesuffix(".__init__")
        found[name] = _Parameter(f"{where}: {name}", written, takes, rest, names)
    return found


def _meaning(hint: Any) -> Any:
    """Resolve an alias made by a `type` statement; since NumPy 2.5, NDArray is one."""
    return getattr(typing.get_origin(hint) or hint, "__value__", hint)


def _enumeration(hint: Any) -> type[Enum] | None:
    """Return the integer enumeration in an annotation, alone or in a union."""
    for item in typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,):
        if isinstance(item, type) and issubclass(item, Enum) and issubclass(item, int):
            return item
    return None


def is_number(value: object, number: int) -> bool:
    """Whether a value, of any type, is an integer equal to ``number``."""
    return _is_index(value) and operator.index(value) == number


def check_unmasked(value: Any, where: str) -> None:
    """Raise DMLError, starting with ``where``, for a masked array with masked elements: np.asarray drops the mask."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        count = np.count_nonzero(np.ma.getmask(value))
        raise DMLError(
            f"{where}: takes arrays without masked elements, found a masked array of {value.dtype} with {count} of "
            f"{value.size} masked; array.filled(number) replaces them"
        )


def as_array(value: npt.ArrayLike, where: str) -> npt.NDArray[Any]:
    """Convert ``value`` to an array of numbers in native byte order. Raises DMLError, starting with ``where``, for
    anything else and for masked elements."""
    check_unmasked(value, where)
    try:
        given: Any = value
        foreign = hasattr(given, "__dlpack__") and not hasattr(given, "__array__")
        array = np.from_dlpack(given) if foreign else np.asarray(given)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise DMLError(f"{where}: takes an array, found {type(value).__name__} ({error})") from None
    if array.dtype.kind not in "biufV" or array.dtype.names or array.dtype.hasobject:  # V: types of ml_dtypes
        found = f"an array of {array.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise DMLError(f"{where}: takes an array of numbers, found {found}")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise DMLError(f"{where}: takes numbers of at most 64 bits, found an array of {array.dtype}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


class _Names(dict[str, Any]):
    """The names that a function's annotations use: those of its module. Names imported only for type checkers count as
    Any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self._globals = function.__globals__

    def __missing__(self, name: str) -> Any:
        return self._globals.get(name, getattr(builtins, name, Any))


_UNIONS = (typing.Union, types.UnionType)


def _test(hint: Any, names: type[Enum] | None = None) -> _Test | None:
    """Return a predicate for an annotation; None if it accepts everything. names: an enumeration to accept by name."""
    if hint is Any or hint is npt.ArrayLike or hint is npt.DTypeLike or hint is object or isinstance(hint, TypeVar):
        return None
    if hint is None or hint is type(None):
        return lambda value: value is None
    hint = _meaning(hint)
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS:
        tests = [_test(member) for member in of if member is not str or names is None]
        if None in tests:
            return None
        return _either([test for test in tests if test is not None])
    if origin in (Sequence, Iterable, list, tuple):
        return _sequence(origin, _test(of[0]))
    if origin in (Mapping, dict):
        key, item = _test(of[0]), _test(of[1])
        return lambda value: isinstance(value, Mapping) and _all(value, key) and _all(value.values(), item)
    if origin is type:
        # type[np.floating[Any]] names a parametrized class, which has no subclasses
        base = typing.get_origin(of[0]) or of[0]
        return lambda value: isinstance(value, type) and issubclass(value, base)
    kind = hint if origin is None else origin
    return _instance(kind) if isinstance(kind, type) else None


def _either(tests: Sequence[_Test]) -> _Test:
    def test_all(value: Any) -> bool:
        for test in tests:  # noqa: SIM110  # every call of a public function comes here: any() takes twice as long
            if test(value):
                return True
        return False

    return test_all


def _sequence(origin: Any, item: _Test | None) -> _Test:
    def test(value: Any) -> bool:
        if item is _is_index and type(value) in (tuple, list) and set(map(type, value)) <= {int}:
            return True
        if isinstance(value, str | bytes):
            return False
        if isinstance(value, np.ndarray):
            return value.ndim == 1 and _all(value, item)
        if isinstance(value, Sequence):
            return _all(value, item)
        return origin is Iterable and isinstance(value, Iterable)

    return test


def _all(values: Iterable[Any], test: _Test | None) -> bool:
    return test is None or all(map(test, values))


def _instance(kind: type[Any]) -> _Test | None:
    if getattr(kind, "_is_protocol", False):
        return None
    if kind is bool:
        return lambda value: isinstance(value, bool | np.bool_) or (_is_index(value) and value in (0, 1))
    if kind is int:
        return _is_index
    if kind is float:
        return lambda value: isinstance(value, float | np.floating) or _is_index(value)
    if issubclass(kind, IntFlag):
        unknown = ~sum(kind)
        return lambda value: _is_index(value) and not operator.index(value) & unknown
    if issubclass(kind, int) and issubclass(kind, Enum):
        return lambda value: isinstance(value, kind) or (_is_index(value) and _is_member(kind, value))
    return lambda value: isinstance(value, kind)


def _is_index(value: Any) -> TypeGuard[SupportsIndex]:
    if type(value) is int:
        return True
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_member(kind: type[Any], value: Any) -> bool:
    try:
        kind(operator.index(value))
    except ValueError:
        return False
    return True
