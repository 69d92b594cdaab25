"""What several commands take: enumerators by name, files for inputs, a device, a feature level."""

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
    """What a shell offers for a feature level."""
    return [name for name in short_names(DML_FEATURE_LEVEL) if name.startswith(incomplete)]


def complete_operators(incomplete: str) -> list[str]:
    """What a shell offers for an operator: names that begin with the text, in its case."""
    names = [short_name(kind) for kind in operators()]
    return [
        name for name in ([*map(str.lower, names)] if incomplete.islower() else names) if name.startswith(incomplete)
    ]


DeviceOption = Annotated[str, typer.Option(help="The device's index or a part of its name; the best if left out.")]
#: The feature level where none is given.
NEWEST = short_name(LATEST)
LevelOption = Annotated[str, typer.Option(help="A feature level, 3_0.", autocompletion=complete_levels)]


def level_of(text: str) -> DML_FEATURE_LEVEL:
    """The feature level of that name: 3_0, 3.0 or in full."""
    try:
        return named(DML_FEATURE_LEVEL, text, "--feature-level")
    except DMLError as error:
        raise fail(error.message, MISUSED) from None


#: Symbolic sizes of a model's inputs that are not given.
SizeOption = Annotated[
    list[str] | None,
    typer.Option("--size", help="A symbolic size, batch=8, of inputs that are not given, else 1; may repeat."),
]


def sizes_of(given: list[str] | None) -> dict[str, int]:
    """name=number, each."""
    sizes: dict[str, int] = {}
    for text in given or []:
        name, equals, number = text.rpartition("=")
        if not (name and equals and number.isdecimal() and int(number) > 0):
            raise fail(f"--size: name=number is needed, 1 at least, found {text!r}", MISUSED)
        sizes[name] = int(number)
    return sizes


def check_folder(option: str, file: Path) -> None:
    """Refuse a file to be written into a folder that is not there, before the work whose result it holds."""
    if not file.parent.is_dir():
        raise fail(f"{option}: there is no folder {file.parent}", MISUSED)


def input_files(given: list[str] | None) -> dict[str, Path]:
    """name=file.npy, each."""
    inputs: dict[str, Path] = {}
    for text in given or []:
        name, equals, path = text.rpartition("=")
        if not (name and equals and path):
            raise fail(f"--input: name=file.npy is needed, found {text!r}", MISUSED)
        inputs[name] = Path(path)
    return inputs
