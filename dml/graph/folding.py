"""Folding of a batch normalization into the weights of the preceding convolution, if all of them are constant.

The normalization of channel k is ``f x + (bias - f mean)`` with ``f = scale / sqrt(variance + epsilon)``: a convolution
with weights multiplied by f. These are computed once, in float32 for any data type, and the normalization then costs
nothing.
"""

from __future__ import annotations

from dataclasses import replace

from dml.compiler.operators.normalization.batch import batch_expressions
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.descriptors.normalization import DML_BATCH_NORMALIZATION_OPERATOR_DESC
from dml.enums import DML_CONVOLUTION_DIRECTION_FORWARD, DML_TENSOR_DATA_TYPE_FLOAT32
from dml.graph.model import Graph, Node, Port, Value, connect, same_layout, static_values
from dml.tensors import DML_BUFFER_TENSOR_DESC

_Entry = tuple[Port, Value]


def fold_batch_normalizations(graph: Graph) -> None:
    """Rewrite the graph in place."""
    if not any(isinstance(node.desc, DML_BATCH_NORMALIZATION_OPERATOR_DESC) for node in graph.nodes):
        return
    static = static_values(graph)
    nodes: dict[Node, None] = {}  # a dict serves as an ordered set
    for normalization in graph.nodes:
        convolution = _convolution_before(normalization, static)
        if convolution is None:
            nodes[normalization] = None
        else:
            # The convolution moves to the normalization's position, after all of its parameters.
            del nodes[convolution]
            nodes |= dict.fromkeys(_folded(convolution, normalization))
    graph.nodes = list(nodes)


def _convolution_before(node: Node, static: set[Value]) -> Node | None:
    if not isinstance(node.desc, DML_BATCH_NORMALIZATION_OPERATOR_DESC):
        return None
    x, *parameters = (entry for entry in node.inputs if entry is not None)
    producer = x[1].producer
    if producer is None or not x[1].is_private or not isinstance(producer.desc, DML_CONVOLUTION_OPERATOR_DESC):
        return None
    desc = producer.desc
    known = [*parameters, *(entry for entry in producer.inputs[1:] if entry is not None)]
    by_channel = all(size == 1 or axis == 1 for port, _ in parameters for axis, size in enumerate(port.tensor.Sizes))
    if (
        desc.Direction != DML_CONVOLUTION_DIRECTION_FORWARD
        or desc.FusedActivation is not None
        or not by_channel
        or x[1] in static
        or not all(value in static for _, value in known)
        or not same_layout(desc.OutputTensor, x[0].tensor)
    ):
        return None
    return producer


def _folded(convolution: Node, normalization: Node) -> list[Node]:
    """Return the parameters' nodes and the convolution, which now includes the normalization."""
    assert isinstance(convolution.desc, DML_CONVOLUTION_OPERATOR_DESC)
    assert isinstance(normalization.desc, DML_BATCH_NORMALIZATION_OPERATOR_DESC)
    x, weights, own_bias = convolution.inputs
    _, mean, variance, scale, bias = normalization.inputs
    assert weights is not None
    assert variance is not None
    assert scale is not None
    labels = convolution.labels + normalization.labels
    filter_sizes, channels = weights[0].tensor.Sizes, normalization.desc.OutputTensor.Sizes[1]
    ones = (1,) * (len(filter_sizes) - 2)

    def parameter(
        name: str, sizes: tuple[int, ...], inputs: list[_Entry | None], expression: Expression
    ) -> tuple[Node, _Entry]:
        tensor = DML_BUFFER_TENSOR_DESC(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
        maker = Node(labels, None, inputs, [None], expression)
        entry = Port(name, None, tensor), Value(maker, tensor.TotalTensorSizeInBytes)
        maker.outputs = [entry]
        connect(maker, normalization)
        connect(maker, convolution)
        return maker, entry

    factors, factor = parameter(
        "Factor", (1, channels, *ones), [variance, scale], batch_expressions(normalization.desc)[0]
    )
    by_row = replace(factor[0].tensor, Sizes=filter_sizes, Strides=(1, *(0,) * (len(filter_sizes) - 1)))
    scaled, new_weights = parameter(
        "FilterTensor", filter_sizes, [weights, (Port("Factor", None, by_row), factor[1])],
        node("$x0 * $x1", Leaf(0), Leaf(1)),
    )  # fmt: skip
    inputs = [mean, factor, bias]
    offset = node("$x2 - $x0 * $x1", *map(Leaf, range(3)))
    if own_bias is not None:
        inputs.append(own_bias)
        offset = node("($x3 - $x0) * $x1 + $x2", *map(Leaf, range(4)))
    shifted, new_bias = parameter("BiasTensor", (1, channels, *ones), inputs, offset)

    convolution.desc = convolution.desc.replace(
        FilterTensor=new_weights[0].tensor, BiasTensor=new_bias[0].tensor, OutputTensor=normalization.desc.OutputTensor,
        FusedActivation=normalization.desc.FusedActivation,
    )  # fmt: skip
    convolution.inputs = [x, new_weights, new_bias]
    convolution.outputs = normalization.outputs
    convolution.labels = labels
    connect(convolution, normalization)
    normalization.result[1].source = convolution
    return [factors, scaled, shifted, convolution]
