"""Reads DML_GRAPH_DESC: checks its rules, and returns the graph that it describes."""

from __future__ import annotations

from typing import NamedTuple

from dml import descriptors as d
from dml import enums
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.graph.model import (
    Edge,
    Graph,
    GraphNode,
    GraphParts,
    InputEdge,
    OutputEdge,
    Port,
    assemble,
    label_of,
    ports_of,
)

#: Maximum number of inputs, and of outputs, of a graph.
_MOST = 2**20


def read_graph(desc: d.DML_GRAPH_DESC, level: DML_FEATURE_LEVEL) -> Graph:
    """Connect the description's nodes, in running order.

    Raises DMLError for an edge that names a node, input or output that does not exist, is absent or already connected;
    for a required tensor left unconnected; for connected tensors of unequal TotalTensorSizeInBytes; for misplaced
    DML_TENSOR_FLAG_OWNED_BY_DML; and for cycles. Reference: dml_graph_desc.
    """
    return _Reader(desc, level).read()


class _Where(NamedTuple):
    """An edge, formatted for error messages only when needed."""

    kind: str
    number: int
    name: str | None

    def __str__(self) -> str:
        return f"DML_GRAPH_DESC.{self.kind}[{self.number}]{f' ({self.name!r})' if self.name else ''}"


class _Reader:
    """Checks the rules of DML_GRAPH_DESC. Each error names node and edge."""

    def __init__(self, desc: d.DML_GRAPH_DESC, level: DML_FEATURE_LEVEL) -> None:
        self.desc = desc
        self.nodes: list[GraphNode] = []
        self.labels: list[str] = []
        #: Each node's inputs and outputs; a constant has neither.
        self.ports: list[tuple[list[Port | None], list[Port | None]]] = []
        #: Connected (node, input) pairs, and nodes with an output that an edge reads.
        self.connected: set[tuple[int, int]] = set()
        self.read_from: set[int] = set()
        for index, wrapper in enumerate(desc.Nodes):
            node = wrapper.Desc
            if isinstance(node, d.DML_CONSTANT_DATA_GRAPH_NODE_DESC):
                if level < enums.DML_FEATURE_LEVEL_6_2:
                    label = label_of(index, node)
                    raise DMLError(f"{label}: constant nodes need DML_FEATURE_LEVEL_6_2, the device has {level.name}")
                self.ports.append(([], []))
            else:
                operator = getattr(node.Operator, "desc", None)
                if not isinstance(operator, OperatorDesc):
                    raise DMLError(
                        f"DML_GRAPH_DESC.Nodes[{index}].Operator: must be an operator, found {node.Operator!r}"
                    )
                self.ports.append(ports_of(operator))
            self.nodes.append(node)
            self.labels.append(label_of(index, node))

    def read(self) -> Graph:
        desc = self.desc
        for count, name in ((desc.InputCount, "InputCount"), (desc.OutputCount, "OutputCount")):
            if not isinstance(count, int) or not 0 <= count <= _MOST:
                raise DMLError(f"DML_GRAPH_DESC.{name}: must be an integer from 0 to {_MOST}, found {count!r}")
        input_edges, edges, output_edges = self._input_edges(), self._intermediate_edges(), self._output_edges()
        self._complete()
        graph = assemble(GraphParts(self.nodes, desc.InputCount, desc.OutputCount, input_edges, edges, output_edges))
        sorted_nodes = {node.labels[0].number for node in graph.nodes}
        in_cycle = [
            self.labels[index]
            for index, node in enumerate(self.nodes)
            if index not in sorted_nodes and not isinstance(node, d.DML_CONSTANT_DATA_GRAPH_NODE_DESC)
        ]
        if in_cycle:
            raise DMLError(f"DML_GRAPH_DESC: the graph has a cycle through {', '.join(in_cycle)}")
        return graph

    def _input_edges(self) -> list[InputEdge]:
        count = self.desc.InputCount
        sizes: dict[int, int] = {}
        owned: dict[int, bool] = {}
        edges = []
        for number, wrapper in enumerate(self.desc.InputEdges):
            edge = wrapper.Desc
            assert isinstance(edge, d.DML_INPUT_GRAPH_EDGE_DESC)
            where = _Where("InputEdges", number, edge.Name)
            index = edge.GraphInputIndex
            if not 0 <= index < count:
                raise DMLError(f"{where}: the graph has {count} inputs, found GraphInputIndex {index}")
            tensor = self._to(where, edge.ToNodeIndex, edge.ToNodeInputIndex).tensor
            size = tensor.TotalTensorSizeInBytes
            if sizes.setdefault(index, size) != size:
                raise DMLError(
                    f"{where}: {self.labels[edge.ToNodeIndex]} reads {size} bytes of graph input {index}, "
                    f"another edge {sizes[index]}"
                )
            if owned.setdefault(index, tensor.owned_by_dml) != tensor.owned_by_dml:
                raise DMLError(
                    f"{where}: DML_TENSOR_FLAG_OWNED_BY_DML must be set on all inputs of graph input {index}"
                )
            edges.append(InputEdge(index, edge.ToNodeIndex, edge.ToNodeInputIndex, edge.Name))
        return edges

    def _intermediate_edges(self) -> list[Edge]:
        edges = []
        for number, wrapper in enumerate(self.desc.IntermediateEdges):
            edge = wrapper.Desc
            assert isinstance(edge, d.DML_INTERMEDIATE_GRAPH_EDGE_DESC)
            where = _Where("IntermediateEdges", number, edge.Name)
            written, is_constant = self._from(where, edge.FromNodeIndex, edge.FromNodeOutputIndex)
            port = self._to(where, edge.ToNodeIndex, edge.ToNodeInputIndex)
            size = port.tensor.TotalTensorSizeInBytes
            if size != written and not (is_constant and -(-written // 4) * 4 == size):
                raise DMLError(
                    f"{where}: {self.labels[edge.FromNodeIndex]} writes {written} bytes, "
                    f"{self.labels[edge.ToNodeIndex]} reads {size} as {port}"
                )
            if port.tensor.owned_by_dml:
                raise DMLError(
                    f"{where}: {self.labels[edge.ToNodeIndex]} has {port} owned by DML, "
                    "which must be connected to a graph input"
                )
            edges.append(Edge(edge.FromNodeIndex, edge.FromNodeOutputIndex, edge.ToNodeIndex, edge.ToNodeInputIndex))
        return edges

    def _output_edges(self) -> list[OutputEdge]:
        count = self.desc.OutputCount
        connected: set[int] = set()
        edges = []
        for number, wrapper in enumerate(self.desc.OutputEdges):
            edge = wrapper.Desc
            assert isinstance(edge, d.DML_OUTPUT_GRAPH_EDGE_DESC)
            where = _Where("OutputEdges", number, edge.Name)
            index = edge.GraphOutputIndex
            if not 0 <= index < count:
                raise DMLError(f"{where}: the graph has {count} outputs, found GraphOutputIndex {index}")
            if index in connected:
                raise DMLError(f"{where}: graph output {index} is already connected")
            self._from(where, edge.FromNodeIndex, edge.FromNodeOutputIndex)
            connected.add(index)
            edges.append(OutputEdge(index, edge.FromNodeIndex, edge.FromNodeOutputIndex, edge.Name))
        for index in range(count):
            if index not in connected:
                raise DMLError(f"DML_GRAPH_DESC.OutputEdges: graph output {index} is not connected")
        return edges

    def _to(self, where: _Where, node: int, index: int) -> Port:
        """Return the input that an edge leads to. Raises DMLError if another edge leads there."""
        port = self._port(where, node, index, 0)
        if (node, index) in self.connected:
            raise DMLError(f"{where}: input {port} of {self.labels[node]} is already connected")
        self.connected.add((node, index))
        return port

    def _from(self, where: _Where, node: int, index: int) -> tuple[int, bool]:
        """Return the bytes of the output that an edge comes from, and whether it is a constant."""
        found = self.nodes[node] if 0 <= node < len(self.nodes) else None
        if isinstance(found, d.DML_CONSTANT_DATA_GRAPH_NODE_DESC):
            if index != 0:
                raise DMLError(f"{where}: {self.labels[node]} has 1 output, found output index {index}")
            return found.DataSize, True
        size = self._port(where, node, index, 1).tensor.TotalTensorSizeInBytes
        self.read_from.add(node)
        return size, False

    def _port(self, where: _Where, node: int, index: int, side: int) -> Port:
        """Return the input (side 0) or output (side 1) that an edge names."""
        word = ("input", "output")[side]
        if not 0 <= node < len(self.nodes):
            raise DMLError(f"{where}: node {node} does not exist; the graph has {len(self.nodes)} nodes")
        ports = self.ports[node][side]
        if not 0 <= index < len(ports):
            raise DMLError(f"{where}: {self.labels[node]} has {len(ports)} {word}s, found {word} index {index}")
        port = ports[index]
        if port is None:
            raise DMLError(f"{where}: {self.labels[node]} leaves {word} {index} out of its description")
        return port

    def _complete(self) -> None:
        for number, (label, node, (inputs, _)) in enumerate(zip(self.labels, self.nodes, self.ports, strict=True)):
            if isinstance(node, d.DML_CONSTANT_DATA_GRAPH_NODE_DESC):
                continue
            for index, port in enumerate(inputs):
                if port is not None and (number, index) not in self.connected:
                    raise DMLError(f"{label}: its input {port} (index {index}) is not connected")
            if number not in self.read_from:
                raise DMLError(f"{label}: none of its outputs is connected")
