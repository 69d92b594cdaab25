"""Comparison of two reports as lines: cases that got worse or better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from dml.conformance import report
from dml.conformance.merging import check_suites
from dml.conformance.page.changes import changes
from dml.conformance.report import Record
from dml.errors import DMLError


class ReportDifference(NamedTuple):
    """A case whose status on a device changed. what: worse, better, new, gone. fails: whether it fails now."""

    what: str
    device: str
    case: str
    how: str
    fails: bool = False

    @property
    def is_worse(self) -> bool:
        """Whether the case got worse. Gone cases count as worse, and so do new ones that fail."""
        return self.what in ("worse", "gone") or self.fails

    def __str__(self) -> str:
        return f"{self.what}: {self.device}: {self.case}{self.how}"


def compare(before: Record, after: Record, names: tuple[str, str] = ("before", "after")) -> list[ReportDifference]:
    """Return every case whose status changed, or that is new or gone: worse ones first, gone ones last.

    Runs are matched by the device's name and axis, so that drivers can be compared; otherwise only by the axis. names:
    the reports' names, for messages. Raises DMLError for reports of different suites, and if no runs match.
    """
    check_suites(before, after, *names)
    found = changes(before, after)
    if not found["pairs"]:
        devices = ["; ".join(report.title(run["device"]) for run in record["runs"]) for record in (before, after)]
        raise DMLError(f"the reports have no axis in common: {devices[0] or 'none'}, and {devices[1] or 'none'}")
    differences = []
    for record in found["cases"]:
        old, new = record["before"], record["after"]
        how = ""
        if new:
            how = f": {old['status']} -> {new['status']}" if old else f": {new['status']}"
            how = how.replace("_", " ") + (f": {new['reason']}" if new["reason"] else "")
        fails = bool(new) and new["status"] == "failed"
        differences.append(
            ReportDifference(record["what"], found["pairs"][record["pair"]][1], record["case"], how, fails)
        )
    return sorted(differences, key=lambda record: (record.what == "gone", not record.is_worse))


def lines(found: list[ReportDifference]) -> Iterator[str]:
    """Yield a line per case (one line for all cases missing on a device), then the counts."""
    yield from (str(item) for item in found if item.what != "gone")
    missing = Counter(item.device for item in found if item.what == "gone")
    for device, count in missing.items():
        yield f"gone: {device}: {count} cases"
    worse = sum(item.is_worse and item.what != "gone" for item in found)
    yield f"{worse} worse, {missing.total()} gone, {len(found) - worse - missing.total()} better or new"
