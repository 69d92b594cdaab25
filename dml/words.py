"""What people read everywhere: this package's name where packages are installed from, bytes, tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: The distribution. (`dml` is somebody else's.)
DISTRIBUTION = "directml-vulkan"


def to_install(extra: str) -> str:
    """The command that installs an extra, as a shell takes it."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; everything is shown as text."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    title = f'<caption style="text-align: left">{escape(caption)}</caption>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bytes_text(count: int) -> str:
    """A number of bytes for people: 4 GiB, 512 B."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
