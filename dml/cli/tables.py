"""Tables and numbers as commands print them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """An empty table whose cells fold rather than lose text. The title and columns are Rich markup."""
    made = Table(title=title, title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def show(made: Table) -> None:
    """As wide as a terminal; in a pipe as wide as the table, so that tools find one row in one line."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=500)
    console.print(made)


def bytes_text(count: int) -> str:
    """A number of bytes for people: 4 GiB, 512 B."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
