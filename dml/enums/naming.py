"""Enumerators by name: in full or without what all names of the enumeration begin with, in any case."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache
from typing import TypeVar

from ..errors import DMLError

_Enum = TypeVar("_Enum", bound=Enum)


@cache
def prefix_of(kind: type[Enum]) -> str:
    """What the names of an enumeration begin with: DML_OPERATOR_ for DML_OPERATOR_TYPE."""
    name = kind.__name__
    for start in (f"{name}_", f"{name.removesuffix('S')}_", f"{name.removesuffix('_TYPE')}_"):
        if all(member.startswith(start) for member in kind.__members__):
            return start
    return ""


def short_name(enumerator: Enum) -> str:
    """An enumerator without its enumeration's prefix: FLOAT32, GRU, ARGMAX, 3_0."""
    return (enumerator.name or str(enumerator.value)).removeprefix(prefix_of(type(enumerator)))


def by_name(kind: type[_Enum], text: str) -> _Enum | None:
    """The enumerator that a text names: DML_FEATURE_LEVEL_3_0, 3_0, 3.0; None where there is none."""
    name = text.strip().upper().replace(".", "_")
    members = kind.__members__
    return members[name] if name in members else members.get(prefix_of(kind) + name)


def named(kind: type[_Enum], text: str, where: str) -> _Enum:
    """The enumerator that a text names. Raises DMLError, starting with ``where``, with the names near it."""
    found = by_name(kind, text)
    if found is None:
        raise DMLError(f"{where}: must be a {kind.__name__}, found {text!r}{nearby(kind, text)}")
    return found


def nearby(kind: type[Enum], text: str) -> str:
    """The end of a message about a text that names no enumerator: those whose names are near, if any."""
    close = near(text.removeprefix(prefix_of(kind)), short_names(kind))
    return f"; near it: {', '.join(close[:8])}{', ...' if len(close) > 8 else ''}" if close else ""


def short_names(kind: type[Enum]) -> list[str]:
    """The names of an enumeration, each without the prefix, in the order of the enumeration."""
    return [name.removeprefix(prefix_of(kind)) for name in kind.__members__]


def near(text: str, known: Iterable[str]) -> list[str]:
    """The names that ``text`` may stand for, in their order: those with a word that begins with it, else those that
    hold it anywhere, else the three most alike. GELU is near ACTIVATION_GELU, CONV near every CONVOLUTION."""
    name = text.strip().upper().replace(".", "_")
    names = list(known)
    if not name:
        return []
    found = [other for other in names if f"_{name}" in f"_{other}"] or [other for other in names if name in other]
    if found:
        return found
    from difflib import get_close_matches  # only where something is wrong already: it takes long to import

    words = {word for other in names for word in other.split("_")}
    close = set(get_close_matches(name, words, n=1, cutoff=0.75))
    return get_close_matches(name, names, n=3) or [other for other in names if close & set(other.split("_"))]
