"""Shared words: the distribution's name, byte counts, tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: The distribution's name. (`dml` belongs to another project.)
DISTRIBUTION = "directml-vulkan"


def to_install(extra: str) -> str:
    """Return the shell command that installs an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Build an HTML table with a caption; cells are shown as text."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    title = f'<caption style="text-align: left">{escape(caption)}</caption>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bytes_text(count: int) -> str:
    """Format a number of bytes: 4 GiB, 512 B."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
