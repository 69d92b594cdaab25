"""Tuning results: the fastest variant for each class of work, carried by a Target.

`dml tune` writes them and selection reads them (``selection.tuned``); without an entry, selection's rules decide.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from dml.errors import DMLError

#: Version of the format of ``as_json``; other versions are not read.
FORMAT = 1
#: Limits of a table: number of choices, and letters of a name. Real tables have a few dozen short names.
MOST_CHOICES, MOST_LETTERS = 1024, 200


@dataclass(frozen=True)
class TunedChoice:
    """A family's measured variant for a class of work, with its time and that of the rules' variant."""

    family: str
    work: str
    variant: str
    seconds: float
    rule: str
    rule_seconds: float


@dataclass(frozen=True)
class Tuned:
    """A table of choices, one per measured class of work."""

    choices: tuple[TunedChoice, ...] = ()

    @cached_property
    def _variants(self) -> dict[tuple[str, str], str]:
        return {(choice.family, choice.work): choice.variant for choice in self.choices}

    def __bool__(self) -> bool:
        """Whether the table has any choice."""
        return bool(self.choices)

    def variant(self, family: str, work: str, rule: str, variants: Sequence[str]) -> str | None:
        """Return the fastest variant for this work; None if not measured.

        rule: the variant without tuning. variants: all that the device can run; other names are ignored.
        """
        return self._variants.get((family, work))

    def with_choices(self, *choices: TunedChoice) -> Tuned:
        """Return the table with these choices, which replace older ones of the same family and work."""
        found = {(choice.family, choice.work): choice for choice in (*self.choices, *choices)}
        return Tuned(tuple(found[key] for key in sorted(found)))


#: An empty table.
NOTHING_TUNED = Tuned()


def as_json(table: Tuned, device: str) -> bytes:
    """Serialize for ``from_json``. device: identifies device and driver."""
    choices = [asdict(choice) for choice in table.choices]
    return json.dumps({"format": FORMAT, "device": device, "choices": choices}).encode()


def from_json(data: bytes, device: str) -> Tuned:
    """Parse a table. Raises DMLError with the reason for anything but ``as_json``'s output in this version for this
    device."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise DMLError(f"it is damaged: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DMLError(f"its format is not {FORMAT}")
    if found.get("device") != device:
        raise DMLError("it was made for another device")
    choices = found.get("choices")
    if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
        raise DMLError(f"it must have a list of at most {MOST_CHOICES} choices")
    return NOTHING_TUNED.with_choices(*map(_choice, choices))


def _choice(found: Any) -> TunedChoice:
    wanted = {field.name: field.type for field in fields(TunedChoice)}
    if not isinstance(found, dict) or found.keys() != wanted.keys():
        raise DMLError("a choice has missing or unknown fields")
    for name, kind in wanted.items():
        value = found[name]
        if kind == "str" and not (isinstance(value, str) and len(value) <= MOST_LETTERS and value.isprintable()):
            raise DMLError(f"a choice's {name} must be a short text")
        if kind == "float" and not (isinstance(value, float) and 0.0 < value < 1e6):
            raise DMLError(f"a choice's {name} must be a number of seconds")
    return TunedChoice(**found)
