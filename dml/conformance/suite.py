"""Which cases a run has: its size, seed, filter and shard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dml.compiler.target import Target
from dml.conformance.case import Case, cases
from dml.conformance.coverage import Coverage, coverage
from dml.conformance.options import OptionError
from dml.conformance.subject import Subject, subjects
from dml.enums.naming import did_you_mean
from dml.errors import DMLError

#: Size -> how many parameters' labels are all combined: each label, every pair, every triple.
SIZES = {"quick": 1, "default": 2, "full": 3}
#: Size -> the part of the variants of kernels that a run enters; of quick ones none is asked for.
COVERED = {"default": 0.9, "full": 1.0}


@dataclass(frozen=True)
class Suite:
    """What was asked for; two equal ones have the same cases.

    filter: operators' names or parts of cases' ids, of which one must fit. only: exactly these cases, by id; then size
    and filter choose none. shard: the i-th of n parts, every n-th case.
    """

    size: str = "default"
    seed: int = 0
    filter: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    shard: tuple[int, int] = (1, 1)

    def cases(self) -> list[str]:
        """The ids of its cases, by operator. Raises OptionError for a filter or a case that fits nothing."""
        return self.part(self._whole)

    def part(self, whole: Sequence[str]) -> list[str]:
        """The shard's part of cases."""
        return list(whole[self.shard[0] - 1 :: self.shard[1]])

    @cached_property
    def _whole(self) -> list[str]:
        """The cases of all shards."""
        if self.only:
            try:
                return [Case.parse(text).id for text in self.only]
            except DMLError as error:
                raise OptionError(error.message) from None
        found = [case.id for subject in self._subjects() for case in cases(subject, SIZES[self.size], self.seed)]
        for text in self.filter:
            if not any(_fits(text, case) for case in found):
                raise OptionError(f"--filter {text}: no case of {self.size} size fits{did_you_mean(text, subjects())}")
        return [case for case in found if not self.filter or any(_fits(text, case) for text in self.filter)]

    def coverage(self, target: Target) -> Coverage | None:
        """The kernels that selection can choose for these operators on a target, and the cases to enter them.

        None for a quick suite, and where what is asked for is not whole operators.
        """
        if self.only or self.size not in COVERED or (self.filter and not self._named):
            return None
        return coverage(target, self._whole, self._subjects(), COVERED[self.size], self.seed)

    @property
    def _named(self) -> list[str]:
        """The operators that the filter names; none where it has anything else."""
        names = [text.upper() for text in self.filter]
        return list(dict.fromkeys(names)) if all(name in subjects() for name in names) else []

    def _subjects(self) -> Sequence[Subject]:
        """Those that a case can be of: making a subject's cases takes time."""
        known = subjects()
        return [known[name] for name in self._named] if self._named else list(known.values())

    def record(self, count: int) -> dict[str, Any]:
        """It as it stands in a report; count: of its cases."""
        only = {"only": list(self.only)} if self.only else {}
        return {
            "size": self.size,
            "seed": self.seed,
            "filter": list(self.filter),
            **only,
            "shard": "/".join(map(str, self.shard)),
            "cases": count,
        }


def from_record(record: Mapping[str, Any]) -> Suite:
    """The suite of a journal."""
    return Suite(
        record["size"], record["seed"], tuple(record["filter"]), tuple(record.get("only", ())),
        parse_shard(record["shard"]),
    )  # fmt: skip


def parse_shard(text: str) -> tuple[int, int]:
    """2/4 -> (2, 4). Raises OptionError for anything else."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise OptionError(f"--shard {text}: must be i/n, the i-th of n parts, from 1/n to n/n")
    return int(found[1]), int(found[2])


def _fits(text: str, case: str) -> bool:
    """An operator's whole name is that operator alone; anything else a part of the id, in any case of letters."""
    operator = case.partition(":")[0]
    return operator == text.upper() if text.upper() in subjects() else text.lower() in case.lower()
