"""The zoo's entries: one per architecture, registered by ``torch_model`` and ``onnx_model``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
#: Writes a model to a path and returns its inputs.
Maker = Callable[[Path], Arrays]

#: Largest allowed errors, relative to an output's largest element, or in steps of its quantization.
TOLERANCES = {"float32": 1e-4, "float16": 1e-2, "quantized": 1.0}


@dataclass(frozen=True)
class Entry:
    """An architecture. by: the exporting tool. precision: a key of TOLERANCES. needs: packages that it requires."""

    name: str
    make: Maker
    by: str
    precision: str = "float32"
    needs: Sequence[str] = ()
    opset: int = 0


@dataclass(frozen=True)
class Exported:
    """A PyTorch module with the example inputs to export it with."""

    module: Any
    inputs: Sequence[Any] = ()
    keywords: dict[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, Entry] = {}


def add(entry: Entry) -> None:
    if entry.name in ENTRIES:
        raise ValueError(f"two entries are called {entry.name}")
    ENTRIES[entry.name] = entry


def torch_model(
    name: str, opset: int = 18, *, legacy: bool = False, precision: str = "float32", needs: Sequence[str] = ()
) -> Callable[[Callable[[], Exported]], Callable[[], Exported]]:
    """Register a function that returns a PyTorch module. legacy: export with TorchScript instead of torch.export."""

    def note(function: Callable[[], Exported]) -> Callable[[], Exported]:
        def make(path: Path) -> Arrays:
            from tools.zoo_of_models.exporting import export, seeded  # imports PyTorch

            seeded()
            return export(function(), path, opset, legacy)

        add(Entry(name, make, "TorchScript" if legacy else "torch.export", precision, needs, opset))
        return function

    return note


def onnx_model(
    name: str, opset: int, by: str, *, precision: str = "float32", needs: Sequence[str] = ()
) -> Callable[[Maker], Maker]:
    """Register a function that writes an ONNX file."""

    def note(function: Maker) -> Maker:
        add(Entry(name, function, by, precision, needs, opset))
        return function

    return note
