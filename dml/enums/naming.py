"""Look-up of enumerators by name: with or without the enumeration's common prefix, in any case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cache
from typing import TypeVar

from ..errors import DMLError

_Enum = TypeVar("_Enum", bound=Enum)


@cache
def prefix_of(kind: type[Enum]) -> str:
    """Return the common prefix of an enumeration's names: DML_OPERATOR_ for DML_OPERATOR_TYPE."""
    name = kind.__name__
    for start in (f"{name}_", f"{name.removesuffix('S')}_", f"{name.removesuffix('_TYPE')}_"):
        if all(member.startswith(start) for member in kind.__members__):
            return start
    return ""


def short_name(enumerator: Enum) -> str:
    """Return an enumerator's name without the prefix: FLOAT32, GRU, ARGMAX, 3_0."""
    return (enumerator.name or str(enumerator.value)).removeprefix(prefix_of(type(enumerator)))


def by_name(kind: type[_Enum], text: str) -> _Enum | None:
    """Return the enumerator that a text names, such as DML_FEATURE_LEVEL_3_0, 3_0 or 3.0; None if there is none."""
    name = text.strip().upper().replace(".", "_")
    members = kind.__members__
    return members[name] if name in members else members.get(prefix_of(kind) + name)


def named(kind: type[_Enum], text: str, where: str) -> _Enum:
    """Return the enumerator that a text names. Raises DMLError, starting with ``where``, with similar names."""
    found = by_name(kind, text)
    if found is None:
        raise DMLError(f"{where}: must be a {kind.__name__}, found {text!r}{nearby(kind, text)}")
    return found


def nearby(kind: type[Enum], text: str) -> str:
    """Return the end of an error message for an unknown enumerator: similar names, if any."""
    close = near(text.removeprefix(prefix_of(kind)), short_names(kind))
    return f"; near it: {', '.join(close[:8])}{', ...' if len(close) > 8 else ''}" if close else ""


def short_names(kind: type[Enum]) -> list[str]:
    """Return an enumeration's names, without the prefix, in its order."""
    return [name.removeprefix(prefix_of(kind)) for name in kind.__members__]


def near(text: str, known: Iterable[str]) -> list[str]:
    """Return the names that ``text`` may mean.

    First come names with a word that begins with the text (GELU: ACTIVATION_GELU), in the order of ``known``; then
    names that contain it anywhere, also across words (MAXPOOL); then names within a small edit distance, as a whole or
    in consecutive words (SOFTMX: every SOFTMAX), nearest and shortest first.
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
    return [other for index, (distance, other) in enumerate(close) if distance == least or index < 3]


def _runs(name: str) -> list[str]:
    """Return all runs of consecutive words of a name: LOG, LOG_SOFTMAX, SOFTMAX."""
    words = name.split("_")
    return ["_".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)]


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the number of letters to insert, delete, replace or swap with a neighbour; at most limit + 1."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, last = row, before
        row = [i]
        for j, wanted in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], limit + 1)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message for an unknown name: a similar known name, if any.

    Case, CamelCase and C's prefix make no difference: DMLCreateDevice1 is create_device.
    """
    from difflib import get_close_matches  # imported here because only errors need it, and it is slow to import

    names = list(known)
    in_snake_case = snake_case(name).removeprefix("dml_").rstrip("0123456789")
    if in_snake_case in names:
        return f"; did you mean {in_snake_case}?"
    by_letters = {item.lower(): item for item in names}
    close = get_close_matches(name.lower(), by_letters, n=1, cutoff=0.7)
    return f"; did you mean {by_letters[close[0]]}?" if close else ""


def no_attribute(owner: object, name: str, known: Iterable[str], instead: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that an object lacks, with the name or the text that replaces it here.

    known: names that exist. instead: what to write for other libraries' names, by name in snake_case.
    """
    hint = ""
    if not name.startswith("_"):
        other = instead.get(snake_case(name))
        hint = f"; {other}" if other else did_you_mean(name, known)
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=owner)


def snake_case(name: str) -> str:
    """Convert CamelCase to snake_case: InputPixelOffsets to input_pixel_offsets, DMLCreateDevice to
    dml_create_device."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
