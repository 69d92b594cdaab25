"""Arguments that several commands take: enumerators by name, input files, a device, a feature level."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..capability import LATEST, short_name
from ..descriptors import operators
from ..enums import DML_FEATURE_LEVEL
from ..enums.naming import named, short_names
from ..errors import DMLError
from .app import MISUSED, fail


def complete_levels(incomplete: str) -> list[str]:
    """Return shell completions for a feature level."""
    return [name for name in short_names(DML_FEATURE_LEVEL) if name.startswith(incomplete)]


def complete_operators(incomplete: str) -> list[str]:
    """Return shell completions for an operator: names that begin with the text, in its case."""
    names = [short_name(kind) for kind in operators()]
    return [
        name for name in ([*map(str.lower, names)] if incomplete.islower() else names) if name.startswith(incomplete)
    ]


DeviceOption = Annotated[str, typer.Option(help="The device's index or part of its name; by default the best one.")]
#: The default feature level.
NEWEST = short_name(LATEST)
LevelOption = Annotated[str, typer.Option(help="A feature level, 3_0.", autocompletion=complete_levels)]


def level_of(text: str) -> DML_FEATURE_LEVEL:
    """Return the feature level with this name: 3_0, 3.0 or the full name."""
    try:
        return named(DML_FEATURE_LEVEL, text, "--feature-level")
    except DMLError as error:
        raise fail(error.message, MISUSED) from None


#: Symbolic sizes of model inputs that are not given.
SizeOption = Annotated[
    list[str] | None,
    typer.Option("--size", help="Symbolic size of inputs that are not given, as batch=8; default 1; repeatable."),
]


def sizes_of(given: list[str] | None) -> dict[str, int]:
    """Parse name=number arguments."""
    sizes: dict[str, int] = {}
    for text in given or []:
        name, equals, number = text.rpartition("=")
        if not (name and equals and number.isdecimal() and int(number) > 0):
            raise fail(f"--size: must be name=number, at least 1, found {text!r}", MISUSED)
        sizes[name] = int(number)
    return sizes


def check_folder(option: str, file: Path) -> None:
    """Raise an error if a file's folder does not exist, before the work whose result it will hold."""
    if not file.parent.is_dir():
        raise fail(f"{option}: the folder {file.parent} does not exist", MISUSED)


def input_files(given: list[str] | None) -> dict[str, Path]:
    """Parse name=file.npy arguments."""
    inputs: dict[str, Path] = {}
    for text in given or []:
        name, equals, path = text.rpartition("=")
        if not (name and equals and path):
            raise fail(f"--input: must be name=file.npy, found {text!r}", MISUSED)
        inputs[name] = Path(path)
    return inputs
