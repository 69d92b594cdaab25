"""Multiply-adds per instruction of innermost loops: the record by chip, and the documentation's table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median

from tools.gpu_compilation.compiling import Report
from tools.gpu_compilation.record import COLUMNS, Record

FILE = Path(__file__).with_name("shares.json")
#: Folders of shaders whose inner loops multiply and add.
FAMILIES = ("gemm", "convolution", "attention", "normalization", "recurrent")
_INSTRUCTIONS = COLUMNS.index("instructions")

#: Reasons why the shares are below 1.
_OTHERS = (
    "| shader | its other instructions |",
    "| --- | --- |",
    "| gemm/shared, convolution/implicit, attention/tiles | reads of shared memory, one vector for every 8 "
    "multiply-adds (an invocation with 4 x 4 sums) to 16 (8 x 8), which AMD's driver splits in two, and waits; "
    "for each number loaded an address, with windows also a bound, and a write to shared memory |",
    "| gemm/cooperative, convolution/implicit_matrix | reads of shared memory, 16 bytes at once only along k, and what "
    "gemm/shared has for each number loaded |",
    "| convolution/direct | loads of x and of weights, with their addresses |",
    "| gemm/narrow, gemm/vector, recurrent | loads of weights, each for as many multiply-adds as there are rows, and "
    "of rows, each for as many as there are columns; conversions of FLOAT16, in software on Adreno. AMD's and NVIDIA's "
    "drivers unroll the products of large states: those loops are not counted |",
    "",
)

#: Chip -> kernel -> multiply-adds and instructions of its innermost loop, instructions of the kernel.
Shares = dict[str, dict[str, tuple[int, int, int]]]


def load(path: Path = FILE) -> Shares:
    """Read the shares; an empty dictionary if there is no file."""
    if not path.exists():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    return {chip: {name: tuple(numbers) for name, numbers in kernels.items()} for chip, kernels in data.items()}


def save(reports: Iterable[Report], path: Path = FILE) -> None:
    """Write the shares of these chips into the record. Chips whose drivers print no machine code have none."""
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
            f"{json.dumps(name)}: {json.dumps(numbers, separators=(',', ':'))}" for name, numbers in kernels.items()
        )
        + "\n}"
        for chip, kernels in shares.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def markdown(records: Mapping[str, Record], shares: Shares | None = None) -> str:
    """Return a section of the documentation: for each shader and chip, the median and number of the kernels.

    A kernel that changed since its loop was recorded (by its number of instructions) is left out.
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
        "Multiply-adds per invocation for each instruction of the kernel's innermost loop: the median of a shader's",
        "kernels, and their number. An instruction that multiplies matrices, or numbers of 8 or 16 bits, counts",
        "as all its products. `tools/gpu_compile --loops --record` counts them in the machine code that the drivers of",
        "AMD, Intel, NVIDIA and Qualcomm print. Apple's prints none, and Broadcom's omits the targets of branches;",
        "ARM's and Imagination's are not parsed yet.\n",
        *_OTHERS,
        f"| shader | {' | '.join(chips)} |",
        f"| --- |{' ---: |' * len(chips)}",
    ]
    for shader, by_chip in sorted(found.items()):
        cells = [f"{median(by_chip[chip]):.2f} ({len(by_chip[chip])})" if chip in by_chip else "" for chip in chips]
        lines.append(f"| {shader} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shader(kernel: str) -> str:
    """Return the shader of a kernel's name: gemm/shared of "GEMM 512: gemm/shared 2"."""
    return kernel.rpartition(": ")[2].partition(" ")[0]


def _family(kernel: str) -> str:
    return _shader(kernel).partition("/")[0]
