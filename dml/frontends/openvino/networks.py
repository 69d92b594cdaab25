"""A network compiled for a device: for fixed sizes, or once for each set of input sizes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.arguments import as_array, checked
from dml.descriptors.graph import DML_OPERATOR_GRAPH_NODE_DESC
from dml.errors import DMLError
from dml.frontends.openvino.convert import build, check_layers
from dml.frontends.openvino.ir import IrLayer, IrPort, Network, device_type, with_sizes
from dml.frontends.summary import ValueSummary, symbolic_sizes
from dml.graph.builder import Builder
from dml.recent import Recent
from dml.tensors import numpy_dtype

#: Compiled networks, one per combination of input sizes, that are cached.
MOST_COMPILED = 8


class CompiledNetwork:
    """A network compiled for a device; call it with arrays by the names of its parameters.

    numbers: values of parameters to compile as constants, by name.
    """

    def __init__(self, network: Network, device: Device, numbers: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        graph = Builder(device)
        built = build(network, graph, numbers)
        self.parameters, self.results, self._late = built.parameters, built.results, built.late
        #: Layer -> numbers of its operator nodes.
        self.nodes = {
            layer: [node for node in graph.nodes_added(numbers) if isinstance(node, DML_OPERATOR_GRAPH_NODE_DESC)]
            for layer, numbers in built.nodes.items()
        }
        self._empty = built.empty
        self.compiled = graph.compile(built.outputs or {"nothing": graph.constant(np.zeros(1, np.float32))})
        made_by = {number: layer.name for layer, numbers in built.nodes.items() for number in numbers}
        #: Node of the compiled graph -> name of the layer that it belongs to.
        self.layer_names = {index: made_by[number] for index, number in enumerate(graph.built) if number in made_by}
        assert graph.graph is not None
        #: The graph before compilation.
        self.graph = graph.graph

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
        """Run, and return the results by tensor name, in the model's element types and shapes.

        Where a layer computes the number of rows (NonZero, NonMaxSuppression), a result has that many rows. inputs:
        parameter name, or a name of its tensor -> array of the parameter's shape; numbers are converted to its element
        type. Raises DMLError for a missing, unknown or misshapen input.
        """
        outputs = self.compiled.dispatch(self.prepare(inputs)) | self._empty
        for name, (count, is_turned) in self._late.items():
            rows = outputs[name][: int(outputs[count][0])]
            outputs[name] = np.ascontiguousarray(rows.T if is_turned else rows)
        return {name: _from_dml(outputs[name], layer, name in self._late) for name, layer in self.results.items()}

    @checked
    def prepare(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that the compiled graph takes for these inputs."""
        used = {name for name, tensor in self.compiled.input_fields if tensor is not None}
        given = given_arrays(self.parameters, inputs)
        return {name: _to_dml(array, self.parameters[name]) for name, array in given.items() if name in used}


def given_arrays(parameters: Mapping[str, IrLayer], inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays for parameters, which may be given by other names, in their element types.

    Raises DMLError for an unknown name, and for a shape that its parameter does not allow.
    """
    names = {alias: name for name, layer in parameters.items() for alias in (name, *layer.outputs[0].names)}
    given = {}
    for alias, value in inputs.items():
        if alias not in names:
            raise DMLError(f"no parameter {alias!r}; the model has {', '.join(parameters)}")
        layer, array = parameters[names[alias]], as_array(value, f"parameter {alias!r}")
        port = layer.outputs[0]
        if not port.accepts(array.shape):
            raise DMLError(f"{layer}: its shape is {port.sizes}, found an array of shape {array.shape}")
        given[layer.name] = array.astype(port.dtype)
    return given


def _to_dml(array: npt.NDArray[Any], layer: IrLayer) -> npt.NDArray[Any]:
    return array.astype(numpy_dtype(device_type(array.dtype))).reshape(layer.outputs[0].sizes or (1,))


def _from_dml(array: npt.NDArray[Any], layer: IrLayer, is_late: bool) -> npt.NDArray[Any]:
    source, index = layer.inputs[0]
    port = source.outputs[index]
    found = array.astype(port.dtype)
    return found if is_late else found.reshape(port.sizes)


class Compilations:
    """A network compiled for several sets of input sizes, of which the most recent ones are kept.

    If layers need the values of inputs at compile time, it is compiled for these values, too.
    """

    def __init__(self, network: Network, device: Device) -> None:
        self._network = network
        self._device = device
        self._lock = threading.Lock()
        self._kept: Recent[Any, CompiledNetwork] = Recent(MOST_COMPILED)
        self._needs_numbers = False

    def get(self, sizes: Mapping[str, tuple[int, ...]], numbers: Mapping[str, npt.NDArray[Any]]) -> CompiledNetwork:
        """Return the network compiled for inputs of these sizes. numbers: values of the inputs that layers may need."""
        with self._lock:
            if not self._needs_numbers:
                try:
                    return self._get(sizes, {})
                except DMLError:
                    if not numbers:
                        raise
            network = self._get(sizes, numbers)
            self._needs_numbers = True
            return network

    def _get(self, sizes: Mapping[str, tuple[int, ...]], numbers: Mapping[str, npt.NDArray[Any]]) -> CompiledNetwork:
        key = (*sizes.values(), *(array.tobytes() for array in numbers.values()))
        network = self._kept.get(key)
        if network is None:
            network = CompiledNetwork(with_sizes(self._network, sizes), self._device, numbers)
            self._kept.put(key, network)
        return network


class DynamicNetwork:
    """A model with dynamic parameter sizes; it is compiled once for each set of input sizes.

    If layers need the values of parameters at compile time, such as the condition of an If whose branches have other
    sizes, it is compiled for these values, too. parameters: its Parameter layers by name.
    """

    def __init__(self, network: Network, device: Device) -> None:
        check_layers(network)
        self._compilations = Compilations(network, device)
        self.parameters = network.parameters

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[Any]]:
        """Run, and return the results, as CompiledNetwork does. Every parameter with dynamic sizes must be given."""
        compiled, given = self._compiled_for(inputs)
        return compiled({name: array for name, array in given.items() if name in compiled.parameters})

    @checked
    def compiled_for(self, inputs: Mapping[str, npt.ArrayLike]) -> CompiledNetwork:
        """Return the model compiled for the sizes of these inputs. The most recent ones are kept.

        Raises DMLError for a missing or unknown input, and for sizes that the parameter does not allow.
        """
        return self._compiled_for(inputs)[0]

    def _compiled_for(self, inputs: Mapping[str, npt.ArrayLike]) -> tuple[CompiledNetwork, dict[str, npt.NDArray[Any]]]:
        """Also return the inputs by their parameters' names."""
        arrays = {name: as_array(value, f"parameter {name!r}") for name, value in inputs.items()}
        given: dict[str, npt.NDArray[Any]] = {}
        sizes: dict[str, tuple[int, ...]] = {}
        numbers: dict[str, npt.NDArray[Any]] = {}
        for name, layer in self.parameters.items():
            port = layer.outputs[0]
            found = next((arrays.pop(alias) for alias in (name, *port.names) if alias in arrays), None)
            if found is None and min(port.sizes, default=1) < 0:
                raise DMLError(f"parameter {name!r}: an array must be given, because its sizes are dynamic")
            sizes[name] = port.sizes if found is None else found.shape
            if not port.accepts(sizes[name]):
                raise DMLError(f"{layer}: its shape is {port.sizes}, found an array of shape {sizes[name]}")
            if found is not None:
                given[name] = found
                if may_be_number(port.dtype, found.shape):
                    numbers[name] = found.astype(port.dtype)
        if arrays:
            raise DMLError(f"no parameter {next(iter(arrays))!r}; the model has {', '.join(self.parameters)}")
        return self._compilations.get(sizes, numbers), given


def may_be_number(dtype: np.dtype[Any], sizes: Sequence[int]) -> bool:
    """Whether an array may be a shape, an axis, a count or a condition."""
    return dtype.kind in "biu" and len(sizes) < 2


def with_zeros(model: CompiledNetwork, given: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the given inputs, and zeros for the others."""
    ports = {name: layer.outputs[0] for name, layer in model.parameters.items()}
    zeros = {name: np.zeros(port.sizes) for name, port in ports.items() if not given.keys() & {name, *port.names}}
    return {**zeros, **given}


def static_model(
    model: CompiledNetwork | DynamicNetwork, inputs: Mapping[str, npt.NDArray[Any]], sizes: Mapping[str, int]
) -> tuple[CompiledNetwork, dict[str, int]]:
    """Return the model compiled for these inputs, and the sizes assumed for dynamic ones (see ``assumed_shape``).

    Raises DMLError for a size that no parameter has.
    """
    symbolic_sizes(map(parameter_summary, model.parameters.values()), sizes)
    if isinstance(model, CompiledNetwork):
        return model, {}
    given, taken = dict(inputs), dict[str, int]()
    for name, layer in model.parameters.items():
        port = layer.outputs[0]
        if not given.keys() & {name, *port.names}:
            shape = assumed_shape(layer, sizes)
            taken |= {f"{name}.{index}": shape[index] for index, size in enumerate(port.sizes) if size < 0}
            given[name] = np.broadcast_to(np.zeros(()), shape)
    return model.compiled_for(given), taken


def parameter_summary(parameter: IrLayer) -> ValueSummary:
    """Return a parameter's name, type and sizes; a dynamic size is named "x.0"."""
    return port_summary(parameter.name, parameter.outputs[0])


def port_summary(name: str, port: IrPort) -> ValueSummary:
    """Summarize any value as ``parameter_summary`` does."""
    sizes = tuple(f"{name}.{index}" if size < 0 else size for index, size in enumerate(port.sizes))
    return ValueSummary(name, str(port.dtype), sizes)


def assumed_shape(parameter: IrLayer, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return a parameter's sizes; a dynamic one, such as "x.0", is looked up in ``sizes``, else 1."""
    name, own = parameter.name, parameter.outputs[0].sizes
    return tuple(sizes.get(f"{name}.{index}", 1) if size < 0 else size for index, size in enumerate(own))
