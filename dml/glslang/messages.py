"""The compiler's messages in terms of our files and lines."""

from __future__ import annotations

import re

from dml.glslang.source import Flat

_DIAGNOSTIC = re.compile(r"^(?:ERROR|WARNING): (.+?):(\d+): (.*)$")
_SHOWN = 8


def explain(flat: Flat, messages: str) -> str:
    """Return the compiler's messages, each with its source line."""
    located: list[str] = []
    other: list[str] = []
    for message in filter(None, map(str.strip, messages.splitlines())):
        match = _DIAGNOSTIC.match(message)
        if match is None:
            if message.startswith("ERROR"):
                other.append(message)
            continue
        file, line, what = match[1], int(match[2]), match[3]
        if not what.strip(" '") or "compilation terminated" in what:
            continue
        lines = flat.lines.get(file, [])
        text = f"\n    {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""
        located.append(f"{file}:{line}: {what}{text}")
    # After a compile error, the linker's messages (those without a line) add nothing.
    shown = located or other or [messages.strip() or "the compiler gave no reason"]
    left = f"\n... and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return "\n".join([f"compiling {flat.name} failed:", *shown[:_SHOWN]]) + left
