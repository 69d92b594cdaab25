"""What every format's run takes, whatever the file: inputs, sizes, where outputs go."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.errors import DMLError
from dml.frontends.npy import read_npy, write_npy


@dataclass(frozen=True)
class ModelInput:
    """An input of a model. kind: its data type in words; shape: sizes, symbolic ones by name, None where unknown;
    dtype: None for what is no tensor of numbers; aliases: other names that it may be given by."""

    name: str
    kind: str
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any] | None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        shape = "of any shape" if self.shape is None else " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.kind} {shape}"

    def random(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> npt.NDArray[Any]:
        """Numbers from -1 to 1, or integers 0 and 1, which are valid as indices and masks alike; 1 for sizes that
        ``sizes`` lacks. Raises DMLError for an input that cannot be made."""
        if self.shape is None or self.dtype is None or self.dtype.hasobject:
            raise DMLError(f"input {self.name!r}: {self.kind} has no random values here; give it as --input")
        shape = tuple(sizes.get(size, 1) if isinstance(size, str) else size for size in self.shape)
        if self.dtype.kind in "iub":
            return rng.integers(0, 2, shape).astype(self.dtype)
        return rng.uniform(-1, 1, shape).astype(self.dtype)


@dataclass(frozen=True)
class Options:
    """say: takes lines of output. allow_paths_outside: a file may name files out of its folder. iterations: runs.

    fallback: nodes of a model that no DirectML operators say may run on the host.
    inputs: a model's inputs by name, each an .npy file. output_dir: where a model's outputs go, an .npy file each.
    sizes: symbolic sizes of inputs that are not given, by name. random: random numbers for inputs that are not given.
    """

    say: Callable[[str], None] = print
    allow_paths_outside: bool = False
    iterations: int = 1
    fallback: bool = True
    inputs: Mapping[str, Path] = field(default_factory=dict)
    output_dir: Path | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    random: bool = False

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The inputs. Raises DMLError for a file that is no array."""
        return {name: read_npy(path) for name, path in self.inputs.items()}

    def complete(self, wanted: Sequence[ModelInput]) -> dict[str, npt.NDArray[Any]]:
        """The arrays that a run takes: those of ``inputs``, and random ones for others where ``random`` says so.

        wanted: the model's inputs. A symbolic size has the number of a given array, else of ``sizes``, else 1, which is
        said. Raises DMLError that lists the inputs where one is missing.
        """
        given = self.arrays()
        missing = [one for one in wanted if not given.keys() & {one.name, *one.aliases}]
        if not missing:
            return given
        if not self.random:
            listed = "; ".join(map(str, missing))
            raise DMLError(
                f"inputs are missing: {listed}. Give each as --input {missing[0].name}=FILE.npy, or take random "
                "numbers with --random (--size NAME=NUMBER for sizes with names)"
            )
        known = dict(self.sizes)
        for one in wanted:
            array = given.get(one.name)
            if array is not None and one.shape is not None and array.ndim == len(one.shape):
                known |= {size: n for size, n in zip(one.shape, array.shape, strict=True) if isinstance(size, str)}
        rng = np.random.default_rng(0)
        for one in missing:
            given[one.name] = one.random(rng, known)
            self.say(f"{one.name}: random {given[one.name].dtype} {given[one.name].shape}")
        return given

    def deliver(self, outputs: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the outputs into the folder, or say what they are where there is none."""
        for name, array in outputs.items():
            self.say(f"{name}: {array.dtype} {array.shape}")
            if self.output_dir is None:
                self.say(np.array2string(array, threshold=64, edgeitems=3))
            else:
                _save(self.output_dir, name, array)


def _save(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """An output's file appears whole or not at all; characters that are no file name's become underscores."""
    write_npy(folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name).lstrip('.') or 'output'}.npy", array)
