"""Tables and JSON as commands print them."""

from __future__ import annotations

import json

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


def print_json(value: object) -> None:
    """Print indented JSON on standard output, and nothing else."""
    typer.echo(json.dumps(value, indent=2))
