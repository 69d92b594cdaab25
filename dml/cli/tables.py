"""Tables and JSON as commands print them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """Return an empty table whose cells wrap instead of losing text. The title and columns are Rich markup."""
    result = Table(title=title, title_justify="left")
    for column in columns:
        result.add_column(column, overflow="fold")
    return result


def show(shown: Table | str) -> None:
    """Print a table, or text in Rich's markup.

    A terminal limits the width: columns wrap between words, and a table that is too wide even then becomes lines of
    text. A pipe does not, so that each row is one line for other tools.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=500)
    if isinstance(shown, str) or _fit(console, shown):
        console.print(shown)
    else:
        _print_lines(console, shown)


def _fit(console: Console, table: Table) -> bool:
    """Set each column's width so that no word breaks; return False if the terminal is too narrow."""
    cells = [[console.render_str(str(cell)) for cell in (shown.header, *shown.cells)] for shown in table.columns]
    least = [max(cell.__rich_measure__(console, console.options).minimum for cell in column) for column in cells]
    most = [max(cell.cell_len for cell in column) for column in cells]
    spare = console.width - sum(least) - 3 * len(least) - 1  # borders and one space on each side
    if spare < 0:
        return False
    # Columns that need little extra width get it first; long texts share the rest.
    left = len(least)
    for column, low, high in sorted(
        zip(table.columns, least, most, strict=True), key=lambda shown: shown[2] - shown[1]
    ):
        more = min(high - low, spare // left)
        column.width = low + more
        spare -= more
        left -= 1
    return True


def _print_lines(console: Console, table: Table) -> None:
    """Print each row's first cell, and below it the others with their columns' names."""
    console.print(f"[italic]{table.title}[/]")
    first, *others = table.columns
    for name, *row in zip(first.cells, *(one.cells for one in others), strict=True):
        if name:
            console.print(f"[bold]{name}[/]")
        cells = "; ".join(f"{column.header}: {cell}" for column, cell in zip(others, row, strict=True) if cell)
        console.print(Padding(cells, (0, 0, 0, 2), expand=False))


def show_records(title: str, names: Sequence[str], records: Sequence[Sequence[str]]) -> None:
    """Print a row for each record; if the rows are wider than the terminal, print a table of names and values for each.

    Such a table's title is the record's second value. All texts are Rich markup.
    """
    rows = table(title, *names)
    for record in records:
        rows.add_row(*record)
    console = Console()
    unlimited = console.options.update(max_width=10_000)  # measure() otherwise ends at the terminal's width
    if not console.is_terminal or console.measure(rows, options=unlimited).maximum <= console.width:
        show(rows)
        return
    for record in records:
        grid = table(record[1], "property", "value")
        for name, value in zip(names, record, strict=True):
            grid.add_row(name, value)
        show(grid)


def print_json(value: object) -> None:
    """Print indented JSON on standard output, and nothing else."""
    typer.echo(json.dumps(value, indent=2))
