"""Models with variables: ReadValue begins with what Assign wrote in the run before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

from .convert import result_name
from .element_types import type_of
from .host_tensor import Tensor
from .ir import ELEMENT_TYPES, IrLayer, Network
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

    parameter, result: of the network without variables, where the model reads it and writes it.
    """

    name: str
    element_type: str
    sizes: tuple[int, ...]
    parameter: str | None
    result: str | None

    def zeros(self) -> _Array:
        """Its value before anything was written or computed; open sizes are 0."""
        return np.zeros([max(0, size) for size in self.sizes], ELEMENT_TYPES[self.element_type])


@dataclass(frozen=True)
class Split:
    """A network whose variables are parameters and results.

    initial: what computes variables before the first run, by their ids, from the parameters.
    """

    network: Network
    variables: list[Variable]
    initial: Network | None


def split(network: Network) -> Split:
    """Put a Parameter for each ReadValue, a Result for each Assign.

    Raises DMLError where a variable is read or written twice, or begins with another one's value.
    """
    reads, writes = (_by_variable(network, kind) for kind in STATE_TYPES)
    if not reads and not writes:
        return Split(network, [], None)
    copies = {layer: replace(layer, outputs=list(layer.outputs), inputs=[]) for layer in network.layers}
    for layer, made in copies.items():
        made.inputs = [_copied(copies, source, index) for source, index in layer.inputs]
    begins = {name: copies[layer].inputs[0] for name, layer in reads.items() if layer.inputs}
    for name, layer in reads.items():
        made = copies[layer]
        made.type, made.name, made.attributes = "Parameter", f"variable {name}", {}
        made.inputs, made.input_ports = [], []
    for name, layer in writes.items():
        made = copies[layer]
        made.type, made.name, made.attributes, made.outputs = "Result", f"assign {name}", {}, []
    ends = [layer for layer in copies.values() if layer.type == "Result"]
    # (a tensor's name is that of the model's own result first)
    ends.sort(key=lambda layer: layer.name in {f"assign {name}" for name in writes})
    main = _network_of(network, copies.values(), ends)
    results: dict[str, IrLayer] = {}
    for layer in ends:
        results[result_name(layer, results)] = layer
    named = {layer: name for name, layer in results.items()}
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
                raise DMLError(f"{layer}: variable {name!r} must have one {kind}, of one value", HRESULT.E_NOTIMPL)
            found[name] = layer
    return found


def _copied(copies: Mapping[IrLayer, IrLayer], source: IrLayer, index: int) -> tuple[IrLayer, int]:
    """The copy of a value. An Assign's is what it writes."""
    while source.type == "Assign" and source.inputs:
        source, index = source.inputs[0]
    return copies[source], index


def _initial(network: Network, copies: Mapping[IrLayer, IrLayer], begins: Mapping[str, tuple[IrLayer, int]]) -> Network:
    number = max(layer.id for layer in network.layers)
    ends = []
    for at, (name, (source, index)) in enumerate(begins.items(), number + 1):
        ends.append(IrLayer(at, f"initial {name}", "Result", "opset1", {}, [0], inputs=[(source, index)]))
    made = _network_of(network, copies.values(), ends)
    others = {copies[layer] for layer in network.layers if layer.type == "ReadValue"}
    for layer in made.layers:
        for source, _ in layer.inputs:
            if source in others:
                raise DMLError(f"{layer}: a variable begins with the value of another one", HRESULT.E_NOTIMPL)
    return replace(made, layers=[layer for layer in made.layers if layer not in others])


def _network_of(network: Network, layers: Any, ends: list[IrLayer]) -> Network:
    """The parameters, and what these results need."""
    needed: set[IrLayer] = set()
    open_ = list(ends)
    while open_:
        layer = open_.pop()
        if layer not in needed:
            needed.add(layer)
            open_ += [source for source, _ in layer.inputs]
    kept = [layer for layer in layers if layer.type == "Parameter" or (layer in needed and layer.type != "Result")]
    return replace(network, layers=[*kept, *ends])


class StatefulNetwork:
    """A network with variables, kept from call to call; call it with arrays by the names of its parameters.

    compiled: makes a network for the device.
    """

    def __init__(
        self, found: Split, compiled: Callable[[Network], CompiledNetwork | DynamicNetwork | PartedNetwork]
    ) -> None:
        self.variables = found.variables
        #: What runs: its parameters and results have the variables among them.
        self.inner = compiled(found.network)
        self._initial = None if found.initial is None else compiled(found.initial)
        own = {variable.parameter for variable in found.variables}
        self.parameters = {name: layer for name, layer in self.inner.parameters.items() if name not in own}
        self._begins = {} if self._initial is None else _begun(found)
        self._values: Values = {}

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike], values: Values | None = None) -> dict[str, _Array]:
        """The results by the names of their tensors. values: the variables' by their ids, in place of the network's
        own; those that are not there are computed as the model says, or zeros. A run that fails changes none.

        Raises DMLError for a missing, unknown or misshapen input.
        """
        values = self._values if values is None else values
        given = dict(inputs)
        for variable in self.variables:
            if variable.parameter in given:
                raise DMLError(f"no parameter {variable.parameter!r}; the model has {', '.join(self.parameters)}")
        absent = [one for one in self.variables if one.parameter is not None and one.name not in values]
        begun: dict[str, _Array] = {}
        if self._initial is not None and any(one.name in self._begins for one in absent):
            begun = self._initial({name: array for name, array in given.items() if self._takes(name)})
        for one in self.variables:
            if one.parameter is not None:
                found = values.get(one.name)
                if found is None:
                    found = begun[self._begins[one.name]] if one.name in self._begins else one.zeros()
                given[one.parameter] = found
        outputs = self.inner(given)
        written = {one.name: outputs.pop(one.result) for one in self.variables if one.result is not None}
        kept = {one.name: np.asarray(given[one.parameter]) for one in self.variables if one.parameter is not None}
        values.update(kept | written)
        return outputs

    def _takes(self, name: str) -> bool:
        assert self._initial is not None
        layers = self._initial.parameters.values()
        return any(name in (layer.name, *layer.outputs[0].names) for layer in layers)

    def reset_state(self) -> None:
        """Let variables begin anew."""
        self._values.clear()


def _begun(found: Split) -> dict[str, str]:
    """Variable -> the result of the initial network that it begins with."""
    assert found.initial is not None
    results: dict[str, IrLayer] = {}
    for layer in found.initial.layers:
        if layer.type == "Result":
            results[result_name(layer, results)] = layer
    return {layer.name.removeprefix("initial "): name for name, layer in results.items()}


def without_variables(
    model: CompiledNetwork | DynamicNetwork | PartedNetwork | StatefulNetwork,
) -> CompiledNetwork | DynamicNetwork | PartedNetwork:
    """What runs: of a model with variables, the network that has them among its parameters."""
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
        why = f"on the host run {host}" if host else "layers read what others count"
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
        """The value that the next run begins with: a copy. Zeros before the first run."""
        found = self._values.get(self.name)
        return Tensor(np.array(self._variable.zeros() if found is None else found), shared_memory=True)

    @state.setter
    def state(self, tensor: Tensor) -> None:
        own, kind = self._variable.sizes, type_of(self._variable.element_type)
        if not isinstance(tensor, Tensor) or tensor.element_type != kind:
            raise DMLError(f"variable {self.name!r}: takes a Tensor of {kind}, found {tensor!r}")
        sizes = tuple(tensor.data.shape)
        if len(sizes) != len(own) or any(size not in (-1, given) for size, given in zip(own, sizes, strict=True)):
            raise DMLError(f"variable {self.name!r}: its shape is {own}, found {sizes}")
        self._values[self.name] = np.array(tensor.data)

    def reset(self) -> None:
        """Let the variable begin anew."""
        self._values.pop(self.name, None)
