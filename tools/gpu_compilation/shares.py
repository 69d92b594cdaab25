"""Multiply-adds per instruction of innermost loops: their record by chip, and the table in the documentation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median

from tools.gpu_compilation.compiling import Report
from tools.gpu_compilation.record import COLUMNS, Record

FILE = Path(__file__).with_name("shares.json")
#: Folders of shaders whose kernels multiply and add.
FAMILIES = ("gemm", "convolution", "attention", "normalization", "recurrent")
_INSTRUCTIONS = COLUMNS.index("instructions")

#: Chip -> kernel -> multiply-adds and instructions of its innermost loop, instructions of the kernel.
Shares = dict[str, dict[str, tuple[int, int, int]]]


def load(path: Path = FILE) -> Shares:
    """Empty where there is no file."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {chip: {name: tuple(numbers) for name, numbers in kernels.items()} for chip, kernels in data.items()}


def save(reports: Iterable[Report], path: Path = FILE) -> None:
    """Replace the shares of these chips; a chip whose driver gives no machine code has none."""
    shares = load(path)
    for report in reports:
        found = {
            name: (*figures.loop, figures.instructions)
            for name, figures in report.kernels.items()
            if figures.loop.products and _family(name) in FAMILIES
        }
        shares.pop(report.chip, None)
        if found:
            shares[report.chip] = found
    lines = [
        f'"{chip}": {{\n'
        + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(numbers, separators=(',', ':'))}" for name, numbers in held.items()
        )
        + "\n}"
        for chip, held in shares.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def markdown(records: Mapping[str, Record], shares: Shares | None = None) -> str:
    """A section of the documentation, with a line for each chip: the median of each family, and the number of kernels.

    A kernel whose recorded instructions differ from those of its loop's recording is left out: it changed since.
    """
    lines = [
        "\n## Inner loops\n",
        "Multiply-adds of an invocation for each instruction of the kernel's innermost loop: the median of a family's",
        "kernels, and how many they are. An instruction that multiplies matrices, or numbers of 8 or 16 bits, counts",
        "as all its products. `tools/gpu_compile --loops --record` counts them in the drivers' machine code; the",
        "drivers of Apple, ARM, Imagination and Broadcom give none that can be counted.\n",
        f"| chip | {' | '.join(FAMILIES)} |",
        f"| --- | {' | '.join('---:' for _ in FAMILIES)} |",
    ]
    recorded = {chip: kernels for record in records.values() for chip, kernels in record.figures.items()}
    for chip, held in (load() if shares is None else shares).items():
        known = recorded.get(chip, {})
        cells = []
        for family in FAMILIES:
            found = [
                products / instructions
                for name, (products, instructions, all_of_kernel) in held.items()
                if _family(name) == family and name in known and known[name][_INSTRUCTIONS] == all_of_kernel
            ]
            cells.append(f"{median(found):.2f} ({len(found)})" if found else "")
        if any(cells):
            lines.append(f"| {chip} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _family(kernel: str) -> str:
    return kernel.rpartition(": ")[2].partition("/")[0]
