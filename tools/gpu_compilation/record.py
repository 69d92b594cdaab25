"""The figures that are recorded, and whether new ones are as good."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.generation import Report

RECORD = Path(__file__).with_name("recorded.json")
#: What is recorded of a kernel, in this order.
COLUMNS = ("instructions", "vgprs", "vgpr_spills", "sgpr_spills", "scratch", "lds")
#: What may grow, and by how much on top of the quarter: a kernel of 20 instructions or 8 registers is no worse for a
#: step of the compiler's own granularity.
GROWS = {"instructions": 16, "vgprs": 8, "vgpr_spills": 0, "sgpr_spills": 0, "scratch": 0}

Row = tuple[int, ...]


@dataclass
class Record:
    """figures: version of Mesa -> generation -> kernel -> what COLUMNS names. accepted: "generation kernel" -> why it
    may spill."""

    figures: dict[str, dict[str, dict[str, Row]]] = field(default_factory=dict)
    accepted: dict[str, str] = field(default_factory=dict)


@dataclass
class Verdict:
    """failures: a line each. new, gone: kernels that the record has not, or that are only there."""

    failures: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    compared: bool = False


def row(figures: Figures) -> Row:
    return tuple(getattr(figures, column) for column in COLUMNS)


def judge(report: Report, record: Record) -> Verdict:
    """No kernel is refused, spills or has grown by more than a quarter.

    Growth counts against figures of the same compiler alone: versions differ. A kernel that spills and is accepted may
    not get worse either.
    """
    recorded = record.figures.get(report.mesa, {}).get(report.generation)
    verdict = Verdict(compared=recorded is not None)
    verdict.failures += [f"{name} is refused: {reason}" for name, reason in report.refused.items()]
    for name, figures in report.kernels.items():
        before = (recorded or {}).get(name)
        if figures.spills and f"{report.generation} {name}" not in record.accepted:
            verdict.failures.append(
                f"{name} spills {figures.vgpr_spills} vector and {figures.sgpr_spills} scalar registers, "
                f"{figures.scratch} bytes of scratch"
            )
        elif before is not None:
            verdict.failures += [
                f"{name} has {now} {column.replace('_', ' ')}, {was} are recorded"
                for column, was, now in zip(COLUMNS, before, row(figures), strict=True)
                if column in GROWS and now > was * 1.25 and now > was + GROWS[column]
            ]
        if recorded is not None and before is None:
            verdict.new.append(name)
    compiled = {*report.kernels, *report.refused}
    verdict.gone = [name for name in recorded or () if name not in compiled]
    return verdict


def renewed(record: Record, reports: Iterable[Report]) -> Record:
    """The record with these reports; what is no longer there of their generations, or of what is accepted, goes."""
    reports = list(reports)
    ours = {report.generation for report in reports}
    figures: dict[str, dict[str, dict[str, Row]]] = {}
    for mesa, generations in record.figures.items():
        kept = {generation: kernels for generation, kernels in generations.items() if generation not in ours}
        if kept:
            figures[mesa] = kept
    for report in reports:
        kernels = {name: row(found) for name, found in report.kernels.items()}
        figures.setdefault(report.mesa, {})[report.generation] = kernels
    spilling = {f"{r.generation} {name}" for r in reports for name, found in r.kernels.items() if found.spills}
    accepted = {
        key: reason for key, reason in record.accepted.items() if key in spilling or key.partition(" ")[0] not in ours
    }
    return Record(figures, accepted)


def load(path: Path = RECORD) -> Record:
    """An empty record where there is no file."""
    if not path.exists():
        return Record()
    data = json.loads(path.read_text(encoding="utf-8"))
    assert tuple(data["columns"]) == COLUMNS, f"{path} is of other columns; --record writes it anew"
    figures: dict[str, dict[str, dict[str, Row]]] = {}
    for mesa, held in data["figures"].items():
        for at, generation in enumerate(held["generations"]):
            kernels = {n: tuple(rows[at]) for n, rows in held["kernels"].items() if rows[at] is not None}
            figures.setdefault(mesa, {})[generation] = kernels
    return Record(figures, data["accepted"])


def save(record: Record, path: Path = RECORD) -> None:
    """One line for each kernel, with a row for each generation (null where it has no such kernel)."""
    blocks = [f'"{mesa}": {_block(generations)}' for mesa, generations in sorted(record.figures.items())]
    accepted = json.dumps(record.accepted, indent=2, sort_keys=True)
    text = '{{\n"columns": {},\n"accepted": {},\n"figures": {{\n{}\n}}\n}}\n'
    path.write_text(text.format(_compact(COLUMNS), accepted, ",\n".join(blocks)), encoding="utf-8")


def _block(generations: Mapping[str, Mapping[str, Row]]) -> str:
    names = dict.fromkeys(name for kernels in generations.values() for name in kernels)
    rows = [f"{_compact(n)}: {_compact([kernels.get(n) for kernels in generations.values()])}" for n in names]
    return '{{\n"generations": {},\n"kernels": {{\n{}\n}}\n}}'.format(_compact(list(generations)), ",\n".join(rows))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
