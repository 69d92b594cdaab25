"""The folders that a model may read and write: its own, or any if the caller allows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dml.api.arrays import Array
from dml.errors import DMLError
from dml.files import reading, writing
from dml.frontends.npy import read_npy


@dataclass(frozen=True)
class Folder:
    """A model's folder. everywhere: paths may leave it, and inputs may be relative to the current folder."""

    root: Path
    everywhere: bool = False

    def resolve(self, text: str) -> Path:
        """Return the path for ``text``, with links resolved. Raises DMLError if it leaves the folder."""
        try:
            root = self.root.resolve()
            path = (root / text).resolve()
            if self.everywhere and not path.exists() and Path(text).exists():
                path = Path(text).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise DMLError(f"{text!r} is not a path: {error}") from None
        if not self.everywhere and not path.is_relative_to(root):
            raise DMLError(f"{text!r} leads out of the model's folder {root}; --allow-paths-outside permits that")
        return path

    def read(self, text: str) -> bytes:
        with reading(text):
            return self.resolve(text).read_bytes()

    def read_array(self, text: str) -> Array:
        """Return the array in an .npy file, in the machine's byte order. Raises DMLError for a file without one."""
        path = self.resolve(text)
        try:
            return read_npy(path)
        except DMLError as error:
            raise DMLError(f"{text!r} {error.message.removeprefix(f'{path}: ')}") from None

    def create(self, text: str) -> Path:
        """Return the path to write to, and create its parent folders."""
        path = self.resolve(text)
        with writing(text):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path
