"""Graphs of DirectML operators as files, which ONNX Runtime's DirectML provider writes for the partitions of a model.

Its session option ``ep.dml.enable_graph_serialization`` makes it write Partition_N.bin, a FlatBuffers file, and a file
for each large constant next to it. Reference: DmlGraphDesc.fbs and OperatorFieldTypes.fbs of ONNX Runtime, and
DxDispatch's guide.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.api.arrays import Array
from dml.api.device import Device
from dml.descriptors.base import OperatorDesc, each_tensor, operators
from dml.enums import DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.files import reading
from dml.frontends.dxdispatch.files import Folder
from dml.frontends.dxdispatch.flatbuffer import Table
from dml.frontends.summary import Explained, Explanation, operators_of
from dml.stored import Stored, mapped
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALAR_UNION, DML_SCALE_BIAS, DML_SIZE_2D, numpy_dtype


class _Node(IntEnum):
    OPERATOR = 1
    CONSTANT = 2


class _Constant(IntEnum):
    NAMED = 1
    RAW = 2


class _Value(IntEnum):
    """Kinds of an attribute's value."""

    ACTIVATION = 1
    ACTIVATIONS = 2
    UINT32 = 3
    UINT64 = 4
    INT32 = 5
    FLOAT32 = 6
    UINTS = 7
    INTS = 8
    FLOATS = 9
    SCALE_BIAS = 10
    SIZE_2D = 11
    SCALAR_UNION = 12
    BOOL = 13


#: Kind of a number -> its format.
_NUMBERS = {_Value.UINT32: "<I", _Value.UINT64: "<Q", _Value.INT32: "<i", _Value.FLOAT32: "<f", _Value.BOOL: "<?"}
#: Kind of an array -> format of its elements.
_ARRAYS = {_Value.UINTS: "I", _Value.INTS: "i", _Value.FLOATS: "f"}
#: Kind of a DML_SCALAR_UNION's content: 8 bytes. ONNX Runtime writes no other.
_BYTES = 1


@dataclass(frozen=True)
class SerializedNode:
    """An operator, or a constant: its bytes or the name of the file with them.

    inputs, outputs: names of edges in the operator's order; empty for an absent tensor.
    """

    name: str
    content: OperatorDesc | bytes | str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class SerializedGraph:
    """The nodes of a graph, and its inputs and outputs, which are names of edges."""

    nodes: tuple[SerializedNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def tensors(self) -> dict[str, DML_BUFFER_TENSOR_DESC]:
        """Return the tensors of the edges between operators, and of inputs and outputs, by name."""
        found: dict[str, DML_BUFFER_TENSOR_DESC] = {}
        for node in self.nodes:
            if isinstance(node.content, OperatorDesc):
                for names, fields in ((node.inputs, node.content.inputs()), (node.outputs, node.content.outputs())):
                    found.update(
                        (name, tensor) for name, tensor in zip(names, each_tensor(fields), strict=False) if tensor
                    )
        return found

    def zeros(self) -> dict[str, Array]:
        """Return an array of zeros for each input that an operator reads."""
        tensors = self.tensors()
        return {
            name: np.zeros(tensors[name].Sizes, numpy_dtype(tensors[name].DataType))
            for name in self.inputs
            if name in tensors
        }

    def desc(self, device: Device, folder: Path) -> d.DML_GRAPH_DESC:
        """Return the graph for ``compile_graph``. folder: contains the files of its constants.

        Raises DMLError for an invalid operator, an edge without a source, or a missing file.
        """
        producers = _producers(self.nodes)
        inputs = {name: index for index, name in enumerate(self.inputs)}
        entering: list[d.DML_INPUT_GRAPH_EDGE_DESC] = []
        between: list[d.DML_INTERMEDIATE_GRAPH_EDGE_DESC] = []
        for number, node in enumerate(self.nodes):
            for index, name in enumerate(node.inputs):
                if name in inputs:
                    entering.append(d.DML_INPUT_GRAPH_EDGE_DESC(inputs[name], number, index, name))
                elif name:
                    source, output = _producer(producers, name, f"nodes[{number}] {node.name}")
                    between.append(d.DML_INTERMEDIATE_GRAPH_EDGE_DESC(source, output, number, index, name))
        leaving = [
            d.DML_OUTPUT_GRAPH_EDGE_DESC(*_producer(producers, name, "the graph's output"), index, name)
            for index, name in enumerate(self.outputs)
        ]
        nodes = tuple(_node(number, node, device, Folder(folder)) for number, node in enumerate(self.nodes))
        return d.DML_GRAPH_DESC(
            len(self.inputs),
            len(self.outputs),
            Nodes=nodes,
            InputEdges=tuple(entering),
            OutputEdges=tuple(leaving),
            IntermediateEdges=tuple(between),
        )


def read_graph(path: Path) -> SerializedGraph:
    """Read a serialized graph. Raises DMLError for an invalid file, naming the wrong node."""
    with reading(path):
        data = path.read_bytes()
    try:
        root = Table.root(data)
        nodes = tuple(_read_node(number, node) for number, node in enumerate(root.tables(0)))
        return SerializedGraph(nodes, root.texts(1), root.texts(2))
    except DMLError as error:
        raise DMLError(f"{path}: {error.message}", error.hresult) from None
    except (struct.error, ValueError, IndexError, TypeError, OverflowError, RecursionError) as error:
        raise DMLError(f"{path}: this is not a serialized graph: {error}") from None


def explain_graph(path: Path) -> Explanation:
    """Return the feature level of each operator. Raises DMLError as ``read_graph`` does."""
    nodes = [(node.name, node.content) for node in read_graph(path).nodes]
    rows = [Explained(name, *operators_of([desc])) for name, desc in nodes if isinstance(desc, OperatorDesc)]
    return Explanation(rows, [], {})


def _read_node(number: int, node: Table) -> SerializedNode:
    kind, content, name = node.number(0, "<B"), node.table(1), node.text(2)
    inputs, outputs = node.texts(3), node.texts(4)
    place = f"nodes[{number}] {name}"
    if content is None or kind not in set(_Node):
        raise DMLError(f"{place}: must be an operator or a constant, found kind {kind}")
    if kind == _Node.CONSTANT:
        return SerializedNode(name, _constant(content, place), inputs, outputs)
    try:
        return SerializedNode(name, _operator(content, inputs, outputs), inputs, outputs)
    except DMLError as error:
        error.at(place, "document")
        raise


def _constant(content: Table, place: str) -> bytes | str:
    kind, value = content.number(0, "<B"), content.table(1)
    if value is None or kind not in set(_Constant):
        raise DMLError(f"{place}: a constant must have a name or bytes, found kind {kind}")
    return value.text(0) if kind == _Constant.NAMED else value.data(0)


def _operator(content: Table, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> OperatorDesc:
    """Read an operator. The file has a description for each tensor that has a name."""
    cls = _class(content.text(0))
    fields = _attributes(cls, content.tables(3))
    for kind, names, tensors in (("input", inputs, content.tables(1)), ("output", outputs, content.tables(2))):
        present, given = iter(names), iter(tensors)
        for info in cls.fields_info:
            if info.kind != kind:
                continue
            if info.type == "tensor_array":
                fields[info.name] = tuple(_tensor(tensor) for tensor in given)
            elif not next(present, ""):
                fields[info.name] = None
            else:
                tensor = next(given, None)
                if tensor is None:
                    raise DMLError(f"{cls.OPERATOR_TYPE.name}.{info.name}: the file has a name but no description")
                fields[info.name] = _tensor(tensor)
    return cls(**fields)


def _activation(content: Table) -> OperatorDesc:
    cls = _class(content.text(0))
    return cls(**_attributes(cls, content.tables(1)))


def _class(name: str) -> type[OperatorDesc]:
    kind = DML_OPERATOR_TYPE.__members__.get(name)
    cls = operators().get(kind) if kind is not None else None
    if cls is None:
        raise DMLError(f"{name!r} is not an operator")
    return cls


def _attributes(cls: type[OperatorDesc], given: list[Table]) -> dict[str, Any]:
    """Read the fields that are not tensors. Attributes without a name are absent."""
    infos = {info.name: info for info in cls.fields_info if not info.is_tensor}
    fields: dict[str, Any] = {info.name: None for info in infos.values() if info.optional}
    for attribute in given:
        name = attribute.text(0)
        if not name:
            continue
        if name not in infos:
            raise DMLError(f"{cls.OPERATOR_TYPE.name} has no attribute {name!r}")
        value, info = _attribute(attribute), infos[name]
        if info.type == "bool":
            value = bool(value)  # BOOL is UINT32 in the file
        if value != () or not info.optional:  # an absent array is empty in the file
            fields[name] = value
    return fields


def _attribute(attribute: Table) -> Any:
    """Return the value of an attribute; None if it has none."""
    kind, value = attribute.number(1, "<B"), attribute.table(2)
    if value is None:
        return None
    if kind in _NUMBERS:
        return attribute.structure(2, _NUMBERS[_Value(kind)])[0]
    if kind in _ARRAYS:
        return value.numbers(0, _ARRAYS[_Value(kind)])
    match kind:
        case _Value.ACTIVATION:
            return _activation(value)
        case _Value.ACTIVATIONS:
            return tuple(map(_activation, value.tables(0)))
        case _Value.SCALE_BIAS:
            return DML_SCALE_BIAS(*attribute.structure(2, "<ff"))
        case _Value.SIZE_2D:
            return DML_SIZE_2D(*attribute.structure(2, "<II"))
        case _Value.SCALAR_UNION if value.number(0, "<B") == _BYTES:
            return DML_SCALAR_UNION(Bytes=value.structure(1, "8s")[0])
    raise DMLError(f"the attribute {attribute.text(0)!r} has a value of an unknown kind, {kind}")


def _tensor(tensor: Table) -> DML_BUFFER_TENSOR_DESC:
    name = tensor.text(0)
    if name not in DML_TENSOR_DATA_TYPE.__members__:
        raise DMLError(f"{name!r} is not a DML_TENSOR_DATA_TYPE")
    sizes, strides, total = tensor.numbers(1, "I"), tensor.numbers(2, "I"), tensor.number(3, "<Q")
    return DML_BUFFER_TENSOR_DESC(DML_TENSOR_DATA_TYPE[name], sizes, strides or None, total or None)


def _producers(nodes: tuple[SerializedNode, ...]) -> dict[str, tuple[int, int]]:
    """Return the node and output that each edge comes from."""
    found: dict[str, tuple[int, int]] = {}
    for number, node in enumerate(nodes):
        for index, name in enumerate(node.outputs):
            if name in found:
                raise DMLError(f"nodes[{number}] {node.name}: nodes[{found[name][0]}] writes {name!r}, too")
            if name:
                found[name] = number, index
    return found


def _producer(producers: dict[str, tuple[int, int]], name: str, place: str) -> tuple[int, int]:
    if name not in producers:
        raise DMLError(f"{place}: no input or node of the graph is named {name!r}")
    return producers[name]


def _node(number: int, node: SerializedNode, device: Device, folder: Folder) -> Any:
    try:
        if isinstance(node.content, OperatorDesc):
            return d.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(node.content), node.name)
        return d.DML_CONSTANT_DATA_GRAPH_NODE_DESC(_bytes(node.content, folder), Name=node.name)
    except DMLError as error:
        error.at(f"nodes[{number}] {node.name}", "document")
        raise


def _bytes(content: bytes | str, folder: Folder) -> Stored:
    if isinstance(content, bytes):
        return content
    with reading(content):
        return mapped(folder.resolve(f"{content}.bin"))
