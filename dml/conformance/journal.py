"""The journal of a run: a JSON line per outcome, written at once, so that a killed run can continue.

The first line is the report without results, and the devices with their axes (see DeviceAxis); each further line holds
the number of a DeviceAxis, an outcome, and the seconds that its cases have taken so far. The last outcome of a case
counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from dml.conformance import report
from dml.conformance.coverage import Coverage
from dml.conformance.report import Record
from dml.conformance.runner import not_run
from dml.errors import DMLError
from dml.files import reading, write_text, writing

FORMAT, VERSION = "dml-conformance-journal", 1


class PlacePart(NamedTuple):
    """The cases of a device on an axis, and the variants that they enter, if known. is_whole: whether these are all of
    its cases."""

    cases: Sequence[str]
    coverage: Coverage | None
    is_whole: bool = True


class Journal:
    """An open journal. found: outcomes by case, for each DeviceAxis. seconds: the time that the cases of each have
    taken."""

    def __init__(self, path: Path, head: Record, devices: Sequence[Record]) -> None:
        self.path, self.head, self.devices = path, head, list(devices)
        self.found: list[dict[str, Record]] = [{} for _ in devices]
        self.seconds = [0.0 for _ in devices]

    @classmethod
    def begin(cls, path: Path, head: Record, devices: Sequence[Record]) -> Journal:
        """Create a journal. Raises DMLError if the file cannot be written."""
        journal = cls(path, head, devices)
        first = {"format": FORMAT, "version": VERSION, "report": head, "devices": list(devices)}
        write_text(path, json.dumps(first) + "\n")
        return journal

    @classmethod
    def resume(cls, path: Path) -> Journal:
        """Open an existing journal. Raises DMLError if the file is not a journal, or is one of another version or
        checkout."""
        with reading(path):
            data = path.read_bytes()
        # A run killed while writing leaves an incomplete line.
        whole, _, rest = data.rpartition(b"\n")
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            first = lines.pop(0)
            if (first["format"], first["version"]) != (FORMAT, VERSION):
                raise ValueError(f"a journal of version {first['version']!r}; this dml reads version {VERSION}")
            journal = cls(path, first["report"], first["devices"])
            for line in lines:
                journal._take(line)
        except (ValueError, LookupError, TypeError) as error:
            raise DMLError(f"{path} is not a journal of dml conformance: {error}") from None
        now = report.started({})
        for name in ("dml_version", "commit"):
            if journal.head[name] != now[name]:
                raise DMLError(
                    f"{path}: its {name} is {journal.head[name]}, this run's is {now[name]}: start a new run"
                )
        if rest:
            os.truncate(path, len(whole) + 1)
        return journal

    def add(self, place: int, outcome: Record, seconds: float) -> None:
        """Write an outcome. place: number of the DeviceAxis. seconds: the time that its cases have taken so far. Raises
        DMLError if it cannot be written."""
        line = {"place": place, "seconds": round(seconds, 3), "outcome": outcome}
        self._take(line)
        with writing(self.path):
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()

    def report(self, parts: Sequence[PlacePart], left: Sequence[str]) -> Record:
        """Return the current report. parts: the cases of each DeviceAxis. left: for each, the reason why some cases
        have no outcome."""
        record: Record = {**self.head, "runs": []}
        for device, found, seconds, part, why in zip(self.devices, self.found, self.seconds, parts, left, strict=True):
            missing = [not_run(case, why) for case in part.cases if case not in found]
            ran = (case for case, outcome in found.items() if outcome["status"] in report.RAN)
            record["runs"].append(
                {
                    "device": device,
                    "shard": record["suite"]["shard"],
                    "seconds": seconds,
                    "complete": part.is_whole and not missing,
                    "coverage": None if part.coverage is None else part.coverage.record(ran),
                    "results": report.in_order([*found.values(), *missing]),
                }
            )
        return record

    def _take(self, line: dict[str, Any]) -> None:
        self.found[line["place"]][line["outcome"]["case"]] = line["outcome"]
        self.seconds[line["place"]] = line["seconds"]

    def __enter__(self) -> Journal:
        with writing(self.path):
            self._file = open(self.path, "a", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
