"""Removal of copies that repeat keys, values or matrices: products and attention read the original tensor instead.

Exported models repeat the keys and values of each head for all query heads that share them: a broadcast view, copied so
that it can be reshaped to {batch, query head, ...}. Element-wise operators, such as a scale, may follow. Here readers
get the keys without repetition, in tensors with one dimension more: along it their strides are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from dml.compiler.builder import merge_dimensions
from dml.compiler.operators.activation.softmax import SOFTMAX
from dml.compiler.scalar import Leaf
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.graph.model import Graph, Node, Port, Value, connect
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides, packed_tensor

_Entry = tuple[Port, Value]
#: A dimension as the sizes and strides that replace it, outermost first.
_Parts = list[tuple[int, int]]
_Sizes = tuple[int, ...]
_MULTIHEAD = DML_MULTIHEAD_ATTENTION_OPERATOR_DESC | DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC


def read_unrepeated(graph: Graph) -> None:
    """Rewrite the graph in place. Its element-wise nodes are expressions."""
    found: dict[Value, _Repeat] = {}
    for node in graph.nodes:
        if node.expression is not None:
            _find_repeat(node, found)
        elif found and isinstance(node.desc, DML_GEMM_OPERATOR_DESC):
            for place in range(2):
                _multiply(node, place, found)
        elif found and isinstance(node.desc, _MULTIHEAD):
            _attend(node, node.desc, found)
    if found:
        graph.nodes = _read_nodes(graph.nodes, found)


@dataclass(frozen=True, eq=False)
class _Repeat:
    """An element-wise node whose result repeats elements.

    small: computes each of these elements once. sources: the tensors to read instead, best first: the copied tensor if
    the node only copies, and the result of ``small``. Each is viewed with the result's dimensions, divided so that the
    result repeats along whole ones.
    """

    node: Node
    small: Node
    sources: list[_Entry]


def _find_repeat(node: Node, found: dict[Value, _Repeat]) -> None:
    """Add an element-wise node to ``found`` if its inputs all repeat along the same dimension, or part of one."""
    ((port, result),) = filter(None, node.outputs)
    entries = [entry for entry in node.inputs if entry is not None]
    if not all(value in found or _repeats(seen.tensor) for seen, value in entries) or not port.tensor.is_packed:
        return
    read = [_original(entry, found) for entry in entries]
    widest = [max((parts[axis] for parts, _ in read), key=len) for axis in range(port.tensor.rank)]
    divided = [_divided(parts, widest) for parts, _ in read]
    strides = [own for own in divided if own is not None]
    sizes = tuple(size for parts in widest for size, _ in parts)
    kept = tuple(size if any(steps) else 1 for size, *steps in zip(sizes, *strides, strict=True))
    if len(strides) < len(divided) or kept == sizes:
        return
    tensor = packed_tensor(port.tensor.DataType, kept)
    inputs = [_viewed(entry, kept, own) for own, (_, entry) in zip(strides, read, strict=True)]
    small = Node(node.labels, None, [*inputs], [None], node.expression)
    written = Port(port.name, port.item, tensor), Value(small, tensor.TotalTensorSizeInBytes)
    small.outputs = [written]
    connect(small, small)
    steps = [step if size == own else 0 for step, size, own in zip(tensor.strides, sizes, kept, strict=True)]
    sources = [_viewed(written, sizes, steps)]
    if isinstance(node.expression, Leaf) and inputs[0][0].tensor.DataType == tensor.DataType:
        sources.insert(0, _viewed(read[0][1], sizes, strides[0]))
    found[result] = _Repeat(node, small, sources)


def _repeats(tensor: DML_BUFFER_TENSOR_DESC) -> bool:
    return any(not stride and size > 1 for size, stride in zip(tensor.Sizes, tensor.strides, strict=True))


def _original(entry: _Entry, found: dict[Value, _Repeat]) -> tuple[list[_Parts], _Entry]:
    """Return the layout with which to read the tensor that an input repeats, then that tensor.

    The layout has, for each dimension of the input, the sizes and strides of the dimensions that replace it. An input
    that repeats no tensor is returned itself.
    """
    port, value = entry
    if value in found:
        for source in found[value].sources:
            parts = _strides_through_copy(source[0].tensor, port.tensor)
            if parts is not None:
                return parts, (Port(port.name, port.item, source[0].tensor), source[1])
    return [[pair] for pair in zip(port.tensor.Sizes, port.tensor.strides, strict=True)], entry


def _strides_through_copy(copied: DML_BUFFER_TENSOR_DESC, seen: DML_BUFFER_TENSOR_DESC) -> list[_Parts] | None:
    """Return the sizes and strides with which a copy's reader can read the original; None if there are none."""
    sizes, (steps,) = merge_dimensions(copied.Sizes, [copied.strides])
    packed = packed_strides(sizes)
    room = [size - 1 for size in sizes]
    if copied.DataType != seen.DataType:
        return None
    dimensions: list[_Parts] = []
    for size, stride in zip(seen.Sizes, seen.strides, strict=True):
        parts: _Parts = []
        while size > 1 and stride:
            axis = next((axis for axis, whole in enumerate(packed) if stride % whole == 0), None)
            if axis is None:
                return None
            times = stride // packed[axis]
            count = size
            if axis and size * times > sizes[axis]:  # it continues in the next dimension
                count = sizes[axis] // times
                if count * times != sizes[axis] or size % count:
                    return None
            room[axis] -= times * (count - 1)
            if room[axis] < 0:
                return None
            parts.insert(0, (count, times * steps[axis]))
            size, stride = size // count, stride * count
        dimensions.append(parts or [(size, 0)])
    return dimensions


def _divided(dimensions: list[_Parts], into: list[_Parts]) -> list[int] | None:
    """Divide dimensions into the same sizes as ``into``, and return their strides; None if they are already divided
    into other sizes."""
    strides: list[int] = []
    for own, parts in zip(dimensions, into, strict=True):
        sizes = [size for size, _ in parts]
        if [size for size, _ in own] == sizes:
            strides += [stride for _, stride in own]
        elif len(own) == 1:
            strides += [own[0][1] * inner for inner in packed_strides(sizes)]
        else:
            return None
    return strides


def _viewed(entry: _Entry, sizes: _Sizes, strides: Sequence[int]) -> _Entry:
    """View an input with other sizes and strides."""
    port, value = entry
    tensor = replace(port.tensor, Sizes=sizes, Strides=tuple(strides), DimensionCount=len(sizes))
    return Port(port.name, port.item, tensor), value


def _multiply(node: Node, place: int, found: dict[Value, _Repeat]) -> None:
    """Let a product read the matrices that its input ``place`` repeats along the batch."""
    entry, desc = node.inputs[place], node.desc
    assert isinstance(desc, DML_GEMM_OPERATOR_DESC)
    if entry is None or entry[1] not in found or isinstance(desc.FusedActivation, SOFTMAX):
        return
    into, source = _original(entry, found)
    if source[1] is entry[1] or any(len(parts) > 1 for parts in into[-2:]):
        return
    ((port, result),) = filter(None, node.outputs)
    batch = [(size, 0) for parts in into[:-2] for size, _ in parts]
    entries = [source if given is entry else given for given in (*node.inputs, (port, result))]
    views: list[_Entry | None] = []
    for given in entries:
        if given is None:
            views.append(None)
            continue
        tensor = given[0].tensor
        whole = into if given is source else [[pair] for pair in zip(tensor.Sizes, tensor.strides, strict=True)]
        strides = _divided(whole, [*into[:-2], *whole[-2:]])
        assert strides is not None
        sizes = tuple(size for size, _ in chain(batch, *whole[-2:]))
        views.append(_viewed(given, sizes, strides))
    *inputs, output = views
    _set_inputs(node, inputs)
    assert output is not None
    node.outputs = [output]
    tensors = {view[0].name: view[0].tensor for view in views if view is not None}
    node.desc = desc.replace(**tensors)


def _attend(node: Node, desc: _MULTIHEAD, found: dict[Value, _Repeat]) -> None:
    """Let attention share key and value heads that are repeated for its query heads."""
    names = ("KeyTensor", "ValueTensor")
    entries = {entry[0].name: entry for entry in node.inputs if entry is not None}
    if isinstance(desc, DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC):
        queries, heads = desc.QueryHeadCount, desc.KeyValueHeadCount
    else:
        queries = heads = desc.HeadCount
    others = ("BiasTensor", "PastKeyTensor", "PastSequenceLengthsTensor")
    if any(name not in entries for name in names) or any(name in entries for name in others):
        return
    if desc.OutputPresentKeyTensor is not None or desc.OutputPresentValueTensor is not None:
        return  # which have the repeated heads
    shared = {name: _shared_heads(entries[name], heads, found) for name in names}
    counts = {None if own is None else own[1] for own in shared.values()}
    (count, *more) = counts
    if count is None or more:
        return
    views = {name: own[0] for name, own in shared.items() if own is not None}
    _set_inputs(node, [(entries | views).get(name) for name in DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC.input_names])
    node.own_inputs = len(node.inputs)
    fields = {info.name: getattr(desc, info.name) for info in desc.fields_info if info.name != "HeadCount"}
    fields |= {name: view[0].tensor for name, view in views.items()}
    fields |= {"QueryHeadCount": queries, "KeyValueHeadCount": count}
    node.desc = DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(**fields)


def _shared_heads(entry: _Entry, heads: int, found: dict[Value, _Repeat]) -> tuple[_Entry, int] | None:
    """Return keys or values {..., head * element} without repeated heads, and the number of heads."""
    for source in found[entry[1]].sources if entry[1] in found else ():
        parts = _strides_through_copy(source[0].tensor, entry[0].tensor)
        if parts is None or len(parts[-1]) < 2 or any(len(own) > 1 for own in parts[:-1]):
            continue
        *outer, (each, repeat), (size, step) = parts[-1]
        count = math.prod(own for own, _ in outer)
        if repeat or each * count != heads or any(stride != size * step for _, stride in outer) or len(outer) > 1:
            continue
        dimensions = [*chain(*parts[:-1]), (count * size, step)]
        return _viewed(source, tuple(own for own, _ in dimensions), [stride for _, stride in dimensions]), count
    return None


def _set_inputs(node: Node, inputs: Sequence[_Entry | None]) -> None:
    """Replace a node's inputs."""
    for _, value in filter(None, node.inputs):
        value.consumers = [reader for reader in value.consumers if reader[0] is not node]
    node.inputs = [*inputs]
    connect(node, node)


def _read_nodes(nodes: Sequence[Node], found: dict[Value, _Repeat]) -> list[Node]:
    """Return the nodes in order with each replacement (a node without the repetition) before the node that it replaces;
    leave out replaced nodes and replacements whose results are not read."""
    small = {repeat.node: repeat.small for repeat in found.values()}
    optional = {*small, *small.values()}
    left: list[Node] = []
    for node in reversed(nodes):
        for one in (node, small[node]) if node in small else (node,):
            ((_, value), *_) = filter(None, one.outputs)
            if one in optional and not value.consumers and not value.outputs:
                _set_inputs(one, ())
            else:
                left.append(one)
    return left[::-1]
