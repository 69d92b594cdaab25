"""The reference of the `dml` command, generated from its help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from dml.cli import app
from dml.cli.app import EXAMPLES
from tools.documentation.markdown import code, escaped

#: Options that every command has.
_EVERYWHERE = ("help", "install_completion", "show_completion")


def page() -> str:
    """Return a section for each command: its purpose, arguments, options and examples."""
    whole = typer.main.get_command(app)
    status = escaped(str(whole.epilog))
    head = f"# The dml command\n\n`dml --install-completion` installs completion for your shell. {status}\n"
    return "\n".join([head, *_sections("dml", whole, 2)])


def _sections(name: str, command: Any, depth: int) -> Iterator[str]:
    for inner in sorted(getattr(command, "commands", {}).items()):
        yield from _section(f"{name} {inner[0]}", inner[1], depth)


def _section(name: str, command: Any, depth: int) -> Iterator[str]:
    text = re.sub(r"\[/?\w+\]", "", command.help or "")
    parts = [f"{'#' * depth} {escaped(name)}\n", f"{_help(text)}\n"]
    parts += [_parameter(one) for one in command.params if one.name not in _EVERYWHERE and not one.hidden]
    examples = EXAMPLES.get(name.partition(" ")[2], ()) if depth == 2 else ()
    if examples:
        parts.append(code("text", "\n".join(examples)))
    yield "\n".join(parts)
    yield from _sections(name, command, depth + 1)


def _parameter(one: Any) -> str:
    is_flag = getattr(one, "is_flag", False)
    names = ", ".join([*one.opts, *one.secondary_opts])
    value = f" {one.name.upper()}" if names.startswith("-") and not is_flag else ""
    names = names if names.startswith("-") else names.upper()
    default = one.default if isinstance(one.default, int | float | str) and not isinstance(one.default, bool) else ""
    by_default = f" Default: {default}." if default not in ("", None) and not is_flag else ""
    words = escaped((one.help or "") + by_default)
    return f"`{names}{value}`\n: {words}\n"


def _help(text: str) -> str:
    """Return the help with each paragraph on one line."""
    return "\n\n".join(escaped(paragraph) for paragraph in re.split(r"\n\s*\n|\f", text) if paragraph.strip())
