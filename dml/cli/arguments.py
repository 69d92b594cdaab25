"""What several commands take: enumerators by name, files for inputs, a device, a feature level."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..capability import LATEST, short_name
from ..enums import DML_FEATURE_LEVEL
from ..enums.naming import named
from .app import fail

DeviceOption = Annotated[str, typer.Option(help="The device's index or a part of its name; the best if left out.")]
#: The feature level where none is given.
NEWEST = short_name(LATEST)
LevelOption = Annotated[str, typer.Option(help="A feature level, 3_0.")]


def level_of(text: str) -> DML_FEATURE_LEVEL:
    """The feature level of that name: 3_0, 3.0 or in full."""
    return named(DML_FEATURE_LEVEL, text, "--feature-level")


def input_files(given: list[str] | None) -> dict[str, Path]:
    """name=file.npy, each."""
    inputs: dict[str, Path] = {}
    for text in given or []:
        name, equals, path = text.rpartition("=")
        if not (name and equals and path):
            raise fail(f"--input: name=file.npy is needed, found {text!r}")
        inputs[name] = Path(path)
    return inputs
