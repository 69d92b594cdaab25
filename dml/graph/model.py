"""The passes' view of a graph: nodes, and the values between them. Reads and checks DML_GRAPH_DESC."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from dml import enums
from dml.compiler.scalar import Expression
from dml.descriptors.base import OperatorDesc
from dml.descriptors.graph import (
    DML_CONSTANT_DATA_GRAPH_NODE_DESC,
    DML_GRAPH_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_INTERMEDIATE_GRAPH_EDGE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
)
from dml.enums import DML_FEATURE_LEVEL
from dml.enums.naming import short_name
from dml.errors import DMLError
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Maximum inputs and outputs of a graph.
_MOST = 2**20

#: Name (or index) and tensor of a graph's input or output; an unused input has no tensor.
GraphField = tuple[str | int, DML_BUFFER_TENSOR_DESC | None]


@dataclass(eq=False)
class Value:
    """Bytes that flow along edges.

    source: the graph input's index, the constant, or the node that writes it. outputs: the graph outputs that it is.
    """

    source: int | DML_CONSTANT_DATA_GRAPH_NODE_DESC | Node
    size: int
    consumers: list[tuple[Node, int]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    @property
    def producer(self) -> Node | None:
        return self.source if isinstance(self.source, Node) else None

    @property
    def is_constant(self) -> bool:
        return isinstance(self.source, DML_CONSTANT_DATA_GRAPH_NODE_DESC)

    @property
    def is_private(self) -> bool:
        """Whether it has a single consumer."""
        return isinstance(self.source, Node) and not self.outputs and len(self.consumers) == 1


@dataclass(frozen=True)
class Port:
    """An input or output of a node: the field's name, the index in a tensor array, and the node's view of the bytes."""

    name: str
    item: int | None
    tensor: DML_BUFFER_TENSOR_DESC

    def __str__(self) -> str:
        return self.name if self.item is None else f"{self.name}[{self.item}]"


class NodeLabel(NamedTuple):
    """A node of the description, by number and in words."""

    number: int
    text: str


@dataclass(eq=False)
class Node:
    """An operator, or several fused into an expression of the inputs' elements.

    inputs, outputs: (port, value) in binding order; None for an absent optional tensor. labels: the description's nodes
    that it computes.
    """

    labels: list[NodeLabel]
    desc: OperatorDesc | None
    inputs: list[tuple[Port, Value] | None]
    outputs: list[tuple[Port, Value] | None]
    expression: Expression | None = None
    #: An expression applied to each result before it is stored: of the result (leaf 0) and of the elements of the
    #: inputs after the operator's own (leaves 1, 2, ...). ``outputs`` then describes its results.
    epilogue: Expression | None = None
    #: Number of inputs that are the operator's own.
    own_inputs: int = field(init=False)

    def __post_init__(self) -> None:
        self.own_inputs = len(self.inputs)

    @property
    def label(self) -> str:
        return " + ".join(label.text for label in self.labels)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple([label.number for label in self.labels])


@dataclass(eq=False)
class Graph:
    """Nodes in running order, and the graph's inputs and outputs.

    owned: the inputs that DirectML owns. constant_outputs: the graph outputs that are constants, with the constants.
    """

    nodes: list[Node]
    inputs: list[Value]
    input_fields: list[GraphField]
    output_fields: list[GraphField]
    owned: set[int]
    constant_outputs: list[tuple[int, Value]] = field(default_factory=list)


@lru_cache(maxsize=4096)
def _ports_of(desc: OperatorDesc) -> tuple[list[Port | None], list[Port | None]]:
    """Return an operator's inputs and outputs; shared, so never modified."""
    return _ports(desc.inputs()), _ports(desc.outputs())


def _ports(fields: Any) -> list[Port | None]:
    ports: list[Port | None] = []
    for name, tensor in fields:
        if isinstance(tensor, tuple):
            ports += [Port(name, item, t) for item, t in enumerate(tensor)]
        else:
            ports.append(None if tensor is None else Port(name, None, tensor))
    return ports


class _Reader:
    """Connects the nodes and checks the rules of DML_GRAPH_DESC. Each error names node and edge."""

    def __init__(self, desc: DML_GRAPH_DESC, level: DML_FEATURE_LEVEL) -> None:
        self.desc = desc
        self.nodes: list[Node | Value] = []
        self.ports: list[tuple[list[Port | None], list[Port | None]]] = []
        self.labels: list[str] = []
        for index, wrapper in enumerate(desc.Nodes):
            node = wrapper.Desc
            if isinstance(node, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
                label = _label(index, "constant", node.Name)
                if level < enums.DML_FEATURE_LEVEL_6_2:
                    raise DMLError(f"{label}: constant nodes need DML_FEATURE_LEVEL_6_2, the device has {level.name}")
                self.nodes.append(Value(node, node.DataSize))
                self.ports.append(([], []))
            else:
                operator = getattr(node.Operator, "desc", None)
                if not isinstance(operator, OperatorDesc):
                    raise DMLError(
                        f"DML_GRAPH_DESC.Nodes[{index}].Operator: must be an operator, found {node.Operator!r}"
                    )
                label = _operator_label(index, type(operator), node.Name)  # type: ignore[arg-type]  # a class
                ports = _ports_of(operator)
                self.nodes.append(
                    Node([NodeLabel(index, label)], operator, [None] * len(ports[0]), [None] * len(ports[1]))
                )
                self.ports.append(ports)
            self.labels.append(label)

    def node_port(self, edge: _Edge, node: int, index: int, side: int) -> Port:
        """Return the port that an edge names; side 0 is inputs, 1 outputs."""
        word = ("input", "output")[side]
        if not 0 <= node < len(self.nodes):
            raise DMLError(f"{edge}: node {node} does not exist; the graph has {len(self.nodes)} nodes")
        ports = self.ports[node][side]
        if not 0 <= index < len(ports):
            raise DMLError(f"{edge}: {self.labels[node]} has {len(ports)} {word}s, found {word} index {index}")
        port = ports[index]
        if port is None:
            raise DMLError(f"{edge}: {self.labels[node]} leaves {word} {index} out of its description")
        return port

    def connect(self, edge: _Edge, value: Value, node_index: int, input_index: int) -> Port:
        port = self.node_port(edge, node_index, input_index, 0)
        node = self.nodes[node_index]
        assert isinstance(node, Node)
        if node.inputs[input_index] is not None:
            raise DMLError(f"{edge}: {self.labels[node_index]} has its input {port} connected already")
        node.inputs[input_index] = port, value
        value.consumers.append((node, input_index))
        return port

    def read(self) -> Graph:
        desc = self.desc
        for count, name in ((desc.InputCount, "InputCount"), (desc.OutputCount, "OutputCount")):
            if not isinstance(count, int) or not 0 <= count <= _MOST:
                raise DMLError(f"DML_GRAPH_DESC.{name}: must be an integer from 0 to {_MOST}, found {count!r}")
        self._outputs()
        inputs, input_fields, owned = self._input_edges()
        self._intermediate_edges()
        output_fields, constant_outputs = self._output_edges()
        self._complete()
        order = self._sort()
        return Graph(order, inputs, input_fields, output_fields, owned, constant_outputs)

    def _outputs(self) -> None:
        for node, (_, ports) in zip(self.nodes, self.ports, strict=True):
            if isinstance(node, Node):
                for at, port in enumerate(ports):
                    if port is not None:
                        node.outputs[at] = port, Value(node, port.tensor.TotalTensorSizeInBytes)

    def _input_edges(self) -> tuple[list[Value], list[GraphField], set[int]]:
        values = [Value(index, 0) for index in range(self.desc.InputCount)]
        fields: list[GraphField] = [(i, None) for i in range(len(values))]
        owned: dict[int, bool] = {}
        for number, wrapper in enumerate(self.desc.InputEdges):
            edge = wrapper.Desc
            assert isinstance(edge, DML_INPUT_GRAPH_EDGE_DESC)
            where = _Edge("InputEdges", number, edge.Name)
            index = edge.GraphInputIndex
            if not 0 <= index < len(values):
                raise DMLError(f"{where}: the graph has {len(values)} inputs, found GraphInputIndex {index}")
            port = self.connect(where, values[index], edge.ToNodeIndex, edge.ToNodeInputIndex)
            size = port.tensor.TotalTensorSizeInBytes
            if values[index].size not in (0, size):
                raise DMLError(
                    f"{where}: {self.labels[edge.ToNodeIndex]} reads {size} bytes of graph input {index}, "
                    f"another edge {values[index].size}"
                )
            values[index].size = size
            flag = port.tensor.owned_by_dml
            if owned.setdefault(index, flag) != flag:
                raise DMLError(
                    f"{where}: DML_TENSOR_FLAG_OWNED_BY_DML must be set on all inputs of graph input {index}"
                )
            name, tensor = fields[index]
            fields[index] = (edge.Name if isinstance(name, int) and edge.Name else name), tensor or port.tensor
        return values, fields, {index for index, flag in owned.items() if flag}

    def _intermediate_edges(self) -> None:
        for number, wrapper in enumerate(self.desc.IntermediateEdges):
            edge = wrapper.Desc
            assert isinstance(edge, DML_INTERMEDIATE_GRAPH_EDGE_DESC)
            where = _Edge("IntermediateEdges", number, edge.Name)
            value = self._from(where, edge.FromNodeIndex, edge.FromNodeOutputIndex)
            port = self.connect(where, value, edge.ToNodeIndex, edge.ToNodeInputIndex)
            size = port.tensor.TotalTensorSizeInBytes
            if size != value.size and not (value.is_constant and -(-value.size // 4) * 4 == size):
                raise DMLError(
                    f"{where}: {self.labels[edge.FromNodeIndex]} writes {value.size} bytes, "
                    f"{self.labels[edge.ToNodeIndex]} reads {size} as {port}"
                )
            if port.tensor.owned_by_dml:
                raise DMLError(
                    f"{where}: {self.labels[edge.ToNodeIndex]} has {port} owned by DML, "
                    "which must be connected to a graph input"
                )

    def _from(self, where: _Edge, node_index: int, output_index: int) -> Value:
        if 0 <= node_index < len(self.nodes):
            node = self.nodes[node_index]
            if isinstance(node, Node):
                found = node.outputs[output_index] if 0 <= output_index < len(node.outputs) else None
                if found is not None:
                    return found[1]
            else:
                if output_index != 0:
                    raise DMLError(
                        f"{where}: {self.labels[node_index]} has 1 output, found output index {output_index}"
                    )
                return node
        self.node_port(where, node_index, output_index, 1)
        raise AssertionError  # (there is no such output, which that says)

    def _output_edges(self) -> tuple[list[GraphField], list[tuple[int, Value]]]:
        count = self.desc.OutputCount
        constants: list[tuple[int, Value]] = []
        fields: list[GraphField] = [(i, None) for i in range(count)]
        for number, wrapper in enumerate(self.desc.OutputEdges):
            edge = wrapper.Desc
            assert isinstance(edge, DML_OUTPUT_GRAPH_EDGE_DESC)
            where = _Edge("OutputEdges", number, edge.Name)
            index = edge.GraphOutputIndex
            if not 0 <= index < count:
                raise DMLError(f"{where}: the graph has {count} outputs, found GraphOutputIndex {index}")
            if fields[index][1] is not None:
                raise DMLError(f"{where}: graph output {index} is connected already")
            value = self._from(where, edge.FromNodeIndex, edge.FromNodeOutputIndex)
            if value.is_constant:
                constants.append((index, value))
                seen = _tensor_of_constant(value)
            else:
                seen = self.node_port(where, edge.FromNodeIndex, edge.FromNodeOutputIndex, 1).tensor
                value.outputs.append(index)
            fields[index] = edge.Name or index, seen
        for index, (_, tensor) in enumerate(fields):
            if tensor is None:
                raise DMLError(f"DML_GRAPH_DESC.OutputEdges: graph output {index} is not connected")
        return fields, constants

    def _complete(self) -> None:
        for label, node, (inputs, _) in zip(self.labels, self.nodes, self.ports, strict=True):
            if isinstance(node, Node):
                for at, port in enumerate(inputs):
                    if port is not None and node.inputs[at] is None:
                        raise DMLError(f"{label}: its input {port} (index {at}) is not connected")
                if not any(entry and (entry[1].outputs or entry[1].consumers) for entry in node.outputs):
                    raise DMLError(f"{label}: none of its outputs is connected")

    def _sort(self) -> list[Node]:
        nodes = [node for node in self.nodes if isinstance(node, Node)]
        waits = {
            node: len([e for e in node.inputs if e is not None and isinstance(e[1].source, Node)]) for node in nodes
        }
        ready = deque(node for node in nodes if not waits[node])
        order: list[Node] = []
        while ready:
            node = ready.popleft()
            order.append(node)
            for entry in node.outputs:
                for consumer, _ in entry[1].consumers if entry is not None else ():
                    waits[consumer] -= 1
                    if not waits[consumer]:
                        ready.append(consumer)
        if len(order) < len(nodes):
            rest = ", ".join(node.label for node in nodes if node not in order)
            raise DMLError(f"DML_GRAPH_DESC: the graph has a cycle through {rest}")
        return order


def _tensor_of_constant(value: Value) -> DML_BUFFER_TENSOR_DESC:
    """Describe a constant, which is only bytes, as an output: like its first reader with a packed tensor, else as
    UINT8."""
    for node, at in value.consumers:
        entry = node.inputs[at]
        if entry is not None and entry[0].tensor.is_packed:
            return entry[0].tensor
    return DML_BUFFER_TENSOR_DESC(enums.DML_TENSOR_DATA_TYPE_UINT8, (value.size,))


def _label(index: int, kind: str, name: str | None) -> str:
    return f"node {index} ({kind}{f' {name!r}' if name else ''})"


@lru_cache(maxsize=8192)
def _operator_label(index: int, cls: type[OperatorDesc], name: str | None) -> str:
    return _label(index, short_name(cls.OPERATOR_TYPE), name)


class _Edge(NamedTuple):
    """An edge as messages name it, formatted only for a message."""

    kind: str
    number: int
    name: str | None

    def __str__(self) -> str:
        return f"DML_GRAPH_DESC.{self.kind}[{self.number}]{f' ({self.name!r})' if self.name else ''}"


def read_graph(desc: DML_GRAPH_DESC, level: DML_FEATURE_LEVEL) -> Graph:
    """Connect the description's nodes, in running order.

    Raises DMLError for an edge that names a node, input or output that does not exist, is absent or already connected;
    for a required tensor left unconnected; for connected tensors of unequal TotalTensorSizeInBytes; for misplaced
    DML_TENSOR_FLAG_OWNED_BY_DML; and for cycles. Reference: dml_graph_desc.
    """
    return _Reader(desc, level).read()


def same_layout(a: DML_BUFFER_TENSOR_DESC, b: DML_BUFFER_TENSOR_DESC) -> bool:
    """Whether two descriptions of equal sizes have the same data type and the same bytes for each element."""
    return a.DataType == b.DataType and a.Sizes == b.Sizes and a.strides == b.strides


def connect(at: Node, gone: Node) -> None:
    """Make ``at`` a consumer of its inputs' values, in place of ``gone``."""
    values = [None if port is None else port[1] for port in at.inputs]
    for value in filter(None, values):
        others = [(reader, place) for reader, place in value.consumers if reader is not at and reader is not gone]
        value.consumers = others + [(at, place) for place, read in enumerate(values) if read is value]


def static_values(graph: Graph) -> set[Value]:
    """Return the values that depend on constants and owned inputs alone."""
    static: set[Value] = set()
    for node in graph.nodes:
        for entry in node.inputs:
            if entry is not None:
                source = entry[1].source
                if source in graph.owned if isinstance(source, int) else not isinstance(source, Node):
                    static.add(entry[1])
    for node in graph.nodes:
        if all(entry is None or entry[1] in static for entry in node.inputs):
            static.update([entry[1] for entry in node.outputs if entry is not None])
    return static
