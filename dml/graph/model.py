"""The passes' view of a graph: nodes, and the values between them; and its assembly from nodes and edges."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from dml import enums
from dml.compiler.program import ComparedConstant
from dml.compiler.scalar import Expression
from dml.descriptors.base import OperatorDesc
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC, DML_OPERATOR_GRAPH_NODE_DESC
from dml.enums.naming import short_name
from dml.tensors import DML_BUFFER_TENSOR_DESC

_Item = TypeVar("_Item")
#: Name (or index) and tensor of a graph's input or output; an unused input has no tensor.
GraphField = tuple[str | int, DML_BUFFER_TENSOR_DESC | None]


@dataclass(eq=False)
class Value:
    """Bytes that flow along edges.

    source: the graph input's index, the constant, or the node that writes it. outputs: indices of the graph outputs
    with this value.
    """

    source: int | DML_CONSTANT_DATA_GRAPH_NODE_DESC | Node
    size: int
    consumers: list[tuple[Node, int]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    @property
    def producer(self) -> Node | None:
        return self.source if isinstance(self.source, Node) else None

    @property
    def is_private(self) -> bool:
        """Whether a node computes the value, exactly one node reads it, and it is not an output of the graph."""
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
    """A node of the graph description: its number, and its name for messages."""

    number: int
    text: str


@dataclass(eq=False)
class Node:
    """An operator, or several fused into an expression of the inputs' elements.

    inputs, outputs: (port, value) in binding order; None for an absent optional tensor. labels: the description's nodes
    that it computes. equal: nodes of the description that compute the same from the same values.
    """

    labels: list[NodeLabel]
    desc: OperatorDesc | None
    inputs: list[tuple[Port, Value] | None]
    outputs: list[tuple[Port, Value] | None]
    expression: Expression | None = None
    #: An expression applied to each result before it is stored. Its leaf 0 is the result; leaves 1, 2, ... are elements
    #: of the inputs after the operator's own. ``outputs`` then describes the expression's results.
    epilogue: Expression | None = None
    equal: list[NodeLabel] = field(default_factory=list)
    #: Number of the operator's own inputs.
    own_inputs: int = field(init=False)

    def __post_init__(self) -> None:
        self.own_inputs = len(self.inputs)

    @property
    def label(self) -> str:
        text = " + ".join(label.text for label in self.labels)
        return f"{text}, and {len(self.equal)} equal to it" if self.equal else text

    @property
    def result(self) -> tuple[Port, Value]:
        """The output of a node that has only one."""
        (entry,) = filter(None, self.outputs)
        return entry

    def input(self, index: int) -> tuple[Port, Value]:
        """Return an input that is present."""
        entry = self.inputs[index]
        assert entry is not None
        return entry

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple([label.number for label in (*self.labels, *self.equal)])


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
    #: See ``Program.compared``.
    compared: list[ComparedConstant] = field(default_factory=list)


GraphNode = DML_OPERATOR_GRAPH_NODE_DESC | DML_CONSTANT_DATA_GRAPH_NODE_DESC


@lru_cache(maxsize=4096)
def ports_of(desc: OperatorDesc) -> tuple[list[Port | None], list[Port | None]]:
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


def label_of(index: int, node: GraphNode) -> str:
    """Name a node as messages and listings do: node 3 (GEMM 'scores')."""
    if isinstance(node, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
        return _label(index, "constant", node.Name)
    return _operator_label(index, type(node.Operator.desc), node.Name)  # type: ignore[arg-type]  # a class


def _label(index: int, kind: str, name: str | None) -> str:
    return f"node {index} ({kind}{f' {name!r}' if name else ''})"


@lru_cache(maxsize=8192)
def _operator_label(index: int, cls: type[OperatorDesc], name: str | None) -> str:
    return _label(index, short_name(cls.OPERATOR_TYPE), name)


class InputEdge(NamedTuple):
    graph_input: int
    node: int
    node_input: int
    name: str | None = None


class Edge(NamedTuple):
    source: int
    source_output: int
    node: int
    node_input: int


class OutputEdge(NamedTuple):
    graph_output: int
    source: int
    source_output: int
    name: str | None = None


class GraphParts(NamedTuple):
    """Nodes and edges; edges name nodes, inputs and outputs by number."""

    nodes: Sequence[GraphNode]
    input_count: int
    output_count: int
    input_edges: Sequence[InputEdge]
    edges: Sequence[Edge]
    output_edges: Sequence[OutputEdge]
    #: Names of the first inputs, including those that no node needs.
    input_names: Sequence[str] = ()


def assemble(parts: GraphParts) -> Graph:
    """Connect the parts, which are trusted. Nodes of a cycle are missing from the result.

    Nodes are ordered by level: first those without inputs, then those whose inputs are computed.
    """
    nodes, input_count, output_count, input_edges, edges, output_edges, input_names = parts
    connected = [_unconnected(number, node) for number, node in enumerate(nodes)]
    inputs = [Value(number, 0) for number in range(input_count)]
    input_fields: list[GraphField] = [(number, None) for number in range(input_count)]
    input_fields[: len(input_names)] = [(name, None) for name in input_names]
    owned: set[int] = set()
    for graph_input, node, node_input, name in input_edges:
        tensor = _connect(inputs[graph_input], connected[node], node_input)
        inputs[graph_input].size = max(inputs[graph_input].size, tensor.TotalTensorSizeInBytes)
        if tensor.owned_by_dml:
            owned.add(graph_input)
        known, seen = input_fields[graph_input]
        input_fields[graph_input] = (name if isinstance(known, int) and name else known), seen or tensor
    for source, source_output, node, node_input in edges:
        _connect(_output(connected[source], source_output)[0], connected[node], node_input)
    constants: list[tuple[int, Value]] = []
    output_fields: list[GraphField] = [(number, None) for number in range(output_count)]
    for graph_output, source, source_output, name in output_edges:
        value, written = _output(connected[source], source_output)
        if written is None:
            constants.append((graph_output, value))
            written = _tensor_of_constant(value)
        else:
            value.outputs.append(graph_output)
        output_fields[graph_output] = name or graph_output, written
    operators = [node for node in connected if isinstance(node, Node)]
    return Graph(_by_levels(operators), inputs, input_fields, output_fields, owned, constants)


def _unconnected(number: int, node: GraphNode) -> Node | Value:
    if isinstance(node, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
        return Value(node, node.DataSize)
    inputs, outputs = ports_of(node.Operator.desc)
    result = Node([NodeLabel(number, label_of(number, node))], node.Operator.desc, [None] * len(inputs), [])
    result.outputs = [
        None if port is None else (port, Value(result, port.tensor.TotalTensorSizeInBytes)) for port in outputs
    ]
    return result


def _connect(value: Value, node: Node | Value, node_input: int) -> DML_BUFFER_TENSOR_DESC:
    """Connect a node's input; return the tensor through which the node sees the value."""
    assert isinstance(node, Node)
    assert node.desc is not None
    port = ports_of(node.desc)[0][node_input]
    assert port is not None
    node.inputs[node_input] = port, value
    value.consumers.append((node, node_input))
    return port.tensor


def _output(node: Node | Value, index: int) -> tuple[Value, DML_BUFFER_TENSOR_DESC | None]:
    """Return a node's output and its tensor; a constant has no tensor."""
    if isinstance(node, Value):
        return node, None
    found = node.outputs[index]
    assert found is not None
    return found[1], found[0].tensor


def _by_levels(nodes: Sequence[Node]) -> list[Node]:
    waits = {node: len([e for e in node.inputs if e is not None and isinstance(e[1].source, Node)]) for node in nodes}
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
    return order


def _tensor_of_constant(value: Value) -> DML_BUFFER_TENSOR_DESC:
    """Return a description for a constant that is a graph output. A constant is only bytes, so this is the description
    by which the first node reads it without gaps; a UINT8 tensor if no node does."""
    for node, index in value.consumers:
        entry = node.inputs[index]
        if entry is not None and entry[0].tensor.is_packed:
            return entry[0].tensor
    return DML_BUFFER_TENSOR_DESC(enums.DML_TENSOR_DATA_TYPE_UINT8, (value.size,))


def same_layout(a: DML_BUFFER_TENSOR_DESC, b: DML_BUFFER_TENSOR_DESC) -> bool:
    """Whether two descriptions of equal sizes have the same data type and the same bytes for each element."""
    return a.DataType == b.DataType and a.Sizes == b.Sizes and a.strides == b.strides


def connect(node: Node, removed: Node) -> None:
    """Make the node a consumer of its inputs' values, in place of ``removed``."""
    values = [None if port is None else port[1] for port in node.inputs]
    for value in filter(None, values):
        others = [(reader, place) for reader, place in value.consumers if reader is not node and reader is not removed]
        value.consumers = others + [(node, place) for place, read in enumerate(values) if read is value]


def static_values(graph: Graph) -> set[Value]:
    """Return the values that depend only on constants and owned inputs."""
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


def reachable(starts: Iterable[_Item], following: Callable[[_Item], Iterable[_Item]]) -> set[_Item]:
    """Return ``starts`` and all items reached from them through ``following``."""
    found: set[_Item] = set()
    left = list(starts)
    while left:
        item = left.pop()
        if item not in found:
            found.add(item)
            left += following(item)
    return found
