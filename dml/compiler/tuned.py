"""What was measured on a device: which variant is fastest for a class of work. Data that a Target carries.

selection asks it (``selection.tuned``); without an answer the rules there decide. `dml tune` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from dml.errors import DMLError

#: Of what ``as_json`` writes. Another one is not read.
FORMAT = 1
#: Choices of a table, and letters of a name, at most: selection has some dozens of short ones.
MOST_CHOICES, MOST_LETTERS = 1024, 200


@dataclass(frozen=True)
class TunedChoice:
    """Of a family's kernels, the variant for a class of work, and what it took beside what the rules say."""

    family: str
    work: str
    variant: str
    seconds: float
    rule: str
    rule_seconds: float


@dataclass(frozen=True)
class Tuned:
    """A table of choices, one for each class of work that was measured."""

    choices: tuple[TunedChoice, ...] = ()

    @cached_property
    def _variants(self) -> dict[tuple[str, str], str]:
        return {(choice.family, choice.work): choice.variant for choice in self.choices}

    def __bool__(self) -> bool:
        """Whether there is anything to ask it for."""
        return bool(self.choices)

    def variant(self, family: str, work: str, rule: str, variants: Sequence[str]) -> str | None:
        """The name of the fastest for this work, None where that was not measured.

        rule: the one without this. variants: all that the device could do; a name that is not among them counts for
        nothing.
        """
        return self._variants.get((family, work))

    def having(self, *choices: TunedChoice) -> Tuned:
        """This and these choices, which take the place of older ones of the same work; by family and work."""
        found = {(choice.family, choice.work): choice for choice in (*self.choices, *choices)}
        return Tuned(tuple(found[key] for key in sorted(found)))


#: Nothing was measured.
NOTHING_TUNED = Tuned()


def as_json(table: Tuned, device: str) -> bytes:
    """What ``from_json`` reads. device: what names the device and driver."""
    choices = [asdict(choice) for choice in table.choices]
    return json.dumps({"format": FORMAT, "device": device, "choices": choices}).encode()


def from_json(data: bytes, device: str) -> Tuned:
    """The table. Raises DMLError, which says why, for what ``as_json`` did not write, wrote in another version, or for
    another device."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise DMLError(f"it is damaged: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DMLError(f"it is not of format {FORMAT}")
    if found.get("device") != device:
        raise DMLError("it is another device's")
    choices = found.get("choices")
    if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
        raise DMLError(f"it has no list of up to {MOST_CHOICES} choices")
    return NOTHING_TUNED.having(*map(_choice, choices))


def _choice(found: Any) -> TunedChoice:
    wanted = {field.name: field.type for field in fields(TunedChoice)}
    if not isinstance(found, dict) or found.keys() != wanted.keys():
        raise DMLError("a choice has other fields")
    for name, kind in wanted.items():
        value = found[name]
        if kind == "str" and not (isinstance(value, str) and len(value) <= MOST_LETTERS and value.isprintable()):
            raise DMLError(f"a choice's {name} is no short text")
        if kind == "float" and not (isinstance(value, float) and 0.0 < value < 1e6):
            raise DMLError(f"a choice's {name} is no time")
    return TunedChoice(**found)
