"""The recorded figures, a file per vendor, and the comparison of new figures with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.gpu_compilation.compiling import Report
from tools.gpu_compilation.drivers import vendor_of
from tools.gpu_compilation.figures import Figures

FOLDER = Path(__file__).with_name("recorded")
#: The recorded figures of a kernel, in this order; then its digest, 0 if the next check has to compile it.
SHOWN = ("instructions", "registers", "spills", "scratch", "occupancy", "cycles")
COLUMNS = (*SHOWN, "digest")
#: Columns whose growth fails the check, and the absolute growth that is always allowed, because compilers allocate
#: registers and pad instructions in steps.
GROWS = {"instructions": 16, "registers": 8, "spills": 0, "scratch": 0}
#: Milliseconds that a kernel may take to compile.
SLOW = 2000.0
#: Milliseconds that a kernel may take to compile in an emulator.
EMULATED_SLOW = 10 * SLOW

Row = tuple[int, ...]


@dataclass
class Record:
    """A vendor's record. figures: chip -> kernel -> the values of COLUMNS. mesa: chip -> version of its driver.

    accepted: "chip kernel" -> the reason why the kernel may spill.
    """

    figures: dict[str, dict[str, Row]] = field(default_factory=dict)
    mesa: dict[str, str] = field(default_factory=dict)
    accepted: dict[str, str] = field(default_factory=dict)


@dataclass
class Verdict:
    """The result of a check. failures: a line each. new, gone: kernels only in the report, or only in the record."""

    failures: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    compared: bool = False


def row(figures: Figures) -> Row:
    digest = figures.digest if figures.milliseconds <= SLOW else 0
    return (*(getattr(figures, column) for column in SHOWN), digest)


def known(vendor: str, chip: str, mesa: str) -> dict[str, Figures]:
    """Return a chip's figures by kernel if they were recorded with this driver version."""
    found = load(vendor)
    rows = found.figures.get(chip, {}) if found.mesa.get(chip) == mesa else {}
    return {name: Figures(**dict(zip(COLUMNS, held, strict=True))) for name, held in rows.items()}


def judge(report: Report, record: Record) -> Verdict:
    """Check that no kernel is refused, spills, compiles slowly, or has grown by more than a quarter.

    Growth is checked only against figures of the same driver version. Accepted spilling kernels must not grow either.
    """
    same = record.mesa.get(report.chip) == report.mesa
    recorded = record.figures.get(report.chip) if same else None
    verdict = Verdict(compared=recorded is not None)
    verdict.failures += [f"{name} is refused: {reason}" for name, reason in report.refused.items()]
    for name, figures in report.kernels.items():
        before = (recorded or {}).get(name)
        if figures.does_spill and f"{report.chip} {name}" not in record.accepted:
            verdict.failures.append(f"{name} spills {figures.spills}, {figures.scratch} bytes of scratch")
        elif before is not None:
            verdict.failures += [
                f"{name} has {now} {column}, {was} are recorded"
                for column, was, now in zip(COLUMNS, before, row(figures), strict=True)
                if column in GROWS and now > was * 1.25 and now > was + GROWS[column]
            ]
        if figures.milliseconds > (EMULATED_SLOW if vendor_of(report.chip).is_emulated else SLOW):
            verdict.failures.append(f"{name} takes {figures.milliseconds:.0f} ms to compile")
        if recorded is not None and before is None:
            verdict.new.append(name)
    compiled = {*report.kernels, *report.refused}
    verdict.gone = [name for name in recorded or () if name not in compiled]
    return verdict


def renewed(record: Record, reports: Iterable[Report]) -> Record:
    """Return the record with its vendor's new reports. They replace their chips' kernels, and accepted kernels that
    stopped spilling are removed."""
    reports = list(reports)
    figures, mesa = dict(record.figures), dict(record.mesa)
    for report in reports:
        figures[report.chip] = {name: row(found) for name, found in report.kernels.items()}
        mesa[report.chip] = report.mesa
    ours = {report.chip for report in reports}
    spilling = {f"{r.chip} {name}" for r in reports for name, found in r.kernels.items() if found.does_spill}
    accepted = {
        key: reason for key, reason in record.accepted.items() if key in spilling or key.partition(" ")[0] not in ours
    }
    return Record(figures, mesa, accepted)


def recorded() -> dict[str, Record]:
    """Return all records by vendor."""
    return {path.stem: load(path.stem) for path in sorted(FOLDER.glob("*.json"))}


def load(vendor: str, folder: Path = FOLDER) -> Record:
    """Read a vendor's record; an empty one if there is no file."""
    path = folder / f"{vendor}.json"
    if not path.exists():
        return Record()
    data = json.loads(path.read_text(encoding="utf-8"))
    assert tuple(data["columns"]) == COLUMNS, f"{path} has other columns; --record writes it again"
    figures: dict[str, dict[str, Row]] = {chip: {} for chip in data["chips"]}
    for name, rows in data["kernels"].items():
        for chip, found in zip(data["chips"], rows, strict=True):
            if found is not None:
                figures[chip][name] = tuple(found)
    return Record(figures, data["chips"], data["accepted"])


def save(vendor: str, record: Record, folder: Path = FOLDER) -> None:
    """Write a record: a line per kernel with a row per chip (null if the chip lacks the kernel)."""
    folder.mkdir(exist_ok=True)
    names = dict.fromkeys(name for kernels in record.figures.values() for name in kernels)
    chips = {chip: record.mesa[chip] for chip in record.figures}
    rows = [f"{_compact(n)}: {_compact([kernels.get(n) for kernels in record.figures.values()])}" for n in names]
    accepted = json.dumps(record.accepted, indent=2, sort_keys=True)
    text = '{{\n"columns": {},\n"chips": {},\n"accepted": {},\n"kernels": {{\n{}\n}}\n}}\n'
    path = folder / f"{vendor}.json"
    path.write_text(text.format(_compact(COLUMNS), _compact(chips), accepted, ",\n".join(rows)), encoding="utf-8")


def _compact(value: Mapping[str, Any] | Any) -> str:
    return json.dumps(value, separators=(",", ":"))
