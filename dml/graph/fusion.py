"""Fusion of trees of element-wise operators into one expression, and of the expression into the operator that computes
one of its inputs.

Between the operators of a fused tree values stay float32; they are rounded to a narrower type once, when the result is
stored.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import lru_cache

from dml import enums
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.lowering import Epilogues, elementwise_of, epilogues_of
from dml.compiler.operators.normalization.batch import batch_expressions
from dml.compiler.repeated import expression_key
from dml.compiler.scalar import Expression, Leaf, ScalarNode, depth_of, node, substitute
from dml.compiler.selection import single_stores
from dml.compiler.selection.convolution import adds_separately
from dml.compiler.target import Target
from dml.descriptors.base import OperatorDesc
from dml.descriptors.normalization import DML_BATCH_NORMALIZATION_OPERATOR_DESC
from dml.graph.equal import merge_equal
from dml.graph.folding import fold_batch_normalizations
from dml.graph.gelu import find_gelu
from dml.graph.model import Graph, Node, Port, Value, connect, same_layout, static_values
from dml.graph.repeats import read_unrepeated
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Maximum nesting of an expression: in a separate kernel, and as an epilogue, whose code is repeated for each sum
#: that a kernel keeps in registers.
_DEEPEST, _DEEPEST_EPILOGUE = 128, 16


def fuse(graph: Graph, target: Target) -> None:
    """Rewrite the graph in place."""
    most = min(target.max_storage_buffers, 8)
    fold_batch_normalizations(graph)
    find_gelu(graph)
    graph.nodes = [part for node in graph.nodes for part in _as_expressions(node)]
    read_unrepeated(graph)
    static = static_values(graph)
    left = dict.fromkeys(graph.nodes)  # a dict serves as an ordered set
    for consumer in graph.nodes:
        if consumer.expression is not None:
            while (absorbed := _absorb_one(consumer, most, static)) is not None:
                del left[absorbed]
    nodes: dict[Node, None] = {}
    for consumer in left:
        producer = _as_epilogue(consumer, target, most, static)
        if producer is None:
            nodes[consumer] = None
        else:
            # The fused node takes the later position, after everything that both read; nothing in between reads the
            # producer's result.
            del nodes[producer]
            nodes[producer] = None
    graph.nodes = list(nodes)
    merge_equal(graph)


def _as_expressions(node: Node) -> Sequence[Node]:
    """Replace an element-wise operator by an expression over its inputs, in order.

    Batch normalization becomes two expressions: over its parameters (computed once if they are constant), and over the
    elements.
    """
    if isinstance(node.desc, DML_BATCH_NORMALIZATION_OPERATOR_DESC):
        return _batch_normalization(node, node.desc)
    if node.desc is None:
        return [node]
    entry = elementwise_of(node.desc)
    if entry is None:
        return [node]
    node.inputs = [port for port in node.inputs if port is not None]
    node.expression = _expression_of(node.desc.key, node.desc)
    return [node]


@lru_cache(maxsize=4096)
def _expression_of(key: Hashable, desc: OperatorDesc) -> Expression:
    """Return an element-wise operator's expression over its inputs, in order; one object for all sizes. key: the
    description's."""
    entry = elementwise_of(desc)
    assert entry is not None
    present = [name for name, tensor in desc.inputs() if tensor is not None]
    leaves = [Leaf(present.index(name)) for name in entry.inputs if name in present]
    expression = substitute(entry.expression(desc), leaves)
    if len(_firsts) >= _MOST_FIRSTS:
        _firsts.clear()
    return _firsts.setdefault(expression_key(expression), expression)


#: The first of equal expressions, by key.
_firsts: dict[Hashable, Expression] = {}
_MOST_FIRSTS = 1024


def _batch_normalization(node: Node, desc: DML_BATCH_NORMALIZATION_OPERATOR_DESC) -> Sequence[Node]:
    x, mean, variance, scale, bias = node.inputs
    sizes = tuple(map(max, desc.VarianceTensor.Sizes, desc.ScaleTensor.Sizes))
    tensor = DML_BUFFER_TENSOR_DESC(enums.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    port = Port("Factor", None, tensor)
    of_parameters, of_elements = batch_expressions(desc)
    early = Node(node.labels, None, [variance, scale], [None], of_parameters)
    factor = Value(early, tensor.TotalTensorSizeInBytes)
    early.outputs = [(port, factor)]
    late = Node(node.labels, None, [x, mean, (port, factor), bias], node.outputs, of_elements)
    for result in filter(None, node.outputs):
        result[1].source = late
    for new in (early, late):
        connect(new, node)
    return early, late


def _reshaped(written: DML_BUFFER_TENSOR_DESC, *seen: DML_BUFFER_TENSOR_DESC) -> bool:
    """Whether all descriptions have the elements of ``written`` in the same order, without gaps."""
    tensors = (written, *seen)
    return written.DataType == seen[0].DataType and all(
        tensor.is_packed and tensor.element_count == written.element_count for tensor in tensors
    )


def _absorb_one(node: Node, most: int, static: set[Value]) -> Node | None:
    """Replace an input that only this node reads by the expression that computes it; return the node that computed it,
    None if there was none.

    Values smaller than the result, or constant, are better computed separately. most: maximum tensors that a kernel may
    bind.
    """
    result, whole = node.result
    for place in range(len(node.inputs)):
        seen, value = node.input(place)
        producer = value.producer
        if producer is None or producer.expression is None or not value.is_private:
            continue
        if (
            (DATA_TYPES[seen.tensor.DataType].wraps and not _stays_in_range(producer))
            or not same_layout(producer.result[0].tensor, seen.tensor)
            or seen.tensor.Sizes != result.tensor.Sizes
        ):
            continue
        if value in static and whole not in static:
            continue
        assert node.expression is not None
        if depth_of(node.expression) + depth_of(producer.expression) > _DEEPEST:
            continue
        inputs, leaves = _merged_inputs(node, place, producer)
        if len(inputs) + 1 > most:
            continue
        value_type = DATA_TYPES[seen.tensor.DataType].glsl
        inner = _converted(_moved(producer, leaves[1]), _type(producer), value_type)
        node.expression = substitute(node.expression, [inner if leaf is None else leaf for leaf in leaves[0]])
        node.inputs = [*inputs]
        node.labels = producer.labels + node.labels
        connect(node, producer)
        return producer
    return None


def _stays_in_range(producer: Node) -> bool:
    """Whether all values of a node's expression are certain to be in the range of its result's data type."""
    entry = None if producer.desc is None else elementwise_of(producer.desc)
    return entry is not None and entry.fits


def _merged_inputs(
    node: Node, place: int, producer: Node
) -> tuple[list[tuple[Port, Value]], tuple[list[Leaf | None], list[Expression]]]:
    """Return the inputs of both nodes without duplicates, and the position of each node's inputs among them."""
    inputs: list[tuple[Port, Value]] = []

    def leaf(port: tuple[Port, Value]) -> Leaf:
        for index, (known, value) in enumerate(inputs):
            if value is port[1] and same_layout(known.tensor, port[0].tensor):
                return Leaf(index)
        inputs.append(port)
        return Leaf(len(inputs) - 1)

    outer: list[Leaf | None] = []
    for index in range(len(node.inputs)):
        outer.append(None if index == place else leaf(node.input(index)))
    inner: list[Expression] = [leaf(port) for port in producer.inputs if port is not None]
    return inputs, (outer, inner)


def _moved(producer: Node, leaves: list[Expression]) -> Expression:
    assert producer.expression is not None
    return substitute(producer.expression, leaves)


def _type(producer: Node) -> str:
    if isinstance(producer.expression, ScalarNode):
        return producer.expression.glsl
    assert isinstance(producer.expression, Leaf)
    return DATA_TYPES[producer.input(producer.expression.index)[0].tensor.DataType].glsl


@lru_cache(maxsize=1024)
def _converted(expression: Expression, found: str, wanted: str) -> Expression:
    return expression if found == wanted else node(f"{wanted}($x0)", expression, glsl=wanted)


def _as_epilogue(node: Node, target: Target, most: int, static: set[Value]) -> Node | None:
    """Make an expression the epilogue of the operator that produces one of its inputs; return that operator."""
    if node.expression is None or depth_of(node.expression) > _DEEPEST_EPILOGUE:
        return None
    found = [
        (place, producer)
        for place, (seen, value) in enumerate(filter(None, node.inputs))
        if (producer := _epilogue_producer(node, seen, value, target)) is not None
        and not _is_better_apart(node, producer, target)
        and len(node.inputs) + sum(port is not None for port in producer.inputs) <= most
        and (value not in static or all(port is not None and port[1] in static for port in node.inputs))
    ]
    if not found:
        return None
    place, producer = found[-1]
    others = node.inputs[:place] + node.inputs[place + 1 :]
    leaves = [Leaf(1 + index) for index in range(len(others))]
    ((written, result),) = filter(None, node.outputs)
    ((output, _),) = filter(None, producer.outputs)
    producer.epilogue = substitute(node.expression, [*leaves[:place], Leaf(0), *leaves[place:]])
    producer.inputs = [*producer.inputs, *others]
    connect(producer, node)
    whole = Port(output.name, output.item, written.tensor), result
    producer.outputs = [None if port is None else whole for port in producer.outputs]
    result.source = producer
    producer.labels = producer.labels + node.labels
    return producer


def _is_better_apart(node: Node, producer: Node, target: Target) -> bool:
    """Whether a residual addition to a convolution's result is better left to a separate kernel."""
    if producer.desc is None or producer.desc.OPERATOR_TYPE != enums.DML_OPERATOR_CONVOLUTION:
        return False
    ((port, result),) = filter(None, node.outputs)
    whole = sum(2 * value.size > result.size for _, value in filter(None, node.inputs))
    return whole > 1 and adds_separately(target, math.prod(port.tensor.Sizes[1:]))


def _is_stored(port: Port, target: Target) -> bool:
    """Whether kernels can store single values of the output's data type: at most a word each, and bytes only if the
    device stores them without atomics."""
    row = DATA_TYPES[port.tensor.DataType]
    return row.kind in ("float", "int", "uint") and (row.bits >= 16 or row.bits in single_stores(target))


def _epilogue_producer(node: Node, seen: Port, value: Value, target: Target) -> Node | None:
    """Return the node that computes an input's value if its kernel can apply ``node``'s expression before it stores the
    value; else None."""
    producer = value.producer
    if producer is None or producer.desc is None or producer.expression is not None or producer.epilogue is not None:
        return None
    epilogues = epilogues_of(type(producer.desc))
    if epilogues is Epilogues.NONE or not value.is_private:
        return None
    output, *more = (port for port, _ in filter(None, producer.outputs))
    ((result, written),) = filter(None, node.outputs)
    if more:
        return None
    if not _is_stored(seen, target) or not _is_stored(result, target) or result.tensor.Sizes != seen.tensor.Sizes:
        return None
    if epilogues is Epilogues.SAME_STRIDES and result.tensor.strides != output.tensor.strides:
        return None
    if not same_layout(output.tensor, seen.tensor) and not _reshaped(output.tensor, seen.tensor, result.tensor):
        return None
    if isinstance(node.expression, Leaf) and result.tensor.DataType == seen.tensor.DataType and not written.outputs:
        return None  # it only moves elements, which a view does for free
    return producer
