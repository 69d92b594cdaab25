"""Tables and JSON as commands print them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """Return an empty table whose cells wrap instead of losing text. The title and columns are Rich markup."""
    made = Table(title=title, title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def show(made: Table | str) -> None:
    """Print a table, or text in Rich's markup.

    A terminal limits the width; a pipe does not, so that each row is one line for other tools.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=500)
    console.print(made)


def show_records(title: str, names: Sequence[str], records: Sequence[Sequence[str]]) -> None:
    """Print a row for each record, or a table of names and values for each where the rows are wider than the terminal.

    A record's second value is its title then. All texts are Rich markup.
    """
    rows = table(title, *names)
    for record in records:
        rows.add_row(*record)
    console = Console()
    unlimited = console.options.update(max_width=10_000)  # (measure() otherwise ends at the terminal's width)
    if not console.is_terminal or console.measure(rows, options=unlimited).maximum <= console.width:
        show(rows)
        return
    for record in records:
        one = table(record[1], "property", "value")
        for name, value in zip(names, record, strict=True):
            one.add_row(name, value)
        show(one)


def print_json(value: object) -> None:
    """Print indented JSON on standard output, and nothing else."""
    typer.echo(json.dumps(value, indent=2))
