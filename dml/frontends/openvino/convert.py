"""OpenVINO layers to a DML graph: the registry of mappings, and the values between layers."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.frontends.meaning.casts import as_type
from dml.frontends.openvino.compressed import Compressed, compressed, constant
from dml.frontends.openvino.ir import ELEMENT_TYPES, ENDS, IrLayer, Network, device_type, with_sizes
from dml.graph.builder import Builder, Tensor
from dml.shapes import checked_axis

#: A value between layers: a graph tensor, or an array known on the host (constants and shape arithmetic).
IrValue = Tensor | npt.NDArray[Any]


@dataclass(frozen=True)
class LateIrValue:
    """A tensor whose number of rows the graph computes: the first ``count`` of ``rows``.

    turned: the value is the transpose of those rows. Only a Result of the model may read it.
    """

    rows: Tensor
    count: Tensor
    turned: bool = False


Made = IrValue | LateIrValue
Mapping_ = Callable[["IrContext"], Made | Sequence[Made]]
_LAYERS: dict[str, Mapping_] = {}
#: Layer type -> how many of its first outputs have a size known only at run time.
_COUNTING: dict[str, int] = {}


def layer(*types: str, counts: int = 0) -> Callable[[Mapping_], Mapping_]:
    """Register a function that maps a layer's context to its outputs (or its one output).

    counts: how many of the first outputs are ``LateIrValue``.
    """

    def register(function: Mapping_) -> Mapping_:
        for name in types:
            _LAYERS[name] = function
            if counts:
                _COUNTING[name] = counts
        return function

    return register


class IrContext:
    """A layer while it is mapped: its attributes, its inputs and the graph that it is added to."""

    def __init__(
        self, graph: Builder, layer: IrLayer, values: Sequence[Any], read: AbstractSet[int] = frozenset()
    ) -> None:
        self.graph = graph
        self.layer = layer
        #: The inputs' values; constants that stay compressed are not dequantized here.
        self.given = values
        #: Indices of the outputs that are read.
        self.read = read

    @property
    def values(self) -> list[IrValue]:
        """The inputs' values, compressed constants dequantized."""
        return [self.value(index) for index in range(len(self.given))]

    def tensor(self, index: int, *, least: int = 0) -> Tensor:
        """Return an input as a tensor of the graph. least: the minimum rank."""
        found = self.as_tensor(self.value(index))
        self.check(found.rank >= least, f"input {index} must have at least rank {least}, found sizes {found.sizes}")
        return found

    def as_tensor(self, value: IrValue) -> Tensor:
        if isinstance(value, Tensor):
            return value
        return self.graph.constant(value if value.ndim else value.reshape(1), device_type(value.dtype))

    def tensors(self, count: int | None = None) -> list[Tensor]:
        """Return the first ``count`` inputs, by default all. Raises DMLError for a missing one."""
        return [self.tensor(index) for index in range(len(self.values) if count is None else count)]

    def known(self, index: int) -> npt.NDArray[Any]:
        """Return an input that must be constant. Raises DMLError if the graph computes it."""
        value = self.value(index)
        if isinstance(value, Tensor):
            raise self.error(f"input {index} must be a constant")
        return value

    def integers(self, index: int) -> list[int]:
        return [int(number) for number in np.ravel(self.known(index))]

    def single(self, index: int) -> Any:
        """Return the first number of a constant input. Raises DMLError if the input is empty."""
        numbers = np.ravel(self.known(index))
        self.check(numbers.size > 0, f"input {index} must hold a number, found an empty constant")
        return numbers[0]

    def integer(self, index: int) -> int:
        return int(self.single(index))

    def on_numbers(self, function: Callable[..., Any], *arguments: Any) -> npt.NDArray[Any]:
        """Apply a NumPy function to known arrays. Raises DMLError if NumPy refuses them."""
        try:
            with np.errstate(all="ignore"):
                return np.asarray(function(*arguments))
        except (ValueError, IndexError, ArithmeticError, MemoryError) as error:
            raise self.error(str(error)) from None

    def axis(self, number: int, rank: int) -> int:
        """Return an axis counted from the front; a negative one counts from the back."""
        return checked_axis(number, rank, str(self.layer))

    def each(self, name: str, count: int, default: int) -> list[int]:
        """Return an attribute of ``count`` integers; if the attribute is absent or empty, each is the default."""
        found = self.layer.integers(name) or [default] * count
        self.check(len(found) == count, f"attribute {name} must have {count} items, found {found}")
        return found

    def stored(self, index: int) -> Any:
        """Return an input's value. A constant that stays compressed is returned in its compressed form."""
        self.check(index < len(self.given), f"input {index} is missing")
        return self.given[index]

    def value(self, index: int) -> IrValue:
        given = self.stored(index)
        return given.value(self.graph) if isinstance(given, Compressed) else given

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the first output; {1} for a scalar."""
        return self.layer.outputs[0].sizes or (1,)

    @property
    def data_type(self) -> DML_TENSOR_DATA_TYPE:
        """Data type of the first output."""
        return device_type(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the first output."""
        return self.layer.outputs[0].dtype

    def converted(self, value: Tensor, index: int = 0) -> Tensor:
        """Cast the value to the data type of an output."""
        return as_type(value, device_type(self.layer.outputs[index].dtype))

    def check(self, holds: bool, rule: str) -> None:
        """Raise DMLError with the rule and the value that was found, unless the rule holds."""
        if not holds:
            raise self.error(rule)

    def error(self, message: str, hresult: HRESULT = HRESULT.E_INVALIDARG) -> DMLError:
        error = DMLError(message, hresult)
        error.at(str(self.layer), "model")
        return error


class BuiltNetwork:
    """A network that was put into a graph. outputs: by name; of a late output (see ``LateIrValue``), all rows.
    parameters, results: the layers of inputs and outputs, by the same names.

    late: name of an output with a computed number of rows -> name of the output with their count, and whether they are
    transposed. nodes: layer -> the numbers of its nodes in the Builder.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, Tensor] = {}
        self.parameters: dict[str, IrLayer] = {}
        self.results: dict[str, IrLayer] = {}
        #: Results without elements: no device tensor can hold them.
        self.empty: dict[str, npt.NDArray[Any]] = {}
        self.late: dict[str, tuple[str, bool]] = {}
        self.nodes: dict[IrLayer, range] = {}


def build(network: Network, graph: Builder, numbers: Mapping[str, npt.NDArray[Any]] | None = None) -> BuiltNetwork:
    """Put a network into a graph. numbers: parameters with values known here, by name.

    The parameters' sizes must be static. Other dynamic sizes are inferred from them and set in the network, except
    those of results known only at run time. Before anything is built, raises DMLError that lists every layer that
    cannot be mapped.
    """
    _check(network)
    built = BuiltNetwork()

    def parameter(context: IrContext) -> IrValue:
        if numbers and context.layer.name in numbers:
            return numbers[context.layer.name]
        built.parameters[context.layer.name] = context.layer
        if 0 in context.sizes:
            return np.zeros(context.sizes, context.dtype)
        return graph.input(context.layer.name, context.sizes, context.data_type)

    def result(context: IrContext) -> None:
        value: Made = context.value(0)
        source, index = context.layer.inputs[0]
        name = result_name(context.layer, built.results)
        if isinstance(value, LateIrValue):
            built.late[name] = f"{name}#count", value.turned
            built.outputs |= {name: value.rows, f"{name}#count": value.count}
        elif not isinstance(value, Tensor) and not value.size:
            built.empty[name] = value
        else:
            built.outputs[name] = tensor = context.tensor(0)
            sizes = source.outputs[index].sizes
            if abs(prod(sizes)) != tensor.desc.element_count:  # one size may be -1
                raise context.error(f"its sizes must be {sizes}, found {tensor.sizes}")
        built.results[name] = context.layer

    built.nodes = _run(network, graph, parameter, result)
    return built


def result_name(layer: IrLayer, taken: Container[str]) -> str:
    """Return the name of a Result's output: its tensor's first name, else the source layer's; if taken, the Result's
    own."""
    source, index = layer.inputs[0]
    name = (*source.outputs[index].names, source.name)[0]
    return layer.name if name in taken else name


def named_results(layers: Iterable[IrLayer]) -> dict[str, IrLayer]:
    """Return the Results among the layers by the names of their outputs."""
    found: dict[str, IrLayer] = {}
    for layer in layers:
        if layer.type == "Result":
            found[result_name(layer, found)] = layer
    return found


def build_body(network: Network, graph: Builder, given: Mapping[int, IrValue]) -> dict[int, IrValue]:
    """Put the network of a layer's body into the graph. given and the returned values are by layer id.

    Dynamic sizes in the body become those of the given values.
    """
    found: dict[int, IrValue] = {}

    def parameter(context: IrContext) -> IrValue:
        if context.layer.id not in given:
            raise context.error("it is a parameter of a body, to which the layer gives no value")
        return given[context.layer.id]

    def result(context: IrContext) -> None:
        found[context.layer.id] = context.value(0)

    _run(_with_values(network, given), graph, parameter, result)
    return found


def _with_values(network: Network, given: Mapping[int, IrValue]) -> Network:
    """Return the network or, if sizes are dynamic, a copy whose Parameters have the sizes of the given values."""
    if not any(map(is_dynamic, network.layers)):
        return network
    copy = with_sizes(network, {})
    for layer in copy.layers:
        if layer.type == "Parameter" and is_dynamic(layer) and layer.id in given:
            port, sizes = layer.outputs[0], sizes_of(given[layer.id])
            if not port.accepts(sizes):
                raise DMLError(f"{layer}: its shape is {port.sizes}, found {sizes}")
            layer.outputs[0] = replace(port, sizes=sizes)
    return copy


def sizes_of(value: Made) -> tuple[int, ...]:
    value = value.rows if isinstance(value, LateIrValue) else value
    return tuple(value.sizes if isinstance(value, Tensor) else value.shape)


def _run(
    network: Network, graph: Builder, parameter: Callable[[IrContext], IrValue], result: Callable[[IrContext], None]
) -> dict[IrLayer, range]:
    """Put the layers into the graph in order, and return the numbers of each layer's nodes.

    Layers that are computed on the host add no nodes.
    """
    # imported here, because these modules import this one
    from dml.frontends.openvino.empty import without_elements
    from dml.frontends.openvino.numbers import known
    from dml.frontends.openvino.sizes import infer_sizes

    values: dict[IrLayer, list[Any]] = {}  # only results read late values, see _check_counts
    read: dict[IrLayer, set[int]] = {}
    for layer in network.layers:
        for source, index in layer.inputs:
            read.setdefault(source, set()).add(index)
    nodes: dict[IrLayer, range] = {}
    for layer in network.layers:
        before = graph.added[0]
        inputs = [_output(values, source, index) for source, index in layer.inputs]
        context = IrContext(graph, layer, inputs, read.get(layer, set()))
        if is_dynamic(layer) and layer.inputs and not layer.bodies:
            resolved = zip(layer.outputs, infer_sizes(context), strict=True)
            layer.outputs[:] = [replace(port, sizes=sizes) for port, sizes in resolved]
        if layer.type == "Parameter":
            values[layer] = [parameter(context)]
        elif layer.type == "Const":
            values[layer] = [constant(network, layer)]
        elif layer.type == "Result":
            result(context)
        else:
            try:
                results: Any = without_elements(context)
                results = compressed(context) if results is None else results
                results = known(context) if results is None else results
                results = _LAYERS[layer.type](context) if results is None else results
            except DMLError as error:
                error.at(str(layer), "model")
                raise
            values[layer] = list(results) if isinstance(results, Sequence) else [results]
            if layer.bodies and is_dynamic(layer):
                pairs = zip(layer.outputs, values[layer], strict=True)
                layer.outputs[:] = [replace(port, sizes=sizes_of(value)) for port, value in pairs]
            nodes[layer] = range(before, graph.added[0])
    return nodes


@cache
def _mappings() -> dict[str, Mapping_]:
    """Return the mappings by layer type, after importing every module of mappings."""
    # imported by name, since these modules import this one
    package = importlib.import_module(f"{__package__}.layers")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _LAYERS


def counted_outputs(layer: IrLayer) -> int:
    """Return how many of the layer's first outputs have a row count known only at run time."""
    _mappings()
    return _COUNTING.get(layer.type, 0)


def is_mapped(kind: str) -> bool:
    """Return whether layers of this type have a mapping to operators."""
    return kind in _mappings()


def _every(network: Network) -> Iterator[IrLayer]:
    """Yield the layers of a network and of the bodies inside."""
    for layer in network.layers:
        yield layer
        for body in layer.bodies.values():
            yield from _every(body.network)


def check_layers(network: Network) -> None:
    """Raise DMLError that lists every layer that cannot be mapped, or that reads a size known only at run time."""
    check_types(network)
    _check_counts(network, is_outermost=True)


def check_types(network: Network, others: Collection[str] = ()) -> None:
    """Raise DMLError that lists every layer whose type is neither mapped nor among ``others``."""
    layers = list(_every(network))
    unknown = [str(layer) for layer in layers if not is_mapped(layer.type) and layer.type not in (*ENDS, *others)]
    kinds = [
        f"{layer} has an output of element type {port.element_type!r}"
        for layer in layers
        for port in layer.outputs
        if port.element_type not in ELEMENT_TYPES
    ]
    if unknown or kinds:
        raise DMLError(f"these layers cannot be mapped to DirectML: {'; '.join(unknown + kinds)}", HRESULT.E_NOTIMPL)


def _check(network: Network) -> None:
    """Raise DMLError as ``check_layers`` does, and for parameters with dynamic sizes."""
    check_layers(network)
    dynamic = [str(layer) for layer in network.of_type("Parameter") if is_dynamic(layer)]
    if dynamic:
        raise DMLError(f"the sizes of parameters must be given; dynamic are {'; '.join(dynamic[:5])}")


def is_dynamic(layer: IrLayer) -> bool:
    """Return whether the file leaves output sizes of the layer dynamic; those known only at run time do not count."""
    return layer.type not in _COUNTING and any(min(port.sizes, default=1) < 0 for port in layer.outputs)


def _check_counts(network: Network, *, is_outermost: bool) -> None:
    """Raise DMLError for a layer that reads a size known only at run time: only the model's results may."""
    for layer in network.layers:
        for source, index in layer.inputs:
            if index < _COUNTING.get(source.type, 0) and not (is_outermost and layer.type == "Result"):
                raise DMLError(
                    f"{layer}: reads a size that {source} computes at run time; only a Result of the model may",
                    HRESULT.DXGI_ERROR_UNSUPPORTED,
                )
        for body in layer.bodies.values():
            _check_counts(body.network, is_outermost=False)


def _output(values: dict[IrLayer, list[Any]], source: IrLayer, index: int) -> Any:
    if index >= len(values[source]):
        raise DMLError(f"{source}: its output {index} cannot be mapped to DirectML", HRESULT.E_NOTIMPL)
    return values[source][index]
