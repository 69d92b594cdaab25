"""Models with variables: ReadValue returns the value that Assign wrote in the previous run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.graph.model import reachable

from .convert import named_results
from .element_types import type_of
from .host_tensor import Tensor
from .ir import ELEMENT_TYPES, IrLayer, Network, accepts
from .networks import CompiledNetwork, DynamicNetwork
from .parted import PartedNetwork
from .refused import with_refused_names

_Array = npt.NDArray[Any]
Values = MutableMapping[str, _Array]
#: The types of layers that read and write variables.
STATE_TYPES = ("ReadValue", "Assign")


@dataclass(frozen=True)
class Variable:
    """A variable's id, element type and sizes (-1: any).

    parameter, result: the names of its Parameter and Result in the network without variables; None if the model does
    not read it, or does not write it.
    """

    name: str
    element_type: str
    sizes: tuple[int, ...]
    parameter: str | None
    result: str | None

    def zeros(self) -> _Array:
        """Return zeros as the initial value; dynamic sizes are 0."""
        return np.zeros([max(0, size) for size in self.sizes], ELEMENT_TYPES[self.element_type])


@dataclass(frozen=True)
class Split:
    """A network whose variables are parameters and results.

    initial: a network that computes initial values of variables from the parameters; None if none has one.
    """

    network: Network
    variables: list[Variable]
    initial: Network | None


def split(network: Network) -> Split:
    """Replace each ReadValue by a Parameter and each Assign by a Result.

    Raises DMLError if a variable is read or written twice, or if its initial value depends on another variable.
    """
    reads, writes = (_by_variable(network, kind) for kind in STATE_TYPES)
    if not reads and not writes:
        return Split(network, [], None)
    copies = {layer: replace(layer, outputs=list(layer.outputs), inputs=[]) for layer in network.layers}
    for layer, copied in copies.items():
        copied.inputs = [_copied(copies, source, index) for source, index in layer.inputs]
    begins = {name: copies[layer].inputs[0] for name, layer in reads.items() if layer.inputs}
    for name, layer in reads.items():
        copied = copies[layer]
        copied.type, copied.name, copied.attributes = "Parameter", f"variable {name}", {}
        copied.inputs, copied.input_ports = [], []
    for name, layer in writes.items():
        copied = copies[layer]
        copied.type, copied.name, copied.attributes, copied.outputs = "Result", f"assign {name}", {}, []
    ends = [layer for layer in copies.values() if layer.type == "Result"]
    # the model's own results come first, so that they keep their names
    ends.sort(key=lambda layer: layer.name in {f"assign {name}" for name in writes})
    main = _network_of(network, copies.values(), ends)
    named = {layer: name for name, layer in named_results(ends).items()}
    variables = []
    for name in dict.fromkeys([*reads, *writes]):
        source, index = (reads[name], 0) if name in reads else writes[name].inputs[0]
        variables.append(
            Variable(
                name,
                source.outputs[index].element_type,
                source.outputs[index].sizes,
                f"variable {name}" if name in reads else None,
                named[copies[writes[name]]] if name in writes else None,
            )
        )
    return Split(main, variables, _initial(network, copies, begins) if begins else None)


def _by_variable(network: Network, kind: str) -> dict[str, IrLayer]:
    found: dict[str, IrLayer] = {}
    for layer in network.layers:
        if layer.type == kind:
            name = layer.text("variable_id")
            if name in found or not (layer.outputs if kind == "ReadValue" else layer.inputs):
                raise DMLError(f"{layer}: variable {name!r} must have one {kind} with one value", HRESULT.E_NOTIMPL)
            found[name] = layer
    return found


def _copied(copies: Mapping[IrLayer, IrLayer], source: IrLayer, index: int) -> tuple[IrLayer, int]:
    """Return the copy of a value; the value of an Assign is its input."""
    while source.type == "Assign" and source.inputs:
        source, index = source.inputs[0]
    return copies[source], index


def _initial(network: Network, copies: Mapping[IrLayer, IrLayer], begins: Mapping[str, tuple[IrLayer, int]]) -> Network:
    number = max(layer.id for layer in network.layers)
    ends = []
    for layer_id, (name, (source, index)) in enumerate(begins.items(), number + 1):
        ends.append(IrLayer(layer_id, f"initial {name}", "Result", "opset1", {}, [0], inputs=[(source, index)]))
    initial = _network_of(network, copies.values(), ends)
    others = {copies[layer] for layer in network.layers if layer.type == "ReadValue"}
    for layer in initial.layers:
        for source, _ in layer.inputs:
            if source in others:
                raise DMLError(f"{layer}: a variable's initial value depends on another variable", HRESULT.E_NOTIMPL)
    return replace(initial, layers=[layer for layer in initial.layers if layer not in others])


def _network_of(network: Network, layers: Any, ends: list[IrLayer]) -> Network:
    """Return a network of all parameters, these results and the layers that they need."""
    needed = reachable(ends, lambda layer: [source for source, _ in layer.inputs])
    kept = [layer for layer in layers if layer.type == "Parameter" or (layer in needed and layer.type != "Result")]
    return replace(network, layers=[*kept, *ends])


class StatefulNetwork:
    """A network whose variables keep their values between calls; call it with arrays by parameter name.

    compiled: compiles a network for the device.
    """

    def __init__(
        self, found: Split, compiled: Callable[[Network], CompiledNetwork | DynamicNetwork | PartedNetwork]
    ) -> None:
        self.variables = found.variables
        #: The compiled network, with the variables among its parameters and results.
        self.inner = compiled(found.network)
        self._initial = None if found.initial is None else compiled(found.initial)
        own = {variable.parameter for variable in found.variables}
        self.parameters = {name: layer for name, layer in self.inner.parameters.items() if name not in own}
        self._begins = _begun(found)
        self._values: Values = {}

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike], values: Values | None = None) -> dict[str, _Array]:
        """Run, and return the results by tensor name. values: the variables' values by id, used and updated in place of
        the network's own; missing ones get the model's initial value, else zeros. A failed run changes none.

        Raises DMLError for a missing, unknown or misshapen input.
        """
        values = self._values if values is None else values
        given = dict(inputs)
        for variable in self.variables:
            if variable.parameter in given:
                raise DMLError(f"no parameter {variable.parameter!r}; the model has {', '.join(self.parameters)}")
        absent = [item for item in self.variables if item.parameter is not None and item.name not in values]
        begun: dict[str, _Array] = {}
        if self._initial is not None and any(item.name in self._begins for item in absent):
            begun = self._initial({name: array for name, array in given.items() if self._takes(name)})
        for item in self.variables:
            if item.parameter is not None:
                found = values.get(item.name)
                if found is None:
                    found = begun[self._begins[item.name]] if item.name in self._begins else item.zeros()
                given[item.parameter] = found
        outputs = self.inner(given)
        written = {item.name: outputs.pop(item.result) for item in self.variables if item.result is not None}
        kept = {item.name: np.asarray(given[item.parameter]) for item in self.variables if item.parameter is not None}
        values.update(kept | written)
        return outputs

    def _takes(self, name: str) -> bool:
        assert self._initial is not None
        layers = self._initial.parameters.values()
        return any(name in (layer.name, *layer.outputs[0].names) for layer in layers)

    def reset_state(self) -> None:
        """Reset all variables to their initial values."""
        self._values.clear()


def _begun(found: Split) -> dict[str, str]:
    """Return, for each variable that the initial network computes, the name of the result."""
    results = {} if found.initial is None else named_results(found.initial.layers)
    return {layer.name.removeprefix("initial "): name for name, layer in results.items()}


def without_variables(
    model: CompiledNetwork | DynamicNetwork | PartedNetwork | StatefulNetwork,
) -> CompiledNetwork | DynamicNetwork | PartedNetwork:
    """Return the compiled network; a model with variables has them among its parameters and results."""
    return model.inner if isinstance(model, StatefulNetwork) else model


def whole(
    model: CompiledNetwork | DynamicNetwork | PartedNetwork | StatefulNetwork,
) -> CompiledNetwork | DynamicNetwork:
    """Return a model that is one graph on the device; variables are parameters and results of it.

    Raises DMLError if it runs in parts.
    """
    model = without_variables(model)
    if isinstance(model, PartedNetwork):
        host = ", ".join(str(layer) for part in model.parts if part.on_host for layer in part.host_layers)
        why = f"{host} run on the host" if host else "layers read outputs whose sizes other layers compute"
        raise DMLError(f"the model runs in {len(model.parts)} parts, not as one graph: {why}", HRESULT.E_NOTIMPL)
    return model


@with_refused_names
class VariableState:
    """A variable of an InferRequest or CompiledModel, by OpenVINO's names."""

    def __init__(self, variable: Variable, values: Values) -> None:
        self._variable = variable
        self._values = values

    def __repr__(self) -> str:
        return "<VariableState>"

    @property
    def name(self) -> str:
        return self._variable.name

    @property
    def state(self) -> Tensor:
        """A copy of the value that the next run reads. Before the first run: zeros."""
        found = self._values.get(self.name)
        return Tensor(np.array(self._variable.zeros() if found is None else found), shared_memory=True)

    @state.setter
    def state(self, tensor: Tensor) -> None:
        own, kind = self._variable.sizes, type_of(self._variable.element_type)
        if not isinstance(tensor, Tensor) or tensor.element_type != kind:
            raise DMLError(f"variable {self.name!r}: takes a Tensor of {kind}, found {tensor!r}")
        sizes = tuple(tensor.data.shape)
        if not accepts(own, sizes):
            raise DMLError(f"variable {self.name!r}: its shape is {own}, found {sizes}")
        self._values[self.name] = np.array(tensor.data)

    def reset(self) -> None:
        """Reset the variable to its initial value."""
        self._values.pop(self.name, None)
