"""Options of a run in any format: inputs, sizes, outputs."""

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
    """An input of a model.

    kind: its data type as text. shape: sizes, symbolic ones by name; None if unknown. dtype: None if it is not a
    tensor of numbers. aliases: other names under which it may be given.
    """

    name: str
    kind: str
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any] | None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        shape = "of any shape" if self.shape is None else " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.kind} {shape}"

    def random(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> npt.NDArray[Any]:
        """Return numbers from -1 to 1, or integers 0 and 1, which are valid both as indices and as masks.

        Symbolic sizes that ``sizes`` lacks are 1. Raises DMLError for an input that cannot be made.
        """
        if self.shape is None or self.dtype is None or self.dtype.hasobject:
            raise DMLError(f"input {self.name!r}: {self.kind} cannot be random; give it as --input")
        shape = tuple(sizes.get(size, 1) if isinstance(size, str) else size for size in self.shape)
        if self.dtype.kind in "iub":
            return rng.integers(0, 2, shape).astype(self.dtype)
        return rng.uniform(-1, 1, shape).astype(self.dtype)


@dataclass(frozen=True)
class Options:
    """Options of a run.

    say: called with each line of output. allow_paths_outside: the file may name files outside its folder. iterations:
    number of runs. fallback: nodes that DirectML operators cannot express may run on the host. inputs: a model's
    inputs by name, an .npy file each. output_dir: the folder for a model's outputs, an .npy file each. sizes: symbolic
    sizes, by name, of inputs that are not given. random: use random numbers for inputs that are not given.
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
        """Return the inputs. Raises DMLError for a file that is not an array."""
        return {name: read_npy(path) for name, path in self.inputs.items()}

    def complete(self, wanted: Sequence[ModelInput]) -> dict[str, npt.NDArray[Any]]:
        """Return a run's arrays: those of ``inputs``, and with ``random`` random ones for the others.

        wanted: the model's inputs. A symbolic size is a given array's, else that of ``sizes``, else 1; the shapes of
        random inputs are printed. Raises DMLError that lists the missing inputs.
        """
        given = self.arrays()
        missing = [item for item in wanted if not given.keys() & {item.name, *item.aliases}]
        if not missing:
            return given
        if not self.random:
            listed = "; ".join(map(str, missing))
            raise DMLError(
                f"inputs are missing: {listed}. Give each as --input {missing[0].name}=FILE.npy, or take random "
                "numbers with --random (--size NAME=NUMBER for sizes with names)"
            )
        known = dict(self.sizes)
        for item in wanted:
            array = given.get(item.name)
            if array is not None and item.shape is not None and array.ndim == len(item.shape):
                known |= {size: n for size, n in zip(item.shape, array.shape, strict=True) if isinstance(size, str)}
        rng = np.random.default_rng(0)
        for item in missing:
            given[item.name] = item.random(rng, known)
            self.say(f"{item.name}: random {given[item.name].dtype} {given[item.name].shape}")
        return given

    def deliver(self, outputs: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the outputs into the folder; without one, print them."""
        for name, array in outputs.items():
            self.say(f"{name}: {array.dtype} {array.shape}")
            if self.output_dir is None:
                self.say(np.array2string(array, threshold=64, edgeitems=3))
            else:
                _save(self.output_dir, name, array)


def _save(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """Write an output's file completely or not at all; characters that are not allowed become underscores."""
    write_npy(folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name).lstrip('.') or 'output'}.npy", array)
