"""Mappings of nodes, kept so that equal nodes need not be mapped again.

A model's plan for another length repeats most mappings of the previous plan, and a plan's layers often repeat those of
the layer before. A mapping's additions to the graph depend on the node's operator and attributes, on the shapes, dtypes
and layouts of its inputs, and on the numbers in constant inputs: these form the key. Mappings are not kept if they
needed numbers computed from the model's inputs (see ``Trace.known``), or see names of enclosing graphs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.graph.builder import Fragment, Source, Tensor
from dml.graph.constants import SharedConstants
from dml.recent import Recent
from dml.structures import HashedOnce
from dml.tensors import DML_BUFFER_TENSOR_DESC

from ..dtypes import Array, DType, Shape
from .node import NodeFacts
from .value import OnnxValue

if TYPE_CHECKING:
    from .trace import GraphFacts, NodeRecord

#: Maximum number of mappings kept, the most recently used, and of bytes in the arrays they hold.
MOST_NODES, MOST_BYTES = 4096, 16 << 20
#: Arrays up to this size are compared by their bytes; larger ones only by identity, if they belong to the model.
_SMALL = 1024


class _Result(NamedTuple):
    """An output: a value, or the index of the input that it equals.

    place: the tensor's source as (node of the fragment, output); (-1 - n, 0) for source n of the inputs.
    """

    same: int | None
    shape: Shape
    dtype: DType | None
    array: Array | None
    place: tuple[int, int] | None
    desc: DML_BUFFER_TENSOR_DESC | None


class MappedNode(NamedTuple):
    """A node's additions to the graph, and its outputs.

    given: the inputs that are present. constants: those inputs that it added to the graph, and their nodes.
    """

    fragment: Fragment
    results: tuple[_Result | None, ...]
    given: tuple[int, ...]
    constants: tuple[tuple[int, int, DML_BUFFER_TENSOR_DESC], ...]
    proto: NodeFacts
    #: Records of the node and of its inner nodes; numbers of the Builder's nodes are relative to the fragment's first.
    records: tuple[NodeRecord, ...]
    #: Number of traced inner nodes.
    inside: int

    def again(self, inputs: Sequence[OnnxValue | None], sources: Sequence[Source]) -> tuple[int, list[Any]]:
        """Add the node's operators again, to the graph of the inputs; return the number of the first of them there, and
        the outputs."""
        builder = next(filter(None, inputs)).builder
        first = builder.add(self.fragment, sources)
        for index, node, constant in self.constants:
            value = inputs[index]
            assert value is not None
            value.graph_tensor = Tensor(builder, ("node", first + node, 0), constant)
        results: list[Any] = []
        for result in self.results:
            if result is None:
                results.append(None)
                continue
            same, shape, dtype, array, place, desc = result
            if same is not None:
                results.append(inputs[same])
                continue
            assert dtype is not None
            tensor = None
            if place is not None and desc is not None:
                node, output = place
                tensor = Tensor(builder, sources[-1 - node] if node < 0 else ("node", first + node, output), desc)
            results.append(OnnxValue.again(builder, shape, dtype, array, tensor))
        return first, results


class MappedNodes:
    """Kept mappings of one part of a model. Thread-safe.

    initial: the model's own arrays. constants: those that its graphs share.
    """

    def __init__(self, graph: GraphFacts, constants: SharedConstants, late: Collection[NodeFacts] = ()) -> None:
        self._kinds = {node: kind for node in graph.nodes if node not in late and (kind := _kind(node)) is not None}
        self._initial = {id(array): array for array in graph.initial.values()}
        self._constants = constants
        self._kept: Recent[Hashable, MappedNode] = Recent(MOST_NODES, MOST_BYTES)

    def key(self, node: NodeFacts, inputs: Sequence[Any]) -> tuple[Hashable, list[Source]] | None:
        """Return the key of a node's mapping, and the distinct sources of its inputs; None if the mapping is not
        kept."""
        kind = self._kinds.get(node)
        if kind is None:
            return None
        sources: dict[Source, int] = {}
        parts: list[Hashable] = [kind]
        for value in inputs:
            if value is None:
                parts.append(None)
                continue
            if type(value) is not OnnxValue:
                return None
            array, tensor = value.array, value.graph_tensor
            if value.traced is not None:
                return None
            numbers: Hashable = None
            if array is not None:
                if array.dtype.hasobject:
                    return None
                if array.nbytes <= _SMALL:
                    numbers = array.tobytes()
                elif id(array) in self._initial:
                    numbers = id(array)
                else:
                    return None
            layout: Hashable = None
            if tensor is not None:
                source = tensor.source
                layout = sources.setdefault(source, len(sources)), source[0], tensor.desc
            parts.append((value.shape, value.dtype, numbers, layout))
        if len(inputs) > 1 and len(places := {id(value): index for index, value in enumerate(inputs)}) < len(inputs):
            parts.append(tuple([places[id(value)] for value in inputs]))
        # a node without inputs has no Builder
        return (HashedOnce(tuple(parts)), list(sources)) if any(value is not None for value in inputs) else None

    def find(self, key: Hashable) -> MappedNode | None:
        return self._kept.get(key)

    def keep(
        self,
        key: Hashable,
        sources: Sequence[Source],
        inputs: Sequence[OnnxValue | None],
        before: Sequence[bool],
        fragment: Fragment | None,
        results: Sequence[Any],
        node: NodeFacts,
        records: Sequence[NodeRecord],
        count: int,
        first: int,
    ) -> None:
        """Keep a node's mapping if its inputs suffice to repeat it.

        before: inputs that were already in the graph. first: number of the fragment's first node.
        """
        if fragment is None:
            return
        described = [_described(item, inputs, sources, first) for item in results]
        if any(item is _UNKNOWN for item in described):
            return
        constants_added = [
            (index, value.graph_tensor.source[1] - first, value.graph_tensor.desc)
            for index, value in enumerate(inputs)
            if value is not None and value.graph_tensor is not None and not before[index]
        ]
        size = sum(item.array.nbytes for item in described if item is not None and item.array is not None)
        for record in fragment.nodes:
            if type(record) is DML_CONSTANT_DATA_GRAPH_NODE_DESC and not self._constants.has(record.Data):
                size += record.DataSize
        if size > MOST_BYTES // 64:
            return
        own = tuple(
            record._replace(numbers=range(record.numbers.start - first, record.numbers.stop - first))
            for record in records
        )
        given = tuple(index for index, value in enumerate(inputs) if value is not None)
        mapped = MappedNode(fragment, tuple(described), given, tuple(constants_added), node, own, count)
        self._kept.put(key, mapped, size)


#: Result of ``_described`` for an output that is not a plain graph tensor.
_UNKNOWN = _Result(None, (), None, None, None, None)


def _kind(node: NodeFacts) -> Hashable | None:
    """Return the part of the key that does not depend on the inputs; None for nested graphs, which see outer names."""
    attributes = node.raw.attribute
    if any(entry.HasField("g") or entry.graphs for entry in attributes):
        return None
    size = sum(entry.ByteSize() for entry in attributes)
    given = node if size > _SMALL else b"".join(entry.SerializeToString() for entry in attributes)
    return node.op_type, node.domain, node.overload, tuple(map(bool, node.output)), len(attributes), given


def _described(item: Any, inputs: Sequence[OnnxValue | None], sources: Sequence[Source], first: int) -> _Result | None:
    if item is None:
        return None
    if type(item) is not OnnxValue:
        return _UNKNOWN
    for index, value in enumerate(inputs):
        if value is item:
            return _Result(index, (), None, None, None, None)
    if item.traced is not None or (item.array is not None and item.array.dtype.hasobject):
        return _UNKNOWN
    tensor, place = item.graph_tensor, None
    if tensor is not None:
        kind, node, output = tensor.source
        if tensor.source in sources:
            place = -1 - sources.index(tensor.source), 0
        elif kind == "node" and node >= first:
            place = node - first, output
        else:
            return _UNKNOWN
    return _Result(None, item.shape, item.dtype, item.array, place, None if tensor is None else tensor.desc)
