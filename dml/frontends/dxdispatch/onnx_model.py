"""ONNX models as dispatchables: resources are bound to inputs and outputs by name, optionally with a shape.

Unbound inputs are zeros, with size 1 for unknown dimensions; unbound outputs are created by the model. So a model can
be timed without any values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.errors import DMLError
from dml.runtime.recording import KernelTime

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class DxOnnx:
    """A model file to prepare. sizes: symbolic dimension -> size."""

    name: str
    source: Path
    path: str
    sizes: Mapping[str, int] = field(default_factory=dict)


class OnnxReady:
    """The model on a device. inputs: name -> zeros of its dtype and shape. Raises DMLError for an invalid model."""

    def __init__(self, dispatchable: DxOnnx, device: Device) -> None:
        from dml.frontends.onnx import prepare
        from dml.frontends.onnx.run.stand_ins import zeros

        self.model = prepare(dispatchable.source, device)
        self.outputs = self.model.outputs
        self.inputs = {
            entry.name: zeros(entry, dispatchable.sizes)
            for entry in self.model.model.graph.input
            if entry.name in self.model.inputs
        }

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Run the model; inputs that are not given are zeros. Returns the outputs by name. Raises DMLError for values
        that are not numbers."""
        found = dict(zip(self.outputs, self.model.run({**self.inputs, **feeds}), strict=True))
        for name, value in found.items():
            if not isinstance(value, np.ndarray) or value.dtype.hasobject:
                raise DMLError(f"output {name!r}: a resource can only hold numbers, found {type(value).__name__}")
        return found

    def describe(self) -> str:
        from dml.frontends.onnx.run.command import explain

        return "\n".join(map(str, explain(self.model, self.inputs).rows))

    def profile(self, feeds: Mapping[str, Array]) -> list[KernelTime]:
        from dml.frontends.onnx.run.command import walk

        return walk(self.model, {**self.inputs, **feeds}, profile=True).times
