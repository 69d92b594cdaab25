"""What to put into a bug report: device, driver, Vulkan version, limits, features, commit, and what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.conformance import report
from dml.conformance.report import Record
from dml.conformance.terminal import failure_lines

#: Failures that are told in full.
MOST = 5


def bug_report(made: Record) -> str:
    """Markdown: a section per device and axis, with the first failures in full."""
    suite = made["suite"]
    lines = [
        f"dml {made['dml_version']}, commit {made['commit'] or 'unknown (installed package)'}",
        f"Python {made['python']}, {made['platform']}",
        f"dml conformance: {suite['size']}, seed {suite['seed']}, shard {suite['shard']}, {made['created']}",
    ]
    for run in made["runs"]:
        device = run["device"]
        counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in report.counts(run["results"]).items())
        lines += [
            "",
            f"## {report.title(device)}",
            "",
            f"- device: {device['name']} ({device['type']}, vendor {device['vendor_id']:#06x}, "
            f"device {device['device_id']:#06x}), run as {device['axis']}",
            f"- driver: {device['driver']} (version {device['driver_version']:#x})",
            f"- Vulkan: {device['api_version']}",
            f"- limits: {_pairs(device['limits'])}",
            f"- features: {_pairs(device['features'])}",
            f"- results: {counts}{'' if run['complete'] else '; not complete'}",
        ]
        failed = [outcome for outcome in run["results"] if outcome["status"] == "failed"]
        for outcome in failed[:MOST]:
            lines += ["", f"### {outcome['case']}", "", *(f"    {line}" for line in failure_lines(run, outcome))]
        if len(failed) > MOST:
            lines += ["", "And " + ", ".join(outcome["case"] for outcome in failed[MOST : MOST + 50])]
    return "\n".join(lines)


def _pairs(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items())
