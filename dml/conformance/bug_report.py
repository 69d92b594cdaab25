"""Contents of a bug report: device, driver, Vulkan version, limits, features, commit, and failures."""

from __future__ import annotations

from dml.conformance import report
from dml.conformance.page.bug_text import bug_text
from dml.conformance.report import Record
from dml.conformance.terminal import failure_lines, words

#: Maximum failures shown in full, and by name.
MOST, MOST_NAMED = 5, 50


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
