"""Two reports beside each other: what got worse, what got better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dml.conformance import report
from dml.conformance.report import Record
from dml.errors import DMLError

#: A failure is the worst; what does not run any more has got worse, too.
_RANK = {"passed": 0, "unsupported": 1, "not_tested": 1, "failed": 2}


@dataclass(frozen=True)
class ReportDifference:
    """A case on a device that differs. before, after: the outcomes; None where that report has no such case."""

    device: str
    case: str
    before: Record | None
    after: Record | None

    @property
    def is_worse(self) -> bool:
        """Also where a case is gone: it may have failed."""
        if self.before is None or self.after is None:
            return self.after is None
        return _RANK[self.after["status"]] > _RANK[self.before["status"]]

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.device}: {self.case}: {'gone' if self.after is None else 'new'}"
        how = f"{self.before['status']} -> {self.after['status']}".replace("_", " ")
        reason = f": {self.after['reason']}" if self.after["reason"] else ""
        return f"{self.device}: {self.case}: {how}{reason}"


def compare(before: Record, after: Record) -> list[ReportDifference]:
    """Every case that is of another status, new or gone, by device and axis.

    Devices are the same by name and axis, so that drivers can be compared; two reports of one device each on the same
    axis are of the same one, whatever its name. Raises DMLError where no device of one is one of the other.
    """
    pairs = _pairs(before["runs"], after["runs"])
    if not pairs:
        names = ["; ".join(report.title(run["device"]) for run in one["runs"]) for one in (before, after)]
        raise DMLError(f"the reports have no device in common: {names[0] or 'none'}, and {names[1] or 'none'}")
    found = []
    for old_run, new_run in pairs:
        old = {outcome["case"]: outcome for outcome in old_run["results"]}
        new = {outcome["case"]: outcome for outcome in new_run["results"]}
        for case in sorted(old.keys() | new.keys()):
            pair = old.get(case), new.get(case)
            if pair[0] is None or pair[1] is None or pair[0]["status"] != pair[1]["status"]:
                found.append(ReportDifference(report.title(new_run["device"]), case, *pair))
    return found


def lines(found: Sequence[ReportDifference]) -> Iterator[str]:
    """What differs, the worse first, and how many of each."""
    worse = [one for one in found if one.is_worse]
    other = [one for one in found if not one.is_worse]
    for word, ones in (("worse", worse), ("better, or new", other)):
        for one in ones:
            yield f"{word}: {one}"
    yield f"{len(worse)} worse, {len(other)} better or new"


def _pairs(before: Sequence[Record], after: Sequence[Record]) -> list[tuple[Record, Record]]:
    def key(run: Record) -> tuple[str, str]:
        return run["device"]["name"], run["device"]["axis"]

    new = {key(run): run for run in after}
    pairs = [(run, new[key(run)]) for run in before if key(run) in new]
    if not pairs and len(before) == len(after) == 1 and key(before[0])[1] == key(after[0])[1]:
        return [(before[0], after[0])]
    return pairs
