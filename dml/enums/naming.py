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
    close = similar_names(text.removeprefix(prefix_of(kind)), short_names(kind))
    return f"; near it: {', '.join(close[:8])}{', ...' if len(close) > 8 else ''}" if close else ""


def short_names(kind: type[Enum]) -> list[str]:
    """Return an enumeration's names, without the prefix, in its order."""
    return [name.removeprefix(prefix_of(kind)) for name in kind.__members__]


#: Words of other libraries, and the words of DirectML's names that they may mean.
_ALIASES = {
    "BOOL": "UINT8",
    "CLAMP": "CLIP",
    "CONCAT": "JOIN",
    "CONV2D": "CONVOLUTION",
    "DOUBLE": "FLOAT64",
    "FP16": "FLOAT16",
    "FP32": "FLOAT32",
    "GROUPNORM": "MEAN_VARIANCE_NORMALIZATION",
    "HALF": "FLOAT16",
    "LAYERNORM": "MEAN_VARIANCE_NORMALIZATION",
    "MATMUL": "GEMM",
    "MEAN": "AVERAGE",
    "RESIZE": "RESAMPLE",
    "SILU": "SWISH",
}


def similar_names(text: str, known: Iterable[str]) -> list[str]:
    """Return the names that ``text`` may mean.

    First come names with a word that begins with the text (GELU: ACTIVATION_GELU), in the order of ``known``.
    Then names that contain a text of more than four letters, or whose words begin with it when joined (MAXPOOL);
    then other libraries' words (MATMUL: GEMM); then names within a small edit distance, as a whole or in consecutive
    words (SOFTMX: every SOFTMAX), nearest and shortest first.
    """
    name = text.strip().upper().replace(".", "_")
    names = list(known)
    return (_containing(name, names) or _similar(name, names)) if name else []


def _containing(name: str, names: list[str]) -> list[str]:
    joined = name.replace("_", "")
    alias = _ALIASES.get(joined)
    return (
        [other for other in names if f"_{name}" in f"_{other}"]
        or [other for other in names if len(name) > 4 and name in other]
        or [other for other in names if any(run.replace("_", "").startswith(joined) for run in _runs(other))]
        or (_containing(alias, names) if alias else [])
    )


def _similar(name: str, names: list[str]) -> list[str]:
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

    Case, CamelCase and C's prefix make no difference: DMLCreateDevice1 is create_device. Prefix and suffix of a kind of
    names do not count as similar: DML_RELU_OPERATOR_DESC is DML_ACTIVATION_RELU_OPERATOR_DESC, not
    DML_GRU_OPERATOR_DESC. A private name gets no suggestion: inspect, pytest and others ask each module for some, and
    the search takes long.
    """
    if name.startswith("_"):
        return ""
    from difflib import get_close_matches  # imported here because only errors need it, and it is slow to import

    names = list(known)
    plain = snake_case(re.sub("^(I?DML|D3D12)_?", "", name, flags=re.IGNORECASE)).rstrip("0123456789")
    for other in names:
        if plain == other or (plain == other.lower() and other[0].isupper()):
            return f"; did you mean {other}?"
    by_letters = {item.upper(): item for item in names}
    text = name.upper()
    start = _shared(text, by_letters)
    same_start = [other for other in by_letters if other.startswith(start)]
    end = _shared(text[len(start) + 1 :][::-1], [other[::-1] for other in same_start])[::-1]
    inner = {other[len(start) : len(other) - len(end)]: other for other in same_start if other.endswith(end)}
    word = text[len(start) : len(text) - len(end)]
    close = sorted(_containing(word, list(inner)), key=len) if len(word) > 2 else []
    close = close or (_similar(word, list(inner)) if len(word) > 3 else [])
    close = close or get_close_matches(word, inner, n=1, cutoff=0.7)
    return f"; did you mean {by_letters[inner[close[0]]]}?" if close else ""


def _shared(text: str, names: Iterable[str]) -> str:
    """Return the longest start of a text, up to an underscore, that several names share."""
    for end in range(len(text), 0, -1):
        if text[end - 1] == "_" and sum(name.startswith(text[:end]) for name in names) > 1:
            return text[:end]
    return ""


def no_attribute(owner: object, name: str, known: Iterable[str], instead: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that an object lacks, with the name or the text that replaces it here.

    known: names that exist. instead: what to write for other libraries' names, by name in snake_case.
    """
    hint = ""
    if not name.startswith("_"):
        other = instead.get(snake_case(name))
        hint = f"; {other}" if other else did_you_mean(name, known)
    return attribute_error(f"{type(owner).__name__!r} object has no attribute {name!r}", hint, name, owner)


def attribute_error(text: str, hint: str, name: str, owner: object) -> AttributeError:
    """Return the error for an attribute. With a hint it does not refer to its owner, among whose attributes a traceback
    would look for another hint."""
    return AttributeError(text + hint, name=name, obj=None if hint else owner)


def snake_case(name: str) -> str:
    """Convert CamelCase to snake_case: InputPixelOffsets to input_pixel_offsets, DMLCreateDevice to
    dml_create_device."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
