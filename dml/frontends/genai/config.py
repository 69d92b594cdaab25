"""genai_config.json: the sections of a model folder, names of inputs and outputs, and search defaults."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

from .refused import with_refused_names

_FILE = "genai_config.json"
#: Provider options that choose the device, by index or by a part of its name.
_DEVICE_OPTIONS = ("device", "device_id")


@with_refused_names
class Config:
    """The genai_config.json of a folder; it may be changed until a Model is created from it.

    Raises DMLError for a folder without one, and for one that onnxruntime-genai would not write.
    """

    @checked
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise DMLError(f"{folder}: no such folder; a model folder with {_FILE} is needed", _NOT_FOUND)
        self.values = read_json(self.folder / _FILE)
        #: File name -> contents, for files that are not in the folder.
        self._data: dict[str, bytes] = {}
        self._providers: list[tuple[str, dict[str, str]]] = [
            (name, dict(options))
            for entry in self.section("model.decoder.session_options").get("provider_options") or []
            for name, options in entry.items()
        ]

    def overlay(self, text: str) -> None:
        """Merge a JSON object into the values; nested objects are merged, too."""
        try:
            given = json.loads(text)
        except ValueError as error:
            raise DMLError(f"Config.overlay: takes JSON: {error}") from None
        if not isinstance(given, dict):
            raise DMLError(f"Config.overlay: takes a JSON object, found {type(given).__name__}")
        _merge(self.values, given)

    def clear_providers(self) -> None:
        self._providers.clear()

    def append_provider(self, name: str) -> None:
        """Add a provider; its name has no effect here."""
        self._providers.append((name, {}))

    def set_provider_option(self, provider: str, name: str, value: str) -> None:
        """Set an option; ``device`` (a part of the name) and ``device_id`` (the index) choose the device."""
        for known, options in self._providers:
            if known == provider:
                options[name] = value
                return
        self._providers.append((provider, {name: value}))

    @checked
    def add_model_data(self, filename: str, data: bytes) -> None:
        """Give the contents of a model file; they replace the folder's file."""
        self._data[filename] = bytes(data)

    def remove_model_data(self, filename: str) -> None:
        self._data.pop(filename, None)

    # For Model and its components

    @property
    def device(self) -> int | str | None:
        """The device that provider options choose; None for the default."""
        for _, options in self._providers:
            for name in _DEVICE_OPTIONS:
                if name in options:
                    found = str(options[name])
                    return int(found) if name == "device_id" and found.isdigit() else found
        return None

    def section(self, path: str) -> dict[str, Any]:
        """Return the object at a dotted path; {} if there is none."""
        found: Any = self.values
        for name in path.split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        if not isinstance(found, dict):
            raise DMLError(f"{self.folder / _FILE}: {path} must be an object, found {type(found).__name__}")
        return found

    def number(self, path: str) -> int:
        """Return the positive integer at a dotted path. Raises DMLError for anything else."""
        section, _, name = path.rpartition(".")
        found = self.section(section).get(name)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise DMLError(f"{self.folder / _FILE}: {path} must be a positive integer, found {found!r}")
        return found

    def tokens(self, name: str) -> list[int]:
        """Return the token ids in model.``name``, which holds one or several; [] if it is missing."""
        found = self.section("model").get(name)
        given = found if isinstance(found, list) else [] if found is None else [found]
        if not all(isinstance(item, int) for item in given):
            raise DMLError(f"{self.folder / _FILE}: model.{name} must be a token id or several, found {found!r}")
        return given

    def token(self, name: str) -> int:
        """Return the first token id in model.``name``. Raises DMLError if there is none."""
        found = self.tokens(name)
        if not found:
            raise DMLError(f"{self.folder / _FILE}: there is no model.{name}")
        return found[0]

    def source(self, section: str) -> Path | bytes:
        """Return the model of a section: its path, or the contents given to add_model_data."""
        given = self._data.get(str(self.section(section).get("filename")))
        return self.file(section) if given is None else given

    def file(self, section: str) -> Path:
        """Return the path of a section's model, inside the folder. The file may be missing if its contents were
        given."""
        name = self.section(section).get("filename")
        if not isinstance(name, str) or not name:
            raise DMLError(f"{self.folder / _FILE}: {section}.filename must name a file, found {name!r}")
        path = self.folder / name
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise DMLError(f"{self.folder / _FILE}: {section}.filename leaves the folder: {name}")
        if not path.is_file() and name not in self._data:
            raise DMLError(f"{path}: no such file, which {_FILE} names as {section}.filename", _NOT_FOUND)
        return path


_NOT_FOUND = HRESULT.DXGI_ERROR_NOT_FOUND


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises DMLError for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DMLError(f"{path}: no such file", _NOT_FOUND) from None
    except (OSError, ValueError) as error:
        raise DMLError(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise DMLError(f"{path}: must hold a JSON object, found {type(found).__name__}")
    return found


def _merge(into: dict[str, Any], given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value
