"""Helpers that write Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Escape plain text for Markdown, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>$|~^#])", r"\\\1", " ".join(text.split()))


def escaped_within(text: str) -> str:
    """Escape plain text for Markdown, on one line, and keep spaces at both ends."""
    start, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{start}{escaped(text)}{end}" if text.strip() else text


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def code(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def target(name: str) -> str:
    """Return the target of links to ``#name``, to be put before a heading."""
    return f"({name})=\n"
