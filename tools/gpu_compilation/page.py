"""The record as HTML, a page with filters, and as the documentation's table of chips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from dml.pages import render
from tools.gpu_compilation.figures import STATISTICS
from tools.gpu_compilation.record import SHOWN, Record, Row


def html(records: Mapping[str, Record]) -> str:
    """Return a page of all chips and kernels of these vendors, the worst kernels first, with filters."""
    names = list(
        dict.fromkeys(name for record in records.values() for held in record.figures.values() for name in held)
    )
    chips = [
        {
            "vendor": vendor,
            "chip": chip,
            "mesa": record.mesa[chip],
            "rows": [kernels[name][: len(SHOWN)] if name in kernels else None for name in names],
        }
        for vendor, record in records.items()
        for chip, kernels in record.figures.items()
    ]
    data = {"columns": SHOWN, "kernels": names, "chips": chips}
    title = "Kernels through every vendor's compiler"
    return render(__package__, "chips.html", data, styles=["chips.css"], scripts=["chips.js"], context={"title": title})


def markdown(records: Mapping[str, Record]) -> str:
    """Return a table with a line for each chip. A cell is empty if the chip's driver does not report the figure."""
    head = "| vendor | chip | Mesa | kernels | spill | use scratch | scratch B at most | registers at most "
    head += "| instructions at most |\n"
    head += "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in _lines(records))


def _lines(records: Mapping[str, Record]) -> Iterator[list[str]]:
    for vendor, record in records.items():
        for chip, kernels in record.figures.items():
            rows = kernels.values()
            counts = [_cell(vendor, rows, column, _nonzero) for column in ("spills", "scratch")]
            most = [_cell(vendor, rows, column, max) for column in ("scratch", "registers", "instructions")]
            yield [vendor, chip, record.mesa[chip], f"{len(rows):,}", *counts, *most]


def _cell(vendor: str, rows: Iterable[Row], column: str, summary: Callable[[list[int]], int]) -> str:
    if column not in STATISTICS[vendor]:
        return ""
    index = SHOWN.index(column)
    return f"{summary([row[index] for row in rows]):,}"


def _nonzero(numbers: list[int]) -> int:
    return sum(map(bool, numbers))
