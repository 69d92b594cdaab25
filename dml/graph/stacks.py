"""Gathers of whole matrices from a stack of weights: products read the chosen matrices where they are, as in a mixture
of experts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from dml import descriptors as d
from dml import enums
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.operators.activation.softmax import SOFTMAX
from dml.compiler.program import Operand
from dml.graph.blocks import is_packed, multiplies, readers_of, weights_of
from dml.graph.model import Graph, Node, Port, Value, same_layout, static_values
from dml.tensors import DML_BUFFER_TENSOR_DESC

_FLOATS = (enums.DML_TENSOR_DATA_TYPE_FLOAT32, enums.DML_TENSOR_DATA_TYPE_FLOAT16)


class Stack(NamedTuple):
    """A stack of matrices {E, rows, columns}, with scales and zero points if they are quantized. Products read the
    matrices that ``indices`` {P} choose."""

    numbers: Operand
    indices: Operand
    scales: Operand | None = None
    zeros: Operand | None = None

    def operands(self, name: str, tensor: DML_BUFFER_TENSOR_DESC) -> dict[str, Operand]:
        """Return a product's operands for the chosen matrices, which it describes by ``tensor``."""
        numbers = self.numbers if self.scales is not None else self.seen(tensor)
        named = {name: numbers, f"{name}.Scales": self.scales, f"{name}.ZeroPoints": self.zeros}
        named[f"{name}.Indices"] = self.indices
        return {key: operand for key, operand in named.items() if operand is not None}

    def seen(self, tensor: DML_BUFFER_TENSOR_DESC) -> Operand:
        """Return the whole stack in the layout of a reader, which describes the chosen matrices by ``tensor``."""
        numbers = self.numbers
        held, bits = DATA_TYPES[numbers.data_type].bits, DATA_TYPES[tensor.DataType].bits
        pitch = math.prod(numbers.sizes[1:]) * held // bits
        sizes, strides = (numbers.sizes[0], *tensor.Sizes[-2:]), (pitch, *tensor.strides[-2:])
        return Operand(numbers.region, tensor.DataType, sizes, strides, numbers.base * held // bits)


def gathers_read_in_place(graph: Graph) -> set[Node]:
    """Return the gathers of matrices that only products read, directly or dequantized."""
    gathers = [node for node in graph.nodes if isinstance(node.desc, d.DML_GATHER_OPERATOR_DESC)]
    static = static_values(graph) if gathers else set()
    found = {node for node in gathers if _chooses_matrices(node, static)}
    while True:
        refused = {
            node for node in found if not all(_reads_stack(reader, index, found) for reader, index in readers_of(node))
        }
        if not refused:
            return found
        found -= refused


def stack_of(node: Node, read: Callable[[Value, DML_BUFFER_TENSOR_DESC], Operand], indices: Operand) -> Stack:
    """Return the stack of a gather. read: returns a value in a description's view."""
    assert isinstance(node.desc, d.DML_GATHER_OPERATOR_DESC)
    port, value = node.input(0)
    inner = port.tensor.element_count // _height(node)
    return Stack(read(value, port.tensor).view((_height(node), inner), (inner, 1)), indices)


def dequantized_stack(
    node: Node, stacks: dict[Value, Stack], read: Callable[[Value, DML_BUFFER_TENSOR_DESC], Operand]
) -> Stack | None:
    """Return the quantized matrices from which a node dequantizes the chosen ones; None if it does anything else.

    stacks: the stack that each gather's result was chosen from.
    """
    if not node.inputs or node.inputs[0] is None or node.inputs[0][1] not in stacks:
        return None
    first = stacks[node.inputs[0][1]]

    def whole(port: Port, value: Value) -> Operand:
        if value in stacks:
            return stacks[value].seen(port.tensor)
        same = read(value, port.tensor)
        return same.view((first.numbers.sizes[0], *same.sizes[-2:]), (0, *same.strides[-2:]))

    numbers, *per_block = (whole(*entry) for entry in node.inputs if entry is not None)
    return Stack(numbers, first.indices, *per_block)


def _count(node: Node) -> int:
    """Return the number of matrices that a gather chooses."""
    return node.input(1)[0].tensor.element_count


def _chooses_matrices(node: Node, static: set[Value]) -> bool:
    """Whether a node gathers whole slices of constant weights along their outermost dimension, in each run."""
    desc = node.desc
    if not isinstance(desc, d.DML_GATHER_OPERATOR_DESC) or node.epilogue is not None:
        return False
    ((port, result),) = filter(None, node.outputs)
    (stacked, stack), (indexed, indices) = node.input(0), node.input(1)
    return (
        stack in static
        and stack.producer is None
        and indices not in static
        and is_packed(stacked.tensor)
        and is_packed(port.tensor)
        and is_packed(indexed.tensor)
        and math.prod(stacked.tensor.Sizes[: desc.Axis]) == 1
        and bool(result.consumers)
        and not result.outputs
    )


def _reads_stack(node: Node, index: int, gathers: set[Node]) -> bool:
    """Whether input ``index`` of a node is the result of one of these gathers, and the node can read the gather's stack
    instead."""
    if isinstance(node.desc, d.DML_GEMM_OPERATOR_DESC):
        return _multiplies_floats(node, node.desc, index)
    weights = weights_of(node) if isinstance(node.desc, d.DML_DEQUANTIZE_OPERATOR_DESC) else None
    gather = None if weights is None else node.input(0)[1].producer
    if weights is None or gather not in gathers:
        return False
    per_block = [entry for entry in node.inputs[1:] if entry is not None]
    return all(
        _choose_alike(value.producer, gather) if value.producer in gathers else not any(port.tensor.strides[:-2])
        for port, value in per_block
    ) and all(
        multiplies(reader, number, weights)
        and isinstance(reader.desc, d.DML_GEMM_OPERATOR_DESC)
        and reader.desc.TransB == enums.DML_MATRIX_TRANSFORM_TRANSPOSE
        and _is_batch(reader.input(number)[0].tensor, _count(gather))
        for reader, number in readers_of(node)
    )


def _choose_alike(first: Node, second: Node) -> bool:
    """Whether two gathers use the same indices, on stacks of the same number of matrices."""
    (own, indices), (other, others) = first.input(1), second.input(1)
    return indices is others and same_layout(own.tensor, other.tensor) and _height(first) == _height(second)


def _height(node: Node) -> int:
    """Return the number of matrices in a gather's stack."""
    assert isinstance(node.desc, d.DML_GATHER_OPERATOR_DESC)
    return node.desc.InputTensor.Sizes[node.desc.Axis]


def _multiplies_floats(node: Node, desc: d.DML_GEMM_OPERATOR_DESC, index: int) -> bool:
    """Whether a product's input ``index`` is a batch of matrices B, each chosen by its own index."""
    port, value = node.input(index)
    if index >= node.own_inputs or port.name != "BTensor" or port.tensor.DataType not in _FLOATS:
        return False
    gather = value.producer
    assert gather is not None
    outer = desc.OutputTensor.Sizes[:-2]
    return (
        not isinstance(desc.FusedActivation, SOFTMAX)
        and _is_batch(port.tensor, _count(gather))
        and math.prod(outer) == _count(gather) == max((1, *outer))
        and port.tensor.DataType == gather.input(0)[0].tensor.DataType
    )


def _is_batch(tensor: DML_BUFFER_TENSOR_DESC, count: int) -> bool:
    """Whether a description has ``count`` whole matrices."""
    return is_packed(tensor) and math.prod(tensor.Sizes[:-2]) == count
