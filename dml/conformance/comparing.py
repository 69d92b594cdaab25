"""Two reports beside each other: what got worse, what got better, in lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dml.conformance import report
from dml.conformance.page.changes import changes
from dml.conformance.report import Record
from dml.errors import DMLError


class ReportDifference(NamedTuple):
    """A case of another status on a device. what: worse, better, new, gone."""

    what: str
    device: str
    case: str
    how: str

    @property
    def is_worse(self) -> bool:
        """Also where a case is gone: it may have failed."""
        return self.what in ("worse", "gone")

    def __str__(self) -> str:
        return f"{self.what}: {self.device}: {self.case}{self.how}"


def compare(before: Record, after: Record) -> list[ReportDifference]:
    """Every case that is of another status, new or gone, what got worse first.

    Runs are of one device by its name and axis, so that drivers can be compared; else by the axis alone. Raises
    DMLError where no run of one report is beside one of the other.
    """
    found = changes(before, after)
    if not found["pairs"]:
        names = ["; ".join(report.title(run["device"]) for run in one["runs"]) for one in (before, after)]
        raise DMLError(f"the reports have no axis in common: {names[0] or 'none'}, and {names[1] or 'none'}")
    made = []
    for one in found["cases"]:
        old, new = one["before"], one["after"]
        how = ""
        if old and new:
            how = f": {old['status']} -> {new['status']}".replace("_", " ")
            how += f": {new['reason']}" if new["reason"] else ""
        made.append(ReportDifference(one["what"], found["pairs"][one["pair"]][1], one["case"], how))
    return sorted(made, key=lambda one: not one.is_worse)


def lines(found: list[ReportDifference]) -> Iterator[str]:
    """What differs, and how much got worse."""
    yield from map(str, found)
    worse = sum(one.is_worse for one in found)
    yield f"{worse} worse, {len(found) - worse} better or new"
