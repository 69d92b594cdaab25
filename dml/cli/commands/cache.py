"""`dml cache`: data that dml keeps on disk between processes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from ...words import bytes_text
from ..app import command
from ..tables import show, table


@command("dml cache", "dml cache --clear")
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete everything, including tuning results.")] = False,
) -> None:
    """Show or clear dml's data on disk: compiled shaders, drivers' pipelines and results of `dml tune`."""
    from ... import cache as kept
    from ...glslang import compiler

    if clear:
        kept.clear()
    limit = kept.limit()
    listed = table("What dml keeps on disk", "folder", "entries", "size")
    usage = kept.usage()
    for name, (entries, size) in usage.items():
        listed.add_row(escape(str(kept.folder(name))), str(entries), bytes_text(size))
    entries, size = (sum(each) for each in zip(*usage.values(), strict=True))
    listed.add_row("together", str(entries), f"{bytes_text(size)} of {bytes_text(limit)}")
    show(listed)
    typer.echo(f"shaders are compiled by {compiler()}")
