"""Tables and numbers as commands print them."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """An empty table whose cells fold rather than lose text. The title and columns are Rich markup."""
    made = Table(title=title, title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def show(made: Table | str) -> None:
    """A table, or text in Rich's markup. As wide as a terminal; in a pipe as wide as the table, so that tools find one
    row in one line."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=500)
    console.print(made)


def print_json(value: object) -> None:
    """JSON on standard output, indented, and nothing else."""
    typer.echo(json.dumps(value, indent=2))
