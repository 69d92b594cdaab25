"""Recognition of the Gaussian error linear unit in separate operators: x / 2 * (1 + erf(x / sqrt(2))).

A single operator needs half the arithmetic and avoids cancellation. Exporters write the factors in several orders.
"""

from __future__ import annotations

import math

import numpy as np

from dml.compiler.data_types import DATA_TYPES
from dml.descriptors import activation as act
from dml.descriptors import elementwise as ew
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.graph.model import Graph, Node, Port, Value, same_layout
from dml.tensors import DML_BUFFER_TENSOR_DESC

_Entry = tuple[Port, Value]


def find_gelu(graph: Graph) -> None:
    """Rewrite the graph in place."""
    for erf in [node for node in graph.nodes if isinstance(node.desc, ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC)]:
        found = _Found(erf)
        if found.matches():
            _replace(graph, found)


class _Found:
    """The nodes around an ERF that belong to a GELU of ``x``; the last one makes the result."""

    def __init__(self, erf: Node) -> None:
        self.erf = erf
        self.nodes = [erf]
        self.x: _Entry

    def matches(self) -> bool:
        assert isinstance(self.erf.desc, ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC)
        if self.erf.desc.ScaleBias is not None:
            return False
        x = self._scaled(self.erf.inputs[0])
        if x is None:
            return False
        self.x = x
        total = self._next(self.erf, ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC)
        if total is None or not self._is_constant(total[1], 1.0):
            return False
        # Either the products multiply by x and by 1/2, in any order, or one product multiplies by x / 2.
        first = self._next(total[0], ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
        if first is None or self._is_half_of_x(first[1]):
            return first is not None
        second = self._next(first[0], ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
        if second is None:
            return False
        factors = first[1], second[1]
        return any(self._is_x(a) and self._is_constant(b, 0.5) for a, b in (factors, factors[::-1]))

    def _scaled(self, entry: _Entry | None) -> _Entry | None:
        """Return x if this value is x / sqrt(2); else None."""
        producer = self._made_for_one(entry)
        if producer is None:
            return None
        for a, b in (producer.inputs, producer.inputs[::-1]) if len(producer.inputs) == 2 else ():
            quotient = isinstance(producer.desc, ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC) and a is producer.inputs[0]
            product = isinstance(producer.desc, ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
            if (quotient and self._is_constant(b, math.sqrt(2))) or (product and self._is_constant(b, math.sqrt(0.5))):
                self.nodes.append(producer)
                return a
        return None

    def _made_for_one(self, entry: _Entry | None) -> Node | None:
        """Return the node that computes the value, if it has no other reader and the layout of the ERF's input."""
        if entry is None or not same_layout(entry[0].tensor, self.erf.input(0)[0].tensor) or not entry[1].is_private:
            return None
        producer = entry[1].producer
        output = None if producer is None else producer.outputs[0]
        return producer if output is not None and same_layout(output[0].tensor, entry[0].tensor) else None

    def _next(self, node: Node, kind: type) -> tuple[Node, _Entry | None] | None:
        """Return the only reader of a node's result, if it is of this kind, and its other input."""
        value = node.result[1]
        if not value.is_private:
            return None
        reader, place = value.consumers[0]
        entry = reader.inputs[place]
        if not isinstance(reader.desc, kind) or self._made_for_one(entry) is not node or len(reader.inputs) != 2:
            return None
        self.nodes.append(reader)
        return reader, reader.inputs[1 - place]

    def _is_x(self, entry: _Entry | None) -> bool:
        return entry is not None and entry[1] is self.x[1] and same_layout(entry[0].tensor, self.x[0].tensor)

    def _is_half_of_x(self, entry: _Entry | None) -> bool:
        producer = self._made_for_one(entry)
        if producer is None or not isinstance(producer.desc, ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC):
            return False
        a, b = producer.inputs
        if (self._is_x(a) and self._is_constant(b, 0.5)) or (self._is_x(b) and self._is_constant(a, 0.5)):
            self.nodes.insert(0, producer)
            return True
        return False

    @staticmethod
    def _is_constant(entry: _Entry | None, wanted: float) -> bool:
        """Whether all elements are the constant ``wanted`` in the tensor's type, or its usual decimal form."""
        source = None if entry is None else entry[1].source
        if entry is None or not isinstance(source, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
            return False
        row = DATA_TYPES[entry[0].tensor.DataType]
        if not row.is_floating or row.bits > 32 or not _is_one_element(entry[0].tensor):
            return False
        value = float(np.frombuffer(source.Data[: row.bits // 8], row.dtype)[0])
        return abs(value - wanted) <= float(np.finfo(row.dtype).eps) * wanted


def _is_one_element(tensor: DML_BUFFER_TENSOR_DESC) -> bool:
    return all(size == 1 or stride == 0 for size, stride in zip(tensor.Sizes, tensor.strides, strict=True))


def _replace(graph: Graph, found: _Found) -> None:
    last = found.nodes[-1]
    port, value = found.x
    desc = act.DML_ACTIVATION_GELU_OPERATOR_DESC(InputTensor=port.tensor, OutputTensor=last.result[0].tensor)
    removed = set(found.nodes)
    labels = [label for node in graph.nodes if node in removed for label in node.labels]
    gelu = Node(labels, desc, [(Port("InputTensor", None, port.tensor), value)], last.outputs)
    for node in removed:
        for entry in filter(None, node.inputs):
            entry[1].consumers = [reader for reader in entry[1].consumers if reader[0] not in removed]
    value.consumers.append((gelu, 0))
    last.result[1].source = gelu
    graph.nodes = [gelu if node is last else node for node in graph.nodes if node is last or node not in removed]
