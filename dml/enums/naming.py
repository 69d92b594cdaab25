"""Enumerators by name: in full or without what all names of the enumeration begin with, in any case."""

from __future__ import annotations

import re
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
    """The names that ``text`` may stand for.

    Those with a word that begins with it, in their order (GELU: ACTIVATION_GELU), else those that hold it anywhere,
    also across words (MAXPOOL); else those with the fewest letters to change, in the whole or in a run of words
    (SOFTMX: every SOFTMAX), the shortest first.
    """
    name = text.strip().upper().replace(".", "_")
    names = list(known)
    if not name:
        return []
    joined = name.replace("_", "")
    found = (
        [other for other in names if f"_{name}" in f"_{other}"]
        or [other for other in names if name in other]
        or [other for other in names if joined in other.replace("_", "")]
    )
    if found:
        return found
    limit = max(1, len(name) // 3)
    far = [(min(edit_distance(name, run, limit) for run in _runs(other)), other) for other in names]
    least = min((distance for distance, _ in far), default=limit + 1)
    close = sorted((pair for pair in far if pair[0] <= limit), key=lambda pair: (pair[0], len(pair[1])))
    return [other for at, (distance, other) in enumerate(close) if distance == least or at < 3]


def _runs(name: str) -> list[str]:
    """A name and all runs of its words: LOG_SOFTMAX, LOG, SOFTMAX."""
    words = name.split("_")
    return ["_".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)]


def edit_distance(one: str, other: str, limit: int) -> int:
    """Letters to insert, leave out, replace or swap with their neighbours; limit + 1 for all that is above."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last = row, before
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], limit + 1)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name, where one that is known is near.

    Case tells no names apart, nor do C's CamelCase and its prefix: DMLCreateDevice1 is create_device.
    """
    from difflib import get_close_matches  # only where something is wrong already: it takes long to import

    names = list(known)
    in_snake_case = snake_case(name).removeprefix("dml_").rstrip("0123456789")
    if in_snake_case in names:
        return f"; did you mean {in_snake_case}?"
    by_letters = {one.lower(): one for one in names}
    close = get_close_matches(name.lower(), by_letters, n=1, cutoff=0.7)
    return f"; did you mean {by_letters[close[0]]}?" if close else ""


def snake_case(name: str) -> str:
    """CamelCase in snake_case: InputPixelOffsets is input_pixel_offsets, DMLCreateDevice dml_create_device."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
