"""The record for readers: a page with filters, and the documentation's table of chips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dml.pages import render
from tools.gpu_compilation.record import COLUMNS, Record, Row

_SPILLS = COLUMNS.index("spills")


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
            "rows": [kernels.get(name) for name in names],
        }
        for vendor, record in records.items()
        for chip, kernels in record.figures.items()
    ]
    data = {"columns": COLUMNS, "kernels": names, "chips": chips}
    title = "Kernels through every vendor's compiler"
    return render(__package__, "chips.html", data, styles=["chips.css"], scripts=["chips.js"], context={"title": title})


def markdown(records: Mapping[str, Record]) -> str:
    """Return a table with a line for each chip."""
    head = "| vendor | chip | Mesa | kernels | spill | registers at most | instructions at most |\n"
    head += "| --- | --- | --- | ---: | ---: | ---: | ---: |\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in _lines(records))


def _lines(records: Mapping[str, Record]) -> Iterator[list[str]]:
    for vendor, record in records.items():
        for chip, kernels in record.figures.items():
            rows = kernels.values()
            numbers = len(rows), sum(map(_spills, rows)), _most(rows, "registers"), _most(rows, "instructions")
            yield [vendor, chip, record.mesa[chip], *(f"{number:,}" for number in numbers)]


def _spills(row: Row) -> bool:
    return bool(row[_SPILLS])


def _most(rows: Iterable[Row], column: str) -> int:
    at = COLUMNS.index(column)
    return max((row[at] for row in rows), default=0)
