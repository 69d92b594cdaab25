"""Conformance reports as one self-contained HTML page, which opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.capability import short_name
from dml.conformance.bug_report import bug_text
from dml.descriptors import operators
from dml.errors import DMLError
from dml.files import write_text
from dml.pages import render

from .changes import changes
from .data import STATUSES, covered, failures, loose, matrix, runs_of
from .levels import level_tables

_SCRIPTS = ("status.js", "filters.js", "matrix.js", "failures.js", "errors.js", "levels.js", "changes.js", "main.js")


def write_page(reports: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the page of these reports, as `dml conformance` makes them (report.schema.json).

    Further reports are also compared with the first. Raises DMLError without reports, without jinja2, or if the file
    cannot be written.
    """
    write_text(path, page(reports))


def page(reports: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of these reports; see ``write_page``."""
    if not reports:
        raise DMLError("page: at least one conformance report is needed, found none")
    runs = runs_of(reports)
    data = {
        "runs": [{"number": run["number"], "device": run["device"]["name"], "axis": run["device"]["axis"],
                  "driver": run["device"].get("driver"), "report": run["report"]} for run in runs],
        **matrix(runs),
        "failures": failures(runs),
        "changes": [changes(reports[0], report) for report in reports[1:]],
        **level_tables(),
    }  # fmt: skip
    known = {short_name(kind) for kind in operators()}
    shown = {
        "reports": [{"letter": chr(ord("A") + index), **report} for index, report in enumerate(reports)],
        "runs": [{**run, "bug_text": bug_text(reports[run["report"]], run)} for run in runs],
        "totals": {name: sum(run["counts"][name] for run in runs) for name in runs[0]["counts"]} if runs else {},
        "operators": sum(name in known for name, _ in data["operators"]),
        "all_operators": len(operators()),
        "families": sorted({family for _, family in data["operators"]}),
        "data_types": data["data_types"],
        "statuses": STATUSES,
        "covered": covered(runs),
        "loose": loose(runs),
    }
    return render(__package__, "report.html", data, styles=["report.css"], scripts=_SCRIPTS, context=shown)


__all__ = ["page", "write_page"]
