"""genai_config.json: the sections of a model folder, names of inputs and outputs, and search defaults."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.files import reading

from .refused import with_refused_names

_FILE = "genai_config.json"
#: Provider options that choose the device, by index or by a part of its name.
_DEVICE_OPTIONS = ("device", "device_id")
_MOST_LAYERS = 1 << 16


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
        given = self.section("model.decoder.session_options").get("provider_options") or []
        if not (isinstance(given, list) and all(_is_provider(entry) for entry in given)):
            raise DMLError(f"{self.folder / _FILE}: provider_options must be a list of objects, found {given!r}")
        self._providers: list[tuple[str, dict[str, str]]] = [
            (name, dict(options)) for entry in given for name, options in entry.items()
        ]

    def overlay(self, text: str) -> None:
        """Merge a JSON object into the values; nested objects are merged, too."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
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

    def number(self, path: str, most: int = 2**31 - 1) -> int:
        """Return the integer at a dotted path, from 1 to ``most``. Raises DMLError for anything else."""
        section, _, name = path.rpartition(".")
        return whole_number(self.section(section).get(name), most, f"{self.folder / _FILE}: {path}")

    def layers(self) -> range:
        """Return the numbers of the decoder's layers."""
        return range(self.number("model.decoder.num_hidden_layers", _MOST_LAYERS))

    def tokens(self, name: str) -> list[int]:
        """Return the token ids in model.``name``, which holds one or several; [] if it is missing."""
        found = self.section("model").get(name)
        given = found if isinstance(found, list) else [] if found is None else [found]
        if not all(isinstance(item, int) and -(2**31) <= item < 2**31 for item in given):
            raise DMLError(
                f"{self.folder / _FILE}: model.{name} must be a token id or a list of token ids, found {found!r}"
            )
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
        with reading(path):
            is_inside = path.resolve().is_relative_to(self.folder.resolve())
        if not is_inside:
            raise DMLError(f"{self.folder / _FILE}: {section}.filename leaves the folder: {name}")
        if not path.is_file() and name not in self._data:
            raise DMLError(f"{path}: no such file, which {_FILE} names as {section}.filename", _NOT_FOUND)
        return path


_NOT_FOUND = HRESULT.DXGI_ERROR_NOT_FOUND


def _is_provider(entry: Any) -> bool:
    """Whether an entry of provider_options maps names to options."""
    return isinstance(entry, dict) and all(isinstance(options, dict) for options in entry.values())


def whole_number(found: Any, most: int, where: str) -> int:
    """Return an integer from a JSON file, from 1 to ``most``. Raises DMLError for anything else."""
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= most:
        raise DMLError(f"{where} must be an integer from 1 to {most}, found {found!r}")
    return found


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file. Raises DMLError for anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DMLError(f"{path}: no such file", _NOT_FOUND) from None
    except (OSError, ValueError, RecursionError) as error:
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
