"""Fuses element-wise trees into one expression, and unary ones behind the operator that produces their input."""

from __future__ import annotations

from collections.abc import Callable

from dml import enums
from dml.compiler.kernel import VALUE_TYPES
from dml.compiler.lowering import elementwise_of
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.compiler.scalar import Node as Scalar
from dml.compiler.target import Target
from dml.enums import DML_OPERATOR_TYPE
from dml.graph.model import Graph, Node, Port, Value, remove
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Operators whose kernels write each element of a float result once, through t_store or t_encode.
_TAKES_EPILOGUE = frozenset(
    {
        enums.DML_OPERATOR_GEMM,
        enums.DML_OPERATOR_CONVOLUTION,
        enums.DML_OPERATOR_REDUCE,
        enums.DML_OPERATOR_BATCH_NORMALIZATION,
        enums.DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION,
        enums.DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1,
        enums.DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION2,
        enums.DML_OPERATOR_LP_NORMALIZATION,
        enums.DML_OPERATOR_AVERAGE_POOLING,
        enums.DML_OPERATOR_AVERAGE_POOLING1,
        enums.DML_OPERATOR_MAX_POOLING,
    }
)
_FLOATS = (enums.DML_TENSOR_DATA_TYPE_FLOAT32, enums.DML_TENSOR_DATA_TYPE_FLOAT16)


def fuse(graph: Graph, target: Target, taken: Callable[[DML_OPERATOR_TYPE], bool] = lambda kind: True) -> None:
    """Rewrite the graph in place. ``taken`` says which operators may take an epilogue."""
    for at in graph.nodes:
        _as_expression(at)
    gone: list[Node] = []
    for at in graph.nodes:
        if at.expression is not None:
            while (absorbed := _absorb_one(at, target)) is not None:
                gone.append(absorbed)
    remove(graph.nodes, gone)
    gone = [at for at in graph.nodes if _behind_producer(at, taken)]
    remove(graph.nodes, gone)


def _as_expression(at: Node) -> None:
    """Give an element-wise operator its expression over its inputs in their order."""
    assert at.desc is not None
    entry = elementwise_of(at.desc)
    if entry is None:
        return
    places = {port[0].name: place for place, port in enumerate(at.inputs) if port is not None}
    expression = substitute(entry.expression(at.desc), [Leaf(places[name]) for name in entry.inputs])
    if all(port is not None for port in at.inputs):
        at.expression = expression


def same_layout(a: DML_BUFFER_TENSOR_DESC, b: DML_BUFFER_TENSOR_DESC) -> bool:
    """Whether two descriptions put the element at each place of equal sizes at the same bytes, in the same type."""
    return a.DataType == b.DataType and a.Sizes == b.Sizes and a.strides == b.strides


def _absorb_one(at: Node, target: Target) -> Node | None:
    """Put the expression of one producer in place of the value it makes for ``at`` alone."""
    for place, port in enumerate(at.inputs):
        assert port is not None
        seen, value = port
        producer = value.producer
        if producer is None or producer.expression is None or not value.is_private:
            continue
        made = producer.outputs[0]
        assert made is not None
        bits = VALUE_TYPES[seen.tensor.DataType].bits
        narrow = bits < 32 and seen.tensor.DataType not in _FLOATS
        if narrow or not same_layout(made[0].tensor, seen.tensor):
            continue
        inputs, leaves = _joined(at, place, producer)
        if len(inputs) + 1 > min(target.max_storage_buffers, 8):
            continue
        value_type = VALUE_TYPES[seen.tensor.DataType].glsl
        inner = _converted(_moved(producer, leaves[1]), _type(producer), value_type)
        assert at.expression is not None
        at.expression = substitute(at.expression, [inner if leaf is None else leaf for leaf in leaves[0]])
        at.inputs = [*inputs]
        at.labels = producer.labels + at.labels
        for _, value in inputs:
            others = [(n, i) for n, i in value.consumers if n is not at and n is not producer]
            value.consumers = others + [(at, i) for i, (_, read) in enumerate(inputs) if read is value]
        return producer
    return None


def _joined(
    at: Node, place: int, producer: Node
) -> tuple[list[tuple[Port, Value]], tuple[list[Leaf | None], list[Expression]]]:
    """The inputs of both without repetition, and where each one's inputs are among them."""
    inputs: list[tuple[Port, Value]] = []

    def leaf(port: tuple[Port, Value]) -> Leaf:
        for index, (known, value) in enumerate(inputs):
            if value is port[1] and same_layout(known.tensor, port[0].tensor):
                return Leaf(index)
        inputs.append(port)
        return Leaf(len(inputs) - 1)

    outer: list[Leaf | None] = []
    for index, port in enumerate(at.inputs):
        assert port is not None
        outer.append(None if index == place else leaf(port))
    inner: list[Expression] = [leaf(port) for port in producer.inputs if port is not None]
    return inputs, (outer, inner)


def _moved(producer: Node, leaves: list[Expression]) -> Expression:
    assert producer.expression is not None
    return substitute(producer.expression, leaves)


def _type(producer: Node) -> str:
    if isinstance(producer.expression, Scalar):
        return producer.expression.glsl
    assert isinstance(producer.expression, Leaf)
    port = producer.inputs[producer.expression.index]
    assert port is not None
    return VALUE_TYPES[port[0].tensor.DataType].glsl


def _converted(expression: Expression, found: str, wanted: str) -> Expression:
    return expression if found == wanted else node(f"{wanted}($x0)", expression, glsl=wanted)


def _behind_producer(at: Node, taken: Callable[[DML_OPERATOR_TYPE], bool]) -> bool:
    """Make a unary expression the epilogue of the operator that produces its input."""
    if at.expression is None or isinstance(at.expression, Leaf) or len(at.inputs) != 1:
        return False
    (port,), (result,) = at.inputs, at.outputs
    assert port is not None
    assert result is not None
    seen, value = port
    producer = value.producer
    if producer is None or producer.desc is None or producer.expression is not None or producer.epilogue is not None:
        return False
    kind = producer.desc.OPERATOR_TYPE
    if kind not in _TAKES_EPILOGUE or not taken(kind) or not value.is_private or len(producer.outputs) != 1:
        return False
    made = producer.outputs[0]
    assert made is not None
    written = result[0].tensor
    floats = seen.tensor.DataType in _FLOATS and written.DataType in _FLOATS
    if not floats or not same_layout(made[0].tensor, seen.tensor) or written.Sizes != seen.tensor.Sizes:
        return False
    producer.epilogue = at.expression
    producer.outputs = [(Port(made[0].name, made[0].item, written), result[1])]
    result[1].source = producer
    producer.labels = producer.labels + at.labels
    return True
