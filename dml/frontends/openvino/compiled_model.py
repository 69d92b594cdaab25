"""OpenVINO's CompiledModel, and the results of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.arguments import as_array, checked
from dml.errors import DMLError
from dml.runtime.recording import KernelTime

from .device_properties import DeviceProperties
from .element_types import type_of
from .host_tensor import Tensor
from .model import Model
from .networks import CompiledNetwork, with_zeros
from .ports import ConstOutput, port_of
from .refused import with_refused_names
from .states import StatefulNetwork, Values, VariableState, whole

if TYPE_CHECKING:
    from .infer_request import InferRequest

_Array = npt.NDArray[Any]


class InferResults(Mapping[ConstOutput, _Array]):
    """The outputs of a run in order, found by port, number or name."""

    def __init__(self, found: Mapping[ConstOutput, _Array]) -> None:
        self._found = dict(found)

    def __repr__(self) -> str:
        return repr(self._found)

    def __iter__(self) -> Iterator[ConstOutput]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, key: Any) -> _Array:
        try:
            return self._found[port_of(list(self._found), key, "output")]
        except DMLError:
            raise KeyError(key) from None

    def names(self) -> tuple[set[str], ...]:
        return tuple(port.names for port in self._found)

    def to_dict(self) -> dict[ConstOutput, _Array]:
        return dict(self._found)

    def to_tuple(self) -> tuple[_Array, ...]:
        return tuple(self._found.values())


@with_refused_names
class CompiledModel:
    """A model compiled for a device, under OpenVINO's names; ``Core.compile_model`` makes it.

    Call it with arrays: one, a sequence in the parameters' order, or a mapping by port, number or name.
    """

    def __init__(self, model: Model, device: Device, properties: DeviceProperties) -> None:
        self.network = model.compile(device)
        #: The variables' values in this model's own runs.
        self._values: Values = {}
        self.inputs, self.outputs = model.inputs, model.outputs
        self._name = model.friendly_name
        self._properties = properties

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(str, ports)) for ports in (self.inputs, self.outputs))
        return f"<CompiledModel:\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"

    @checked
    def __call__(
        self, inputs: Any = None, share_inputs: bool = True, share_outputs: bool = False, *, decode_strings: bool = True
    ) -> InferResults:
        """Run, and return the outputs. Raises DMLError for a missing, unknown or misshapen input."""
        return self.run(self.feeds(inputs))

    def infer_new_request(self, inputs: Any = None) -> InferResults:
        return self(inputs)

    def create_infer_request(self) -> InferRequest:
        from .infer_request import InferRequest

        return InferRequest(self)

    def input(self, key: int | str | None = None) -> ConstOutput:
        """Return the input with this number or name; None means the only one."""
        return port_of(self.inputs, key, "input")

    def output(self, key: int | str | None = None) -> ConstOutput:
        """Return the output with this number or name; None means the only one."""
        return port_of(self.outputs, key, "output")

    def get_property(self, name: str) -> Any:
        """Return a property's configured value, else the device's. Raises DMLError for an unknown one."""
        return {"NETWORK_NAME": self._name}.get(str(name)) or self._properties.get(str(name))

    def release_memory(self) -> None:
        """Do nothing: memory is freed with the model."""

    def query_state(self) -> list[VariableState]:
        """Return the variables, which calls of the model keep; each InferRequest has its own."""
        return self.states(self._values)

    def reset_state(self) -> None:
        """Reset the variables to their initial values."""
        self._values.clear()

    def states(self, values: Values) -> list[VariableState]:
        """Return the model's variables, backed by these values."""
        network = self.network
        return (
            [VariableState(variable, values) for variable in network.variables]
            if isinstance(network, StatefulNetwork)
            else []
        )

    def feeds(self, inputs: Any) -> dict[ConstOutput, _Array]:
        """Return the given arrays by port."""
        if inputs is None:
            items: list[tuple[Any, Any]] = []
        elif isinstance(inputs, Mapping):
            items = list(inputs.items())
        elif isinstance(inputs, list | tuple) and (len(self.inputs) != 1 or _holds_arrays(inputs)):
            if len(inputs) > len(self.inputs):
                raise DMLError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
            items = list(enumerate(inputs))
        else:
            items = [(None, inputs)]
        given: dict[ConstOutput, _Array] = {}
        for key, value in items:
            where = "the input" if key is None else f"input {key.any_name if isinstance(key, ConstOutput) else key!r}"
            given[port_of(self.inputs, key, "input")] = (
                value.data if isinstance(value, Tensor) else as_array(value, where)
            )
        return given

    def run(self, feeds: Mapping[ConstOutput, _Array], values: Values | None = None) -> InferResults:
        """Run with these arrays. values: values of the variables, instead of the model's own."""
        given = {port.key: array for port, array in feeds.items()}
        if isinstance(self.network, StatefulNetwork):
            found = self.network(given, self._values if values is None else values)
        else:
            found = self.network(given)
        return InferResults({port: found[port.key] for port in self.outputs})

    def profile(self, feeds: Mapping[ConstOutput, _Array]) -> tuple[CompiledNetwork, list[KernelTime]]:
        """Run, and return the network for these sizes and the time of each dispatch."""
        given = {port.key: array for port, array in feeds.items()}
        graph = whole(self.network)
        network = graph if isinstance(graph, CompiledNetwork) else graph.compiled_for(given)
        return network, network.compiled.profile(network.prepare(with_zeros(network, given)))


def _holds_arrays(items: Sequence[Any]) -> bool:
    """Return whether a sequence, given for one parameter, holds its array rather than its elements."""
    return len(items) == 1 and isinstance(items[0], np.ndarray | Tensor | list | tuple)


def empty_tensor(port: ConstOutput) -> Tensor:
    """Return a tensor of zeros for a port; a dynamic size is 0."""
    sizes = [item.min_length if item.is_static else 0 for item in port.partial_shape]
    return Tensor(np.zeros(sizes, type_of(port.element_type).to_dtype()), shared_memory=True)
