"""Weights of 4, 8 and 16 bits that products and gathers read as stored, and widen themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.program import Operand
from dml.compiler.selection.stored_weights import streams_blocks
from dml.compiler.target import Target
from dml.descriptors.activation import DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC
from dml.descriptors.elementwise import DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.movement import DML_CAST_OPERATOR_DESC, DML_GATHER_OPERATOR_DESC
from dml.descriptors.quantization import DML_DEQUANTIZE_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32
from dml.graph.model import Node, Value
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

_SOFTMAX = DML_ACTIVATION_SOFTMAX_OPERATOR_DESC | DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC
_Sizes = tuple[int, int]


class _Weights(NamedTuple):
    """The stored numbers of a matrix, and its number of scales along each dimension (None without scales)."""

    tensor: DML_BUFFER_TENSOR_DESC
    sizes: _Sizes
    counts: _Sizes | None


class StoredWeights(NamedTuple):
    """A matrix's numbers, and its scales and zero points if it has them."""

    numbers: Operand
    scales: Operand | None = None
    zeros: Operand | None = None

    def operands(self, name: str, tensor: DML_BUFFER_TENSOR_DESC) -> dict[str, Operand]:
        """Return a lowering's operands for an input described by ``tensor``: NAME, NAME.Scales, NAME.ZeroPoints."""
        lead = len(tensor.Sizes) - 2

        def seen(operand: Operand) -> Operand:
            return operand.view((1,) * lead + operand.sizes, (0,) * lead + operand.strides)

        named = {name: self.numbers, f"{name}.Scales": self.scales, f"{name}.ZeroPoints": self.zeros}
        return {key: seen(operand) for key, operand in named.items() if operand is not None}


def blocks_of(node: Node, read: Callable[[Value, DML_BUFFER_TENSOR_DESC], Operand]) -> StoredWeights | None:
    """Return what replaces a node's result if only products and gathers read it; else None.

    read: a value as a description sees it.
    """
    weights = _weights(node)
    if weights is None or not all(_reads_stored(reader, at, weights) for reader, at in _readers(node)):
        return None
    sizes = (weights.sizes, *(weights.counts or (1, 1),) * 2)
    entries = (entry for entry in node.inputs if entry is not None)
    return StoredWeights(
        *(_seen(read(value, port.tensor), own) for own, (port, value) in zip(sizes, entries, strict=False))
    )


def is_streamed(node: Node, target: Target) -> bool:
    """Whether all readers of the node's result are products that are fastest with the numbers as stored."""
    weights = _weights(node)
    return weights is not None and all(
        _multiplies(reader, at, weights) and _streams(reader, target, weights) for reader, at in _readers(node)
    )


def _weights(node: Node) -> _Weights | None:
    """Return what a node widens, if it does nothing else and the numbers form one matrix."""
    desc = node.desc
    bits: tuple[int, ...]
    scales: tuple[int, ...] | None
    if node.epilogue is not None or len(node.labels) != 1 or len([*filter(None, node.outputs)]) != 1:
        return None
    if isinstance(desc, DML_DEQUANTIZE_OPERATOR_DESC):
        source, bits, scales = desc.InputTensor, (4, 8), desc.QuantizationTensors[0].Sizes
    elif isinstance(desc, DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC):
        source, bits = desc.InputTensor, (8,)
        tensors = [tensor for tensor in (desc.ScaleTensor, desc.ZeroPointTensor) if tensor is not None]
        strides = [tuple(map(bool, tensor.strides)) for tensor in tensors]
        if any(own != strides[0] for own in strides):
            return None
        scales = tuple(size if varies else 1 for size, varies in zip(source.Sizes, strides[0], strict=True))
    elif isinstance(desc, DML_CAST_OPERATOR_DESC):
        source, bits, scales = desc.InputTensor, (16,), None
        if (source.DataType, desc.OutputTensor.DataType) != (
            DML_TENSOR_DATA_TYPE_FLOAT16,
            DML_TENSOR_DATA_TYPE_FLOAT32,
        ):
            return None
    else:
        return None
    ((port, result),) = filter(None, node.outputs)
    sizes, counts = _matrix(source.Sizes), None if scales is None else _matrix(scales)
    if (
        DATA_TYPES[source.DataType].bits not in bits
        or sizes is None
        or (counts is None and scales is not None)
        or not _is_packed(port.tensor)
        or result.outputs
        or not result.consumers
    ):
        return None
    return _Weights(source, sizes, counts)


def _readers(node: Node) -> Iterator[tuple[Node, int]]:
    ((_, result),) = filter(None, node.outputs)
    yield from result.consumers


def _reads_stored(node: Node, at: int, weights: _Weights) -> bool:
    return _multiplies(node, at, weights) or _gathers(node, at, weights)


def _gathers(node: Node, at: int, weights: _Weights) -> bool:
    """Whether a node's input ``at`` is the matrix whose rows it gathers."""
    desc, entry = node.desc, node.inputs[at]
    assert entry is not None
    tensor = entry[0].tensor
    return (
        isinstance(desc, DML_GATHER_OPERATOR_DESC)
        and entry[0].name == "InputTensor"
        and node.epilogue is None
        and _matrix(tensor.Sizes) == weights.sizes
        and len(tensor.Sizes) >= 2
        and desc.Axis == len(tensor.Sizes) - 2
        and _is_packed(tensor)
        and (weights.counts is None or weights.counts[0] in (1, weights.sizes[0]))
    )


def _multiplies(node: Node, at: int, weights: _Weights) -> bool:
    """Whether a node's input ``at`` is the matrix B of a product without batches."""
    desc, entry = node.desc, node.inputs[at]
    assert entry is not None
    port = entry[0]
    if not isinstance(desc, DML_GEMM_OPERATOR_DESC) or at >= node.own_inputs or port.name != "BTensor":
        return False
    (down, across), counts = weights.sizes, weights.counts
    if desc.TransB != DML_MATRIX_TRANSFORM_TRANSPOSE:
        down, across = across, down
        counts = None if counts is None else (counts[1], counts[0])
    return (
        not isinstance(desc.FusedActivation, _SOFTMAX)
        and math.prod(desc.OutputTensor.Sizes[:-2]) == 1
        and tuple(port.tensor.Sizes[-2:]) == weights.sizes
        and _is_packed(port.tensor)
        # (columns are dequantized in parts, which end anywhere)
        and (counts is None or counts[0] in (1, down))
    )


def _streams(node: Node, target: Target, weights: _Weights) -> bool:
    desc, counts = node.desc, weights.counts
    assert isinstance(desc, DML_GEMM_OPERATOR_DESC)
    if desc.TransB != DML_MATRIX_TRANSFORM_TRANSPOSE or counts is None or counts[0] != weights.sizes[0]:
        return False
    (n, k), bits = weights.sizes, DATA_TYPES[weights.tensor.DataType].bits
    return streams_blocks(target, desc.OutputTensor.Sizes[-2], n, k, k // counts[1], bits)


def _matrix(sizes: tuple[int, ...]) -> _Sizes | None:
    """Return the last two sizes if the others are 1; else None."""
    *outer, rows, columns = (1, *sizes)
    return (rows, columns) if math.prod(outer) == 1 else None


def _is_packed(tensor: DML_BUFFER_TENSOR_DESC) -> bool:
    return tuple(tensor.strides) == tuple(packed_strides(tensor.Sizes))


def _seen(operand: Operand, sizes: _Sizes) -> Operand:
    return operand.view(sizes, (0, *operand.strides)[-2:])
