"""Reports: structure, reading and writing. ``report.schema.json`` describes each field."""

from __future__ import annotations

import json
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import dml
from dml.errors import DMLError
from dml.files import check_writable, reading, write_text

#: A report, a run, a device or an outcome, as in the file.
Record = dict[str, Any]

FORMAT, VERSION = "dml-conformance", 2
SCHEMA = Path(__file__).with_name("report.schema.json")
#: loose: within the public limit, beyond the tight one.
STATUSES = ("passed", "failed", "loose", "not_tested", "unsupported")
#: Statuses of cases whose kernels ran.
RAN = ("passed", "failed", "loose")

#: Required fields of each part.
_PARTS = {
    "": ("created", "dml_version", "commit", "python", "platform", "suite", "runs"),
    "suite": ("size", "seed", "filter", "shard", "cases"),
    "run": ("device", "shard", "seconds", "complete", "coverage", "results"),
    "device": ("name", "driver", "driver_version", "api_version", "vendor_id", "device_id", "type", "axis", "limits",
               "features"),
    "result": ("case", "operator", "data_type", "status", "reason", "seconds", "tensors", "histogram", "failure",
               "loose"),
}  # fmt: skip


def started(suite: Mapping[str, Any]) -> Record:
    """Return a report without runs: its origin, and its cases."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "created": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "dml_version": dml.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "suite": dict(suite),
        "runs": [],
    }


def in_order(results: Iterable[Record]) -> list[Record]:
    """Sort outcomes by operator and case."""
    return sorted(results, key=lambda outcome: (outcome["operator"], outcome["case"]))


def counts(results: Iterable[Record]) -> dict[str, int]:
    """Count outcomes by status, in the order of STATUSES."""
    found = Counter(outcome["status"] for outcome in results)
    return {status: found[status] for status in STATUSES}


def failures(report: Record) -> list[tuple[Record, Record]]:
    """Return the failed outcomes of all runs, each with its run."""
    return [(run, outcome) for run in report["runs"] for outcome in run["results"] if outcome["status"] == "failed"]


def title(device: Mapping[str, Any]) -> str:
    """Return a title for a device's results: its name, and the axis (the kind of device as which it was presented)."""
    name = device["name"].split(" (")[0]
    return name if device["axis"] == "plain" else f"{name} as {device['axis']}"


def write(path: Path, report: Record) -> None:
    """Write a report atomically. Raises DMLError if the file cannot be written."""
    write_text(path, json.dumps(report, indent=1, allow_nan=False) + "\n")


def check_paths(*paths: Path | None) -> None:
    """Raise DMLError if a file cannot be written, before a run that may take hours."""
    for path in filter(None, paths):
        check_writable(path)


def read(path: Path) -> Record:
    """Read a report. Raises DMLError if the file cannot be read, is not a report, or has another version."""
    with reading(path):
        data = path.read_bytes()
    try:
        found = json.loads(data)
    except ValueError as error:
        raise DMLError(f"{path} is not a report: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DMLError(f"{path} is not a report of dml conformance: its 'format' is not {FORMAT!r}")
    if found.get("version") != VERSION:
        raise DMLError(f"{path}: a report of version {found.get('version')!r}; this dml reads version {VERSION}")
    _need(found, "", f"{path}: ")
    _need(found["suite"], "suite", f"{path}: suite.")
    for index, run in enumerate(_list(found["runs"], f"{path}: runs")):
        _need(run, "run", f"{path}: runs[{index}].")
        _need(run["device"], "device", f"{path}: runs[{index}].device.")
        for place, outcome in enumerate(_list(run["results"], f"{path}: runs[{index}].results")):
            where = f"{path}: runs[{index}].results[{place}]."
            _need(outcome, "result", where)
            if outcome["status"] not in STATUSES:
                raise DMLError(f"{where}status: must be one of {', '.join(STATUSES)}, found {outcome['status']!r}")
    return found


def _need(value: Any, part: str, where: str) -> None:
    missing = [name for name in _PARTS[part] if not isinstance(value, dict) or name not in value]
    if missing:
        raise DMLError(f"{where}{missing[0]}: is missing")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise DMLError(f"{where}: must be an array")
    return value


def _commit() -> str | None:
    """Return the commit of the checkout that this package is imported from."""
    folder = Path(dml.__file__).parents[1]
    if not (folder / ".git").exists():
        return None
    try:
        found = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            capture_output=True, text=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None
