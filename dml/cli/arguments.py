"""What several commands take: enumerators by name, files for inputs, a device, a feature level."""

from __future__ import annotations

from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from ..enums import DML_FEATURE_LEVEL
from .app import fail

_Enumeration = TypeVar("_Enumeration", bound=IntEnum)

DeviceOption = Annotated[str, typer.Option(help="The device's index or a part of its name; the best if left out.")]
LevelOption = Annotated[str, typer.Option(help="A feature level, 3_0.")]


def level_of(text: str) -> DML_FEATURE_LEVEL:
    """The feature level of that name: 3_0, 3.0 or in full."""
    return named(DML_FEATURE_LEVEL, text.replace(".", "_"), "feature level")


def named(enumeration: type[_Enumeration], text: str, what: str, prefix: str = "") -> _Enumeration:
    """The enumerator of that name, in full or without its prefix, in any case."""
    name = text.upper()
    prefix = prefix or f"{enumeration.__name__}_"
    full = name if name.startswith(prefix) else prefix + name
    if full not in enumeration.__members__:
        close = get_close_matches(full, enumeration.__members__, n=3, cutoff=0.5)
        hint = ", ".join(other.removeprefix(prefix) for other in close)
        raise fail(f"no {what} {text!r}" + (f"; near it: {hint}" if hint else ""))
    return enumeration[full]


def input_files(given: list[str] | None) -> dict[str, Path]:
    """name=file.npy, each."""
    inputs: dict[str, Path] = {}
    for text in given or []:
        name, equals, path = text.rpartition("=")
        if not (name and equals and path):
            raise fail(f"--input: name=file.npy is needed, found {text!r}")
        inputs[name] = Path(path)
    return inputs
