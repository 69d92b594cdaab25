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
    """A section of the documentation: shaders by chips, the median of a shader's kernels and how many they are.

    A kernel whose recorded instructions differ from those of its loop's recording is left out: it changed since.
    """
    recorded = {chip: kernels for record in records.values() for chip, kernels in record.figures.items()}
    found: dict[str, dict[str, list[float]]] = {}
    for chip, held in (load() if shares is None else shares).items():
        for name, (products, instructions, all_of_kernel) in held.items():
            known = recorded.get(chip, {}).get(name)
            if known and known[_INSTRUCTIONS] == all_of_kernel:
                found.setdefault(_shader(name), {}).setdefault(chip, []).append(products / instructions)
    chips = sorted({chip for by_chip in found.values() for chip in by_chip})
    lines = [
        "\n## Inner loops\n",
        "Multiply-adds of an invocation for each instruction of the kernel's innermost loop: the median of a shader's",
        "kernels, and how many they are. An instruction that multiplies matrices, or numbers of 8 or 16 bits, counts",
        "as all its products. `tools/gpu_compile --loops --record` counts them in the machine code that the drivers of",
        "AMD, Intel, NVIDIA and Qualcomm print. Apple's prints none, and Broadcom's leaves out where branches go;",
        "those of ARM and Imagination are not read yet.\n",
        f"| shader | {' | '.join(chips)} |",
        f"| --- |{' ---: |' * len(chips)}",
    ]
    for shader, by_chip in sorted(found.items()):
        cells = [f"{median(by_chip[chip]):.2f} ({len(by_chip[chip])})" if chip in by_chip else "" for chip in chips]
        lines.append(f"| {shader} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shader(kernel: str) -> str:
    """gemm/shared of "GEMM 512: gemm/shared 2"."""
    return kernel.rpartition(": ")[2].partition(" ")[0]


def _family(kernel: str) -> str:
    return _shader(kernel).partition("/")[0]
