"""Outcomes of the conformance cases by chip: the record, and the documentation's table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.gpu_compilation.compiling import Report
from tools.gpu_compilation.drivers import vendor_of

FILE = Path(__file__).with_name("conformance.json")


@dataclass(frozen=True)
class Outcome:
    """A chip's outcome. kernels: number of distinct kernels. slowest: milliseconds of the slowest kernel. seconds: CPU
    time of all."""

    mesa: str
    cases: int
    kernels: int
    refused: int
    spill: int
    slowest: int
    seconds: int


def outcome(report: Report) -> Outcome:
    return Outcome(
        report.mesa,
        report.workloads,
        len(report.kernels),
        len(report.refused),
        report.spilling,
        round(report.slowest),
        round(report.seconds),
    )


def load(path: Path = FILE) -> dict[str, Outcome]:
    """Read the outcomes by chip; an empty dictionary if there is no file."""
    if not path.exists():
        return {}
    return {chip: Outcome(**held) for chip, held in json.loads(path.read_text(encoding="utf-8")).items()}


def save(reports: Iterable[Report], path: Path = FILE) -> None:
    """Write the outcomes of these chips into the record: a line per chip."""
    found = load(path) | {report.chip: outcome(report) for report in reports}
    lines = [f"{json.dumps(chip)}: {json.dumps(asdict(found[chip]))}" for chip in sorted(found)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def markdown(outcomes: Mapping[str, Outcome] | None = None) -> str:
    """Return a section of the documentation: a line for each chip."""
    found = load() if outcomes is None else outcomes
    lines = [
        "\n## The conformance cases\n",
        "All cases of the default conformance run, as `tools/gpu_compile --conformance --record` compiles them. CPU",
        "seconds include lowering and GLSL; less where another chip's SPIR-V is in the cache.\n",
        "| vendor | chip | Mesa | cases | kernels | refused | spill | ms for one at most | CPU s |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for chip, held in sorted(found.items(), key=lambda item: (vendor_of(item[0]).name, item[0])):
        mesa, *numbers = asdict(held).values()
        cells = [vendor_of(chip).name, chip, mesa, *(f"{number:,}" for number in numbers)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
