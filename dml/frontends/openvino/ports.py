"""OpenVINO's ConstOutput: an input or output of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml.errors import DMLError

from .convert import named_results
from .element_types import Type
from .ir import IrLayer, Network
from .refused import with_refused_names
from .shapes import PartialShape, Shape


class LayerNode:
    """A layer of a model, for its names."""

    def __init__(self, layer: IrLayer) -> None:
        self._layer = layer

    def __repr__(self) -> str:
        return f"<{self._layer.type}: {self.friendly_name!r}>"

    @property
    def friendly_name(self) -> str:
        return self._layer.name

    @property
    def name(self) -> str:
        return self._layer.name

    def get_friendly_name(self) -> str:
        return self._layer.name

    def get_name(self) -> str:
        return self._layer.name

    def get_type_name(self) -> str:
        return self._layer.type


@with_refused_names
class ConstOutput:
    """An input or output of a model. key: the name of its array when the network is called."""

    def __init__(self, layer: IrLayer, key: str, side: str, index: int) -> None:
        source, output_index = (layer, 0) if side == "input" else layer.inputs[0]
        port = source.outputs[output_index]
        self.key = key
        self._place = (side, index)
        self._layer = layer
        self._names = set(port.names) or {key}
        self._element_type, self._sizes = port.element_type, port.sizes
        self._first = port.names[0] if port.names else key

    def __repr__(self) -> str:
        names = ", ".join(sorted(self._names))
        return f"<ConstOutput: names[{names}] shape{self.partial_shape} type: {self._element_type}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstOutput) and (self._place, self.key) == (other._place, other.key)

    def __hash__(self) -> int:
        return hash((self._place, self.key))

    @property
    def place(self) -> tuple[str, int]:
        """Side ("input" or "output") and number of the port."""
        return self._place

    def has_name(self, name: str) -> bool:
        return name in self._names or name == self.key

    @property
    def any_name(self) -> str:
        return self._first

    def get_any_name(self) -> str:
        return self._first

    @property
    def names(self) -> set[str]:
        return set(self._names)

    def get_names(self) -> set[str]:
        return set(self._names)

    @property
    def index(self) -> int:
        return 0

    def get_index(self) -> int:
        """Return the output's number among its node's outputs."""
        return 0

    @property
    def node(self) -> LayerNode:
        return LayerNode(self._layer)

    def get_node(self) -> LayerNode:
        return self.node

    @property
    def element_type(self) -> Type:
        return Type(self._element_type)

    def get_element_type(self) -> Type:
        return self.element_type

    @property
    def partial_shape(self) -> PartialShape:
        return PartialShape(self._sizes)

    def get_partial_shape(self) -> PartialShape:
        return self.partial_shape

    @property
    def shape(self) -> Shape:
        """The sizes. Raises DMLError if some are dynamic."""
        if self.partial_shape.is_dynamic:
            raise DMLError(f"{self.any_name}: its shape {self.partial_shape} is dynamic; use partial_shape")
        return self.partial_shape.to_shape()

    def get_shape(self) -> Shape:
        return self.shape


def inputs_of(network: Network) -> list[ConstOutput]:
    """Return the parameters' ports, in the file's order."""
    return [ConstOutput(layer, layer.name, "input", index) for index, layer in enumerate(network.of_type("Parameter"))]


def outputs_of(network: Network) -> list[ConstOutput]:
    """Return the results' ports, in the file's order."""
    results = named_results(network.layers).items()
    return [ConstOutput(layer, name, "output", index) for index, (name, layer) in enumerate(results)]


def port_of(ports: Sequence[ConstOutput], key: Any, side: str) -> ConstOutput:
    """Return the port for a number, a name or another port; None means the only one.

    side: "input" or "output", for error messages. Raises DMLError if there is no such port.
    """
    if key is None:
        if len(ports) == 1:
            return ports[0]
        raise DMLError(f"{side}: the model has {len(ports)} {side}s; name one of {_names(ports)}")
    if isinstance(key, ConstOutput):
        found = [port for port in ports if port == key]
    elif isinstance(key, str):
        found = [port for port in ports if port.has_name(key)]
    elif isinstance(key, int) and not isinstance(key, bool):
        found = [ports[key]] if 0 <= key < len(ports) else []
    else:
        raise DMLError(f"{side}: takes a number, a name or a port, found {type(key).__name__}")
    if not found:
        raise DMLError(f"the model has no {side} {key!r}; it has {_names(ports)}")
    return found[0]


def _names(ports: Sequence[ConstOutput]) -> str:
    return ", ".join(port.any_name for port in ports) or "none"
