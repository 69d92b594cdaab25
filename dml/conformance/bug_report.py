"""Contents of a bug report: device, driver, Vulkan version, limits, features, commit, and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.conformance import report
from dml.conformance.report import Record
from dml.conformance.terminal import failure_lines, words

#: Maximum number of failures shown in full, and maximum number of further ones that are listed by name.
MOST, MOST_NAMED = 5, 50
_FACTS = (("device", "name"), ("driver", "driver"), ("Vulkan", "api_version"), ("type", "type"),
          ("vendor id", "vendor_id"), ("device id", "device_id"), ("run as", "axis"))  # fmt: skip


def bug_report(record: Record) -> str:
    """Return Markdown: a section per device and axis, with the first failures in full."""
    lines = []
    for run in record["runs"]:
        counts = ", ".join(f"{count} {words(status)}" for status, count in report.counts(run["results"]).items())
        facts = bug_text(record, run).splitlines()
        lines += [f"## {report.title(run['device'])}", "", *(f"    {line}" for line in facts), ""]
        lines += [f"{counts}{'' if run['complete'] else '; not complete'}", ""]
        failed = [outcome for outcome in run["results"] if outcome["status"] == "failed"]
        for outcome in failed[:MOST]:
            lines += [f"### {outcome['case']}", "", *(f"    {line}" for line in failure_lines(run, outcome)), ""]
        if len(failed) > MOST:
            lines += ["And " + ", ".join(outcome["case"] for outcome in failed[MOST : MOST + MOST_NAMED]), ""]
    return "\n".join(lines)


def bug_text(record: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """Return the run's device, driver and suite as a fact per line, then limits and features."""
    device = run["device"]
    lines = [f"{name}: {_number(key, device[key])}" for name, key in _FACTS if device.get(key) is not None]
    commit = f", commit {record['commit']}" if record.get("commit") else ""
    suite = record["suite"]
    lines += [
        f"dml: {record['dml_version']}{commit}",
        f"Python: {record['python']} on {record['platform']}",
        f"suite: {suite['size']}, seed {suite['seed']}, shard {suite['shard']}, {suite['cases']} cases",
        "",
        "limits: " + _pairs(device.get("limits") or {}),
        "features: " + _pairs(device.get("features") or {}),
    ]
    return "\n".join(lines)


def _number(key: str, value: Any) -> str:
    """Format PCI ids in hexadecimal, as vendors' lists show them."""
    return f"{value:#06x}" if key.endswith("_id") and isinstance(value, int) else str(value)


def _pairs(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in found.items() if value is not None) or "not recorded"


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
