"""Changes between two reports: cases that got worse or better, are new, or are gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .data import worst


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary: pairs, the matched runs; cases, a {"what", "pair", "case", "before", "after"} per changed
    case; alone, each side's runs without a match."""
    pairs = _pairs(before, after)
    cases = []
    for index, (old_run, new_run) in enumerate(pairs):
        old = {outcome["case"]: outcome for outcome in old_run["results"]}
        new = {outcome["case"]: outcome for outcome in new_run["results"]}
        # Cases added for a device's kernels change with selection, and are neither new nor gone.
        added = {case for run in (old_run, new_run) if run.get("coverage") for case in run["coverage"]["added"]}
        for case in sorted((old.keys() | new.keys()) - (added - (old.keys() & new.keys()))):
            what = _what(old.get(case), new.get(case))
            if what is not None:
                sides = {"before": _side(old.get(case)), "after": _side(new.get(case))}
                cases.append({"what": what, "pair": index, "case": case, **sides})
    alone = [
        [_label(run) for run in report["runs"] if not any(run is pair[side] for pair in pairs)]
        for side, report in enumerate((before, after))
    ]
    return {"pairs": [[_label(old), _label(new)] for old, new in pairs], "cases": cases, "alone": alone}


def _pairs(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Match runs by device name and axis, and the remaining ones by axis, in order."""
    left = list(after["runs"])
    pairs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    for keys in (("name", "axis"), ("axis",)):
        taken = [old for old, _ in pairs]
        for old in before["runs"]:
            if any(old is item for item in taken):
                continue
            found = next((new for new in left if all(new["device"][k] == old["device"][k] for k in keys)), None)
            if found is not None:
                left = [new for new in left if new is not found]
                pairs.append((old, found))
    return pairs


_RANK = {"passed": 0, "unsupported": 1, "not_tested": 1, "loose": 2, "failed": 3}


def _what(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str | None:
    if old is None:
        return "new"
    if new is None:
        return "gone"
    change = _RANK[new["status"]] - _RANK[old["status"]]
    return "worse" if change > 0 else "better" if change < 0 else None


def _side(outcome: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    measured = worst([outcome])
    return {"status": outcome["status"], "reason": outcome.get("reason"), "share": measured and measured["share"]}


def _label(run: Mapping[str, Any]) -> str:
    return f"{run['device']['name']} ({run['device']['axis']})"
