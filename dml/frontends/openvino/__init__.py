"""OpenVINO IR models (.xml and .bin) as DML graphs.

model = read_model("model.xml")
outputs = model.compile(device)({"x": x})
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device, create_device
from dml.arguments import as_array, checked
from dml.descriptors.graph import DML_OPERATOR_GRAPH_NODE_DESC
from dml.errors import DMLError
from dml.frontends.openvino.convert import build
from dml.frontends.openvino.ir import ELEMENT_TYPES, IrLayer, Network, read_network
from dml.frontends.running import ModelInput, Options, in_the_models_words
from dml.graph.builder import Builder
from dml.runtime.recording import KernelTime

__all__ = ["CompiledModel", "IrModel", "read_model"]


class CompiledModel:
    """A model compiled for a device; call it with arrays by the names of its parameters."""

    def __init__(self, network: Network, device: Device) -> None:
        graph = Builder(device)
        built = build(network, graph)
        self.parameters, self.results, self._late = built.parameters, built.results, built.late
        #: What each layer became.
        self.nodes = {
            layer: [node for node in graph.nodes_added(numbers) if isinstance(node, DML_OPERATOR_GRAPH_NODE_DESC)]
            for layer, numbers in built.nodes.items()
        }
        self.compiled = graph.compile(built.outputs)
        made_by = {number: layer.name for layer, numbers in built.nodes.items() for number in numbers}
        #: By the nodes of the compiled graph: the name of the layer that each belongs to.
        self.layer_names = {at: made_by[number] for at, number in enumerate(graph.built) if number in made_by}
        assert graph.graph is not None
        #: What was compiled.
        self.graph = graph.graph

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
        """The results by the names of their tensors, in their own element types and shapes; of what a layer counts
        (NonZero, NonMaxSuppression), as many as there are.

        inputs: parameter name, or a name of its tensor -> array of the parameter's shape; numbers are converted to its
        element type. Raises DMLError for a missing, unknown or misshapen input.
        """
        outputs = self.compiled.dispatch(self.prepare(inputs))
        for name, (count, is_turned) in self._late.items():
            rows = outputs[name][: int(outputs[count][0])]
            outputs[name] = np.ascontiguousarray(rows.T if is_turned else rows)
        return {name: _from_dml(outputs[name], layer, name in self._late) for name, layer in self.results.items()}

    @checked
    def prepare(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the compiled graph takes for these inputs."""
        names = {alias: name for name, layer in self.parameters.items() for alias in (name, *layer.outputs[0].names)}
        given: dict[str, Any] = {}
        for name, value in inputs.items():
            if name not in names:
                raise DMLError(f"no parameter {name!r}; the model has {', '.join(self.parameters)}")
            given[names[name]] = _to_dml(as_array(value, f"parameter {name!r}"), self.parameters[names[name]])
        used = {name for name, tensor in self.compiled.input_fields if tensor is not None}
        return {name: array for name, array in given.items() if name in used}


def _to_dml(array: npt.NDArray[Any], layer: IrLayer) -> npt.NDArray[Any]:
    port = layer.outputs[0]
    if array.shape != port.sizes:
        raise DMLError(f"{layer}: its shape is {port.sizes}, found an array of shape {array.shape}")
    kind = np.dtype(ELEMENT_TYPES[port.element_type])
    array = array.astype(kind)
    stored = {"float64": np.float32, "bfloat16": np.float32, "bool": np.uint8}.get(kind.name, kind)
    return array.astype(stored).reshape(port.sizes or (1,))


def _from_dml(array: npt.NDArray[Any], layer: IrLayer, is_late: bool) -> npt.NDArray[Any]:
    source, index = layer.inputs[0]
    port = source.outputs[index]
    found = array.astype(ELEMENT_TYPES[port.element_type])
    return found if is_late else found.reshape(port.sizes)


class OpenVINORun:
    """A model with its inputs' files, for ``dml run``."""

    def __init__(self, path: Path, device: Device, options: Options) -> None:
        self._model = read_model(path).compile(device)
        self._options = options
        self._name = path.name

    def run(self) -> None:
        inputs = self._options.complete(self._inputs())
        for _ in range(self._options.iterations):
            outputs = self._model(inputs)
        self._options.deliver(outputs)

    def _inputs(self) -> list[ModelInput]:
        found = []
        for name, layer in self._model.parameters.items():
            port = layer.outputs[0]
            dtype = np.dtype(ELEMENT_TYPES[port.element_type])
            found.append(ModelInput(name, str(dtype), tuple(port.sizes), dtype, tuple(port.names)))
        return found

    def describe(self) -> str:
        text: str = self._model.compiled.describe()
        return text

    def profile(self) -> dict[str, list[KernelTime]]:
        options, wanted = self._options, self._inputs()
        given = options.complete(wanted) if options.random else options.arrays()
        zeros = {one.name: np.zeros(layer.outputs[0].sizes)
                 for one, layer in zip(wanted, self._model.parameters.values(), strict=True)
                 if not given.keys() & {one.name, *one.aliases}}  # fmt: skip
        times = self._model.compiled.profile(self._model.prepare({**zeros, **given}))
        return {self._name: in_the_models_words(times, self._model.layer_names)}


class IrModel:
    """A model as it was read; ``compile`` puts it on a device."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @checked
    def compile(self, device: Device | None = None) -> CompiledModel:
        """The model on a device; None takes the one that ``dml.create_device()`` does.

        Raises DMLError that lists every layer that cannot be mapped, before anything runs.
        """
        return CompiledModel(self.network, device or create_device())


@checked
def read_model(path: str | Path, weights: str | Path | None = None) -> IrModel:
    """Read an .xml file and the .bin beside it. Raises DMLError for anything that is not such a model."""
    return IrModel(read_network(path, weights))
