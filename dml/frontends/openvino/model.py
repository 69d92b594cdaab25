"""OpenVINO's Model: a network read from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.api.device import Device, create_device
from dml.arguments import checked
from dml.errors import DMLError

from .convert import is_dynamic
from .ir import Network, parse_network, read_network, with_sizes
from .networks import CompiledNetwork, DynamicNetwork
from .parted import PartedNetwork, on_host, read_late
from .ports import ConstOutput, LayerNode, inputs_of, outputs_of, port_of
from .refused import with_refused_names
from .reshaping import reshaped, resolve_sizes
from .shapes import PartialShape
from .states import StatefulNetwork, split


@with_refused_names
class Model:
    """A model before compilation. ``compile`` and ``Core.compile_model`` compile it for a device."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.friendly_name = network.name

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(str, ports)) for ports in (self.inputs, self.outputs))
        return f"<Model: {self.friendly_name!r}\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __deepcopy__(self, memo: object) -> Model:
        return self.clone()

    def clone(self) -> Model:
        copy = Model(self.network)  # a Model replaces its network, and never changes it
        copy.friendly_name = self.friendly_name
        return copy

    @checked
    def compile(
        self, device: Device | None = None, *, fallback: bool = True
    ) -> CompiledNetwork | DynamicNetwork | PartedNetwork | StatefulNetwork:
        """Compile for a device; None is the default of ``dml.create_device()``.

        fallback: layers that cannot be mapped run on the host if openvino is installed; a ``HostNodesWarning`` names
        them. They run in a separate process, because a damaged file may crash OpenVINO. Otherwise raises DMLError that
        lists such layers, before anything runs.
        """
        device = device or create_device()
        found = split(self.network)
        # a variable with dynamic sizes may begin empty, which only parts accept
        grows = any(min(variable.sizes, default=1) < 0 for variable in found.variables)

        def compiled(network: Network) -> CompiledNetwork | DynamicNetwork | PartedNetwork:
            if grows or on_host(network) or read_late(network):
                return PartedNetwork(network, device, fallback=fallback)
            if _is_dynamic(network):
                return DynamicNetwork(network, device)
            return CompiledNetwork(with_sizes(network, {}), device)

        return StatefulNetwork(found, compiled) if found.variables else compiled(found.network)

    @property
    def inputs(self) -> list[ConstOutput]:
        return inputs_of(self.network)

    @property
    def outputs(self) -> list[ConstOutput]:
        return outputs_of(self.network)

    def input(self, key: int | str | None = None) -> ConstOutput:
        """Return the input with this number or name; None means the only one."""
        return port_of(self.inputs, key, "input")

    def output(self, key: int | str | None = None) -> ConstOutput:
        """Return the output with this number or name; None means the only one."""
        return port_of(self.outputs, key, "output")

    def is_dynamic(self) -> bool:
        """Whether a parameter has dynamic sizes."""
        return _is_dynamic(self.network)

    @property
    def dynamic(self) -> bool:
        return self.is_dynamic()

    @property
    def name(self) -> str:
        return self.network.name

    def get_name(self) -> str:
        return self.network.name

    def get_friendly_name(self) -> str:
        return self.friendly_name

    def set_friendly_name(self, name: str) -> None:
        self.friendly_name = name

    def get_ops(self) -> list[LayerNode]:
        """Return the layers in an order in which they can run."""
        return [LayerNode(layer) for layer in self.network.layers]

    def get_ordered_ops(self) -> list[LayerNode]:
        return self.get_ops()

    def get_parameters(self) -> list[LayerNode]:
        return [LayerNode(layer) for layer in self.network.of_type("Parameter")]

    @property
    def parameters(self) -> list[LayerNode]:
        return self.get_parameters()

    def get_results(self) -> list[LayerNode]:
        return [LayerNode(layer) for layer in self.network.of_type("Result")]

    @property
    def results(self) -> list[LayerNode]:
        return self.get_results()

    def get_output_size(self) -> int:
        return len(self.outputs)

    def get_output_shape(self, index: int) -> Any:
        return self.output(index).shape

    def get_output_partial_shape(self, index: int) -> PartialShape:
        return self.output(index).partial_shape

    def get_output_element_type(self, index: int) -> Any:
        return self.output(index).element_type

    @checked
    def reshape(self, partial_shape: Any) -> None:
        """Change the sizes of parameters.

        partial_shape: a shape for the only parameter, or shapes by number, name or port. A dynamic size (-1 or a range)
        has no limits afterwards. The outputs' sizes are known at once if all parameters have static sizes. Raises
        DMLError for another number of dimensions, for sizes that a layer refuses or that cannot be inferred; the model
        is then unchanged.
        """
        wanted = partial_shape if isinstance(partial_shape, Mapping) else {None: partial_shape}
        given: dict[str, tuple[int, ...]] = {}
        for key, shape in wanted.items():
            port = port_of(self.inputs, key, "input")
            sizes = tuple(item.min_length if item.is_static else -1 for item in _partial(shape))
            if len(sizes) != len(port.partial_shape):
                raise DMLError(f"Model.reshape: {port.any_name} has {len(port.partial_shape)} sizes, found {shape}")
            given[port.key] = sizes
        network = reshaped(self.network, given)
        if not (_is_dynamic(network) or on_host(network) or read_late(network)):
            resolve_sizes(network)
        self.network = network


def _is_dynamic(network: Network) -> bool:
    return any(map(is_dynamic, network.of_type("Parameter")))


def _partial(shape: Any) -> PartialShape:
    if isinstance(shape, PartialShape):
        return shape
    if not isinstance(shape, str | Sequence | Iterable):
        raise DMLError(f"Model.reshape: takes shapes, found {shape!r}")
    return PartialShape(shape)


@checked
def read_model(path: str | Path | bytes, weights: str | Path | bytes | None = None) -> Model:
    """Read an .xml file and the .bin next to it, or the bytes of both.

    Raises DMLError for anything that is not such a model.
    """
    if isinstance(path, bytes):
        return Model(parse_network(path, weights))
    return Model(read_network(path, None if isinstance(weights, bytes) else weights))
