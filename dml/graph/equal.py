"""Merging of nodes that compute the same from the same values.

Models repeat such nodes in each layer: rows of a table of angles, masks, a time step's embedding.
"""

from __future__ import annotations

from collections.abc import Hashable

from dml.compiler.pattern import TracedConstant
from dml.compiler.program import ComparedConstant
from dml.compiler.repeated import expression_key
from dml.compiler.scalar import Expression
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.graph.model import Graph, Node, Value

#: Maximum number of bytes of constants that are compared by content; larger ones are equal if they are the same object.
_COMPARED_BYTES = 16384


def merge_equal(graph: Graph) -> None:
    """Remove each node that equals an earlier one; its readers read the earlier node's results instead.

    Nodes that write graph outputs stay. Sets the graph's ``compared`` constants.
    """
    merged = _Merged()
    graph.nodes = [node for node in graph.nodes if not merged.merge(node)]
    if any(isinstance(constant, TracedConstant) for constant, _ in merged.compared):
        graph.compared = merged.compared


class _Merged:
    def __init__(self) -> None:
        #: Nodes by the properties that are cheap to compare: the kind of operator, and the values read.
        self._first: dict[Hashable, list[Node]] = {}
        #: Small constants: bytes -> the first constant with these bytes and its number; constant -> the first equal
        #: one.
        self._contents: dict[bytes, tuple[Value, int]] = {}
        self._constants: dict[Value, Value] = {}
        #: Small constants; those of equal content have the same number.
        self.compared: list[ComparedConstant] = []

    def merge(self, node: Node) -> bool:
        """Merge the node into an earlier equal one; return whether there was one."""
        read = tuple([None if entry is None else self._known(entry[1]) for entry in node.inputs])
        candidates = self._first.setdefault((type(node.desc), read), [])
        first = next((other for other in candidates if _is_equal(other, node)), None)
        if first is None or any(entry is not None and entry[1].outputs for entry in node.outputs):
            candidates.append(node)
            return False
        for value in {entry[1] for entry in node.inputs if entry is not None}:
            value.consumers = [reader for reader in value.consumers if reader[0] is not node]
        for first_output, duplicate in zip(first.outputs, node.outputs, strict=True):
            if first_output is not None and duplicate is not None:
                _move_consumers(duplicate[1], first_output[1])
        first.equal += node.labels
        return True

    def _known(self, value: Value) -> Value:
        """Return the first constant of the same content, for a small constant; else the value."""
        source = value.source
        if not isinstance(source, DML_CONSTANT_DATA_GRAPH_NODE_DESC) or value.size > _COMPARED_BYTES:
            return value
        if value not in self._constants:
            data = source.now if isinstance(source, TracedConstant) else bytes(source.Data)
            self._constants[value], number = self._contents.setdefault(data, (value, len(self._contents)))
            self.compared.append((source, number))
        return self._constants[value]


def _move_consumers(duplicate: Value, kept: Value) -> None:
    for reader, place in duplicate.consumers:
        entry = reader.inputs[place]
        assert entry is not None
        reader.inputs[place] = entry[0], kept
    kept.consumers += duplicate.consumers


def _is_equal(a: Node, b: Node) -> bool:
    """Whether two nodes that read equal values compute the same."""
    return (
        a.desc == b.desc
        and a.own_inputs == b.own_inputs
        and _key(a.expression) == _key(b.expression)
        and _key(a.epilogue) == _key(b.epilogue)
        and _ports(a) == _ports(b)
    )


def _key(expression: Expression | None) -> Hashable:
    return None if expression is None else expression_key(expression)


def _ports(node: Node) -> list[Hashable]:
    return [entry and entry[0] for entry in (*node.inputs, *node.outputs)]
