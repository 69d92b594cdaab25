"""Reads OpenVINO IR: a graph of layers in XML, and a file with the bytes of its constants. Neither file is trusted.

Reference: OpenVINO's IR format (versions 10 and 11).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, ParseError

import ml_dtypes
import numpy as np
import numpy.typing as npt

from dml import enums
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.files import reading
from dml.frontends.extras import missing
from dml.frontends.meaning.codes import NF4
from dml.stored import check_unchanged, mapped
from dml.tensors import data_type_of

try:
    from defusedxml import DefusedXmlException
    from defusedxml import ElementTree as xml
except ModuleNotFoundError as error:
    raise missing("OpenVINO models need", "openvino", error) from error

_Number = TypeVar("_Number", int, float)

#: Element types by their names in <data element_type>; <port precision> has the names in upper case.
ELEMENT_TYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "boolean": np.bool_,
}
_PRECISIONS = {name.upper(): name for name in ELEMENT_TYPES} | {
    "FP64": "f64", "FP32": "f32", "FP16": "f16", "BF16": "bf16", "BOOL": "boolean",
}  # fmt: skip
#: Element types of compressed constants -> bits of an element, and the type that elements are read as.
_COMPRESSED = {"u4": (4, "u8"), "i4": (4, "i8"), "nf4": (4, "f32"), "f8e4m3": (8, "f16"), "f8e5m2": (8, "f16")}
#: Types of layers that are not operations.
ENDS = ("Parameter", "Const", "Result")
#: Layers whose results may be compressed: they hold or move elements of these types.
_MOVES = frozenset({"Const", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
_FLOAT8 = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}
_MAX_RANK = 8
#: Largest dimension: DirectML's sizes have 32 bits.
_MAX_SIZE = (1 << 32) - 1


def device_type(dtype: np.dtype[Any]) -> DML_TENSOR_DATA_TYPE:
    """Return a dtype's data type: booleans are UINT8; double and bfloat16 are computed as FLOAT32.

    FLOAT32 holds every bfloat16 exactly.
    """
    if dtype.name in ("float64", "bfloat16"):
        return enums.DML_TENSOR_DATA_TYPE_FLOAT32
    return data_type_of(dtype)


@dataclass(frozen=True)
class IrPort:
    """An output of a layer: its number, element type and sizes (-1: dynamic)."""

    id: int
    element_type: str
    sizes: tuple[int, ...]
    names: tuple[str, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = np.dtype(ELEMENT_TYPES[self.element_type])
        return found

    def accepts(self, sizes: Sequence[int]) -> bool:
        """Return whether a value may have these sizes."""
        return accepts(self.sizes, sizes)


def accepts(own: Sequence[int], sizes: Sequence[int]) -> bool:
    """Return whether sizes, where -1 means any size, allow these others."""
    return len(own) == len(sizes) and all(a in (-1, b) for a, b in zip(own, sizes, strict=True))


@dataclass(eq=False)
class IrLayer:
    """A <layer>. inputs: (layer, index of its output) in the order of the input ports."""

    id: int
    name: str
    type: str
    version: str
    attributes: dict[str, str]
    input_ports: list[int] = field(default_factory=list)
    outputs: list[IrPort] = field(default_factory=list)
    inputs: list[tuple[IrLayer, int]] = field(default_factory=list)
    #: Networks inside the layer, by tag: body, then_body, else_body.
    bodies: dict[str, IrBody] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"layer {self.id} ({self.type} {self.name!r})"

    # Attributes, by kind. A wrong value raises a DMLError that names layer, attribute and value.

    def text(self, name: str, default: str | None = None) -> str:
        value = self.attributes.get(name, default)
        if value is None:
            raise DMLError(f"{self}: attribute {name} is missing")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        (found,) = self._parsed(float, "a number", name, [self.text(name, None if default is None else repr(default))])
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        (found,) = self._parsed(int, "an integer", name, [self.text(name, None if default is None else str(default))])
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.text(name, str(default)).lower()
        if value not in ("true", "false", "1", "0"):
            raise DMLError(f"{self}: attribute {name} must be true or false, found {value!r}")
        return value in ("true", "1")

    def texts(self, name: str) -> list[str]:
        """Return the items of a comma-separated list; none if the attribute is absent."""
        return [item.strip() for item in self.attributes.get(name, "").split(",") if item.strip()]

    def numbers(self, name: str) -> list[float]:
        return self._parsed(float, "numbers", name, self.texts(name))

    def integers(self, name: str) -> list[int]:
        return self._parsed(int, "integers", name, self.texts(name))

    def _parsed(self, kind: Callable[[str], _Number], what: str, name: str, items: Sequence[str]) -> list[_Number]:
        try:
            return [kind(item) for item in items]
        except ValueError:
            found = self.attributes[name]
            raise DMLError(f"{self}: attribute {name} must be {what}, found {found!r}") from None


@dataclass(frozen=True)
class PortMap:
    """Connects a port of a layer to a Parameter or Result of its body, by their ids; port -1 means none.

    axis: the axis along which each iteration takes a slice of the port's value; None for the whole value. start, end:
    the range of the slices. stride: the step from one to the next. part: a slice's size.
    """

    port: int
    layer: int
    purpose: str
    axis: int | None
    start: int
    end: int
    stride: int
    part: int


@dataclass
class IrBody:
    """A network inside a layer. back: Parameter -> the Result whose value it takes in the next iteration."""

    network: Network
    inputs: list[PortMap]
    outputs: list[PortMap]
    back: dict[int, int]


@dataclass
class Network:
    """Layers in an order in which they can run, and the bytes of their constants."""

    name: str
    version: int
    layers: list[IrLayer]
    weights: memoryview

    def of_type(self, kind: str) -> list[IrLayer]:
        return [layer for layer in self.layers if layer.type == kind]

    @property
    def parameters(self) -> dict[str, IrLayer]:
        """The Parameter layers by name."""
        return {layer.name: layer for layer in self.of_type("Parameter")}

    def constant(self, layer: IrLayer) -> npt.NDArray[Any]:
        """Return the array of a Const layer. Raises DMLError if its bytes lie outside the .bin file."""
        kind = layer.text("element_type")
        data, sizes = self.constant_bytes(layer)
        dtype = np.dtype(ELEMENT_TYPES[_COMPRESSED.get(kind, (0, kind))[1]])
        if not prod(sizes):
            return np.zeros(sizes, dtype)
        if kind in _COMPRESSED:
            return decompressed(data, kind, prod(sizes)).astype(dtype).reshape(sizes)
        return np.frombuffer(data, dtype).reshape(sizes)

    def constant_bytes(self, layer: IrLayer) -> tuple[memoryview, tuple[int, ...]]:
        """Return the bytes and the sizes of a Const layer. Raises as ``constant``."""
        kind = layer.text("element_type")
        bits, read_as = _COMPRESSED.get(kind, (0, kind))
        if read_as not in ELEMENT_TYPES:
            raise DMLError(f"{layer}: element type {kind!r} is not supported")
        sizes = tuple(layer.integers("shape"))
        offset, size = layer.integer("offset"), layer.integer("size")
        count, bits = prod(sizes), bits or 8 * np.dtype(ELEMENT_TYPES[read_as]).itemsize
        if not count and min(sizes) >= 0:
            return memoryview(b""), sizes  # openvino stores a byte
        if min(sizes, default=0) < 0 or -(-count * bits // 8) != size:
            raise DMLError(f"{layer}: {size} bytes are not an array of shape {sizes} of {kind}")
        if offset < 0 or offset + size > len(self.weights):
            has = f"the {len(self.weights)} of the .bin file" if self.weights else "the .bin file, which is missing"
            raise DMLError(f"{layer}: bytes {offset} to {offset + size} lie outside {has}")
        check_unchanged(self.weights)
        return self.weights[offset : offset + size], sizes


def decompressed(data: Any, kind: str, count: int) -> npt.NDArray[Any]:
    """Return the elements of a constant of 4 or 8 bits. Of two in a byte, the first is in the lower bits."""
    if kind in _FLOAT8:
        return np.frombuffer(data, _FLOAT8[kind])
    if kind in ("i8", "u8"):
        return np.frombuffer(data, ELEMENT_TYPES[kind])
    each = np.frombuffer(data, np.uint8)
    codes = np.stack([each & 15, each >> 4], axis=1).reshape(-1)[:count]
    if kind == "i4":
        return (codes.astype(np.int8) ^ 8) - 8
    return np.array(NF4, np.float32)[codes] if kind == "nf4" else codes


def with_sizes(network: Network, given: Mapping[str, Sequence[int]]) -> Network:
    """Return a copy of the network with other sizes for the given parameters; the copy shares the layers of bodies."""
    copies = {layer: replace(layer, outputs=list(layer.outputs), inputs=[]) for layer in network.layers}
    for layer, copied in copies.items():
        copied.inputs = [(copies[source], index) for source, index in layer.inputs]
        if layer.type == "Parameter" and layer.name in given:
            copied.outputs = [replace(layer.outputs[0], sizes=tuple(given[layer.name]))]
    return replace(network, layers=list(copies.values()))


def read_network(path: str | Path, weights: str | Path | None = None) -> Network:
    """Read an .xml file and its .bin, by default the file of the same name; without constants it may be absent.

    Raises DMLError for files that cannot be read, broken XML, a version other than 10 and 11, edges that lead nowhere,
    and cycles.
    """
    path = Path(path)
    with reading(path):
        text = path.read_bytes()
    data_path = Path(weights) if weights is not None else path.with_suffix(".bin")
    if data_path.exists() or weights is not None:
        with reading(data_path):
            data = mapped(data_path)
    else:
        data = memoryview(b"")
    return _parsed(text, data, str(path))


def parse_network(text: bytes, weights: bytes | str | Path | None = None) -> Network:
    """Parse the bytes of an .xml file. weights: the bytes or the path of its .bin. Raises as ``read_network``."""
    if isinstance(weights, str | Path):
        with reading(weights):
            data = mapped(Path(weights))
    else:
        data = memoryview(weights or b"")
    return _parsed(text, data, "the model")


def _parsed(text: bytes, weights: memoryview, where: str) -> Network:
    try:
        root = xml.fromstring(text)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise DMLError(f"{where}: not an OpenVINO model: {error!r}") from error
    try:
        return _network(root, weights)
    except DMLError as error:
        raise DMLError(f"{where}: {error.message}", error.hresult) from error


def _integer(element: Element, name: str, default: int | None = None) -> int:
    value = element.get(name, "" if default is None else str(default))
    try:
        return int(value)
    except ValueError:
        raise DMLError(f"<{element.tag}>: attribute {name} must be an integer, found {value!r}") from None


def _network(root: Element, weights: memoryview) -> Network:
    if root.tag != "net":
        raise DMLError(f"not an OpenVINO model: its root is <{root.tag}>, not <net>")
    version = _integer(root, "version")
    if version not in (10, 11):
        raise DMLError(f"IR version {version} is not supported; 10 and 11 are")
    return _layers(root, version, weights)


def _layers(root: Element, version: int, weights: memoryview) -> Network:
    """Return the network in a <net> or in the body of a layer."""
    layers: dict[int, IrLayer] = {}
    for element in root.iterfind("layers/layer"):
        layer = _layer(element)
        for name in ("body", "then_body", "else_body"):
            inside = element.find(name)
            if inside is not None:
                layer.bodies[name] = _body(element, name, _layers(inside, version, weights))
        if layer.id in layers:
            raise DMLError(f"{layer}: another layer has this id")
        layers[layer.id] = layer
    sources: dict[tuple[int, int], tuple[IrLayer, int]] = {}
    for edge in root.iterfind("edges/edge"):
        start, port = _integer(edge, "from-layer"), _integer(edge, "from-port")
        end = _integer(edge, "to-layer"), _integer(edge, "to-port")
        if start not in layers or end[0] not in layers:
            raise DMLError(f"the edge from layer {start} to layer {end[0]} names a layer that does not exist")
        ids = [output.id for output in layers[start].outputs]
        if port not in ids:
            raise DMLError(f"{layers[start]} has no output port {port}")
        sources[end] = layers[start], ids.index(port)
    for layer in layers.values():
        for number in layer.input_ports:
            if (layer.id, number) not in sources:
                raise DMLError(f"{layer}: its input port {number} is not connected")
            layer.inputs.append(sources[layer.id, number])
    return Network(root.get("name", ""), version, _ordered(list(layers.values())), weights)


def _body(element: Element, name: str, network: Network) -> IrBody:
    branch = name.removesuffix("body")
    inputs, outputs = (
        [
            PortMap(
                _integer(entry, "external_port_id"),
                _integer(entry, "internal_layer_id"),
                entry.get("purpose", ""),
                _integer(entry, "axis") if entry.get("axis") is not None else None,
                _integer(entry, "start", 0),
                _integer(entry, "end", -1),
                _integer(entry, "stride", 1),
                _integer(entry, "part_size", 1),
            )
            for entry in element.iterfind(f"{branch}port_map/{side}")
        ]
        for side in ("input", "output")
    )
    edges = element.iterfind("back_edges/edge")
    return IrBody(network, inputs, outputs, {_integer(e, "to-layer"): _integer(e, "from-layer") for e in edges})


def _layer(element: Element) -> IrLayer:
    data = element.find("data")
    layer = IrLayer(
        _integer(element, "id"),
        element.get("name", ""),
        element.get("type", ""),
        element.get("version", ""),
        {} if data is None else dict(data.attrib),
    )
    layer.input_ports = [_integer(port, "id") for port in element.iterfind("input/port")]
    for port in element.iterfind("output/port"):
        sizes = []
        for dim in port.iterfind("dim"):
            try:
                sizes.append(int(dim.text or ""))
            except ValueError:
                raise DMLError(f"{layer}: an output has the dimension {dim.text!r}") from None
            if sizes[-1] > _MAX_SIZE:
                raise DMLError(f"{layer}: an output has the dimension {sizes[-1]}; the maximum is {_MAX_SIZE}")
        if len(sizes) > _MAX_RANK:
            raise DMLError(f"{layer}: an output has {len(sizes)} dimensions; {_MAX_RANK} are supported")
        kind = _PRECISIONS.get(port.get("precision", "FP32").upper(), port.get("precision", ""))
        if layer.type in _MOVES:
            kind = _COMPRESSED.get(kind.lower(), (0, kind))[1]
        names = tuple(filter(None, port.get("names", "").split(",")))
        layer.outputs.append(IrPort(_integer(port, "id"), kind, tuple(sizes), names))
    return layer


def _ordered(layers: list[IrLayer]) -> list[IrLayer]:
    """Return the layers in an order in which they can run, as close to the file's as possible: results keep their
    order."""
    place = {layer: index for index, layer in enumerate(layers)}
    waits = [len(layer.inputs) for layer in layers]
    readers: list[list[int]] = [[] for _ in layers]
    for layer in layers:
        for source, _ in layer.inputs:
            readers[place[source]].append(place[layer])
    ready = [index for index, count in enumerate(waits) if not count]
    order: list[IrLayer] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(layers[index])
        for reader in readers[index]:
            waits[reader] -= 1
            if not waits[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(layers):
        stuck = next(layer for layer, count in zip(layers, waits, strict=True) if count)
        raise DMLError(f"the layers form a cycle through {stuck}")
    return order
