"""The choice of cases: size, seed, filter and shard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dml.compiler.target import Target
from dml.conformance.case import Case, case_ids
from dml.conformance.coverage import Coverage, cached_coverage, coverage
from dml.conformance.options import OptionError
from dml.conformance.subject import Subject, subjects
from dml.enums.naming import did_you_mean
from dml.errors import DMLError

#: Size -> number of parameters whose labels are all combined: each label, every pair, every triple.
SIZES = {"quick": 1, "default": 2, "full": 3}
#: Size -> fraction of kernel variants that a run must enter, in addition to each kernel and macro value; none for quick
#: runs.
COVERED = {"default": 0.9, "full": 1.0}


@dataclass(frozen=True)
class Suite:
    """A choice of cases; equal ones have the same cases.

    filter: operators' names or parts of cases' ids, one of which must match. only: exactly these cases, by id,
    regardless of size and filter. shard: the i-th of n parts, every n-th case.
    """

    size: str = "default"
    seed: int = 0
    filter: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    shard: tuple[int, int] = (1, 1)

    def cases(self) -> list[str]:
        """Return its cases' ids, by operator. Raises OptionError for a filter or a case that matches nothing."""
        return self.part(self._whole)

    def part(self, whole: Sequence[str]) -> list[str]:
        """Return the shard's share of the cases."""
        return list(whole[self.shard[0] - 1 :: self.shard[1]])

    @cached_property
    def _whole(self) -> list[str]:
        """The cases of all shards."""
        if self.only:
            try:
                return [Case.parse(text).id for text in self.only]
            except DMLError as error:
                raise OptionError(error.message) from None
        found = [name for subject in self._subjects() for name in case_ids(subject, SIZES[self.size], self.seed)]
        for text in self.filter:
            if not any(_fits(text, case) for case in found):
                raise OptionError(
                    f"--filter {text}: no case of the {self.size} suite matches{did_you_mean(text, subjects())}"
                )
        return [case for case in found if not self.filter or any(_fits(text, case) for text in self.filter)]

    def coverage(self, target: Target) -> Coverage | None:
        """Return the coverage of these operators' kernels on a target, with the cases that enter them.

        None for a quick suite, and for a choice of less than whole operators.
        """
        if not self._has_coverage:
            return None
        return coverage(target, self._whole, self._subjects(), COVERED[self.size], self.seed)

    def is_coverage_missing(self, target: Target) -> bool:
        """Whether ``coverage`` would take a minute or two, because the cache lacks it."""
        if not self._has_coverage:
            return False
        return cached_coverage(target, self._whole, self._subjects(), COVERED[self.size], self.seed) is None

    @property
    def _has_coverage(self) -> bool:
        return not self.only and self.size in COVERED and (not self.filter or bool(self._named))

    @property
    def _named(self) -> list[str]:
        """The operators that the filter names; none if it contains anything else."""
        names = [text.upper() for text in self.filter]
        return list(dict.fromkeys(names)) if all(name in subjects() for name in names) else []

    def _subjects(self) -> Sequence[Subject]:
        """Return the subjects whose cases may match: making a subject's cases takes time."""
        known = subjects()
        return [known[name] for name in self._named] if self._named else list(known.values())

    def record(self, count: int) -> dict[str, Any]:
        """Return its record for a report; count: number of its cases."""
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
    """Return the suite of a journal."""
    return Suite(
        record["size"], record["seed"], tuple(record["filter"]), tuple(record.get("only", ())),
        parse_shard(record["shard"]),
    )  # fmt: skip


def parse_shard(text: str) -> tuple[int, int]:
    """Parse 2/4 -> (2, 4). Raises OptionError for anything else."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise OptionError(f"--shard {text}: must be i/n, the i-th of n parts, from 1/n to n/n")
    return int(found[1]), int(found[2])


def _fits(text: str, case: str) -> bool:
    """Whether a filter matches a case. An operator's full name matches only its cases; any other text matches ids that
    contain it, ignoring case."""
    operator = case.partition(":")[0]
    return operator == text.upper() if text.upper() in subjects() else text.lower() in case.lower()
