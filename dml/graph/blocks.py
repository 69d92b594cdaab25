"""Weights of 2, 4, 8 and 16 bits that stay as stored: products, convolutions and gathers widen them (dequantize
them, or convert them to FLOAT32) as they read."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from dml import descriptors as d
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.operators.activation.softmax import SOFTMAX
from dml.compiler.program import Operand
from dml.compiler.selection.stored_weights import parts_end_with_blocks, streams_blocks
from dml.compiler.target import Target
from dml.enums import (
    DML_CONVOLUTION_DIRECTION_FORWARD,
    DML_MATRIX_TRANSFORM_TRANSPOSE,
    DML_TENSOR_DATA_TYPE_FLOAT16,
    DML_TENSOR_DATA_TYPE_FLOAT32,
)
from dml.graph.model import Node, Value
from dml.shapes import without_ones
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

_Sizes = tuple[int, int]


class _Weights(NamedTuple):
    """Stored numbers, their sizes, and the number of scales along each dimension (None without scales)."""

    tensor: DML_BUFFER_TENSOR_DESC
    sizes: tuple[int, ...]
    counts: tuple[int, ...] | None


class _Matrix(NamedTuple):
    """Sizes of stored numbers as a matrix, and the number of scales along each dimension. turned: stored column by
    column. batch: number of such matrices."""

    sizes: _Sizes
    counts: _Sizes | None
    turned: bool
    batch: int = 1


class StoredWeights(NamedTuple):
    """Stored numbers with their scales and zero points, if any, all of one rank."""

    numbers: Operand
    scales: Operand | None = None
    zeros: Operand | None = None

    def operands(self, name: str, tensor: DML_BUFFER_TENSOR_DESC) -> dict[str, Operand]:
        """Return a lowering's operands for an input described by ``tensor``: NAME, NAME.Scales, NAME.ZeroPoints."""
        # dimensions of size 1 may be anywhere
        axes = [axis for axis, size in enumerate(self.numbers.sizes) if size > 1]
        if not is_packed(tensor):
            axes.reverse()

        def seen(operand: Operand) -> Operand:
            left = iter(axes)
            chosen = [next(left) if size > 1 else None for size in tensor.Sizes]
            sizes = tuple(1 if axis is None else operand.sizes[axis] for axis in chosen)
            return operand.view(sizes, tuple(0 if axis is None else operand.strides[axis] for axis in chosen))

        named = {name: self.numbers, f"{name}.Scales": self.scales, f"{name}.ZeroPoints": self.zeros}
        return {key: seen(operand) for key, operand in named.items() if operand is not None}


def blocks_of(node: Node, read: Callable[[Value, DML_BUFFER_TENSOR_DESC], Operand]) -> StoredWeights | None:
    """Return the weights that replace a node's result if only products, convolutions and gathers read it; else None.

    read: returns a value in a description's view.
    """
    weights = weights_of(node)
    if weights is None or not _is_read_stored(node, weights):
        return None
    sizes = (weights.sizes, *(weights.counts or weights.sizes,) * 2)
    operands = (read(value, port.tensor) for port, value in filter(None, node.inputs))
    return StoredWeights(*(operand.view(own, operand.strides) for own, operand in zip(sizes, operands, strict=False)))


def _is_read_stored(node: Node, weights: _Weights) -> bool:
    return all(_reads_stored(reader, index, weights) for reader, index in readers_of(node))


def widens_scales(node: Node, once: Collection[Node]) -> bool:
    """Whether a node widens FLOAT16 scales that need not be widened, because all products that use them read weights
    and scales in their stored form. once: the nodes that initialization computes."""
    weights = weights_of(node)
    if weights is None or weights.counts is not None or not is_packed(weights.tensor):
        return False
    for reader, index in readers_of(node):
        own = weights_of(reader) if index == 1 and isinstance(reader.desc, d.DML_DEQUANTIZE_OPERATOR_DESC) else None
        if own is None or reader in once or not _is_read_stored(reader, own):
            return False
    return True


def is_streamed(node: Node, target: Target) -> bool:
    """Whether all readers of the node's result are products, without a batch, that run fastest on the numbers' stored
    form."""
    weights = weights_of(node)
    return weights is not None and all(
        multiplies(reader, index, weights) and _streams(reader, index, target, weights)
        for reader, index in readers_of(node)
    )


def weights_of(node: Node) -> _Weights | None:
    """Return the weights that a node widens, if it does nothing else."""
    desc = node.desc
    bits: tuple[int, ...]
    scales: tuple[int, ...] | None
    if node.epilogue is not None or len(node.labels) != 1 or len([*filter(None, node.outputs)]) != 1:
        return None
    if isinstance(desc, d.DML_DEQUANTIZE_OPERATOR_DESC):
        source, bits, scales = desc.InputTensor, (2, 4, 8), desc.QuantizationTensors[0].Sizes
    elif isinstance(desc, d.DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC):
        source, bits = desc.InputTensor, (8,)
        tensors = [tensor for tensor in (desc.ScaleTensor, desc.ZeroPointTensor) if tensor is not None]
        strides = [tuple(map(bool, tensor.strides)) for tensor in tensors]
        if any(own != strides[0] for own in strides):
            return None
        scales = tuple(size if varies else 1 for size, varies in zip(source.Sizes, strides[0], strict=True))
    elif isinstance(desc, d.DML_CAST_OPERATOR_DESC):
        source, bits, scales = desc.InputTensor, (16,), None
        if (source.DataType, desc.OutputTensor.DataType) != (
            DML_TENSOR_DATA_TYPE_FLOAT16,
            DML_TENSOR_DATA_TYPE_FLOAT32,
        ):
            return None
    else:
        return None
    ((port, result),) = filter(None, node.outputs)
    if (
        DATA_TYPES[source.DataType].bits not in bits
        or (scales is not None and len(scales) != len(source.Sizes))
        or not is_packed(port.tensor)
        or result.outputs
        or not result.consumers
    ):
        return None
    return _Weights(source, tuple(source.Sizes), None if scales is None else tuple(scales))


def readers_of(node: Node) -> Iterator[tuple[Node, int]]:
    """Yield each reader of a node's only result, with the index of the input that reads it."""
    ((_, result),) = filter(None, node.outputs)
    yield from result.consumers


def _reads_stored(node: Node, index: int, weights: _Weights) -> bool:
    return multiplies(node, index, weights) or _convolves(node, index, weights) or _gathers(node, index, weights)


def _gathers(node: Node, index: int, weights: _Weights) -> bool:
    """Whether a node gathers rows of the matrix of weights at its input ``index``."""
    desc, (port, _) = node.desc, node.input(index)
    matrix = _as_read(weights, port.tensor)
    return (
        isinstance(desc, d.DML_GATHER_OPERATOR_DESC)
        and port.name == "InputTensor"
        and node.epilogue is None
        and matrix is not None
        and matrix.batch == 1
        and not matrix.turned
        and desc.Axis == len(port.tensor.Sizes) - 2
        and (matrix.counts is None or matrix.counts[0] in (1, matrix.sizes[0]))
    )


def _convolves(node: Node, index: int, weights: _Weights) -> bool:
    """Whether the weights at input ``index`` are the filter of a forward convolution without groups, with one scale or
    one per output channel along dimension 0."""
    desc, (port, _) = node.desc, node.input(index)
    return (
        isinstance(desc, d.DML_CONVOLUTION_OPERATOR_DESC)
        and index < node.own_inputs
        and port.name == "FilterTensor"
        and desc.Direction == DML_CONVOLUTION_DIRECTION_FORWARD
        and desc.GroupCount == 1
        and is_packed(port.tensor)
        and without_ones(port.tensor.Sizes) == without_ones(weights.sizes)
        and port.tensor.Sizes[0] == weights.sizes[0]
        and weights.counts is not None
        and weights.counts[0] in (1, weights.sizes[0])
    )


def multiplies(node: Node, index: int, weights: _Weights) -> bool:
    """Whether input ``index`` of a node is a product's matrix B, or one such matrix for each element of a batch."""
    desc, (port, _) = node.desc, node.input(index)
    if not isinstance(desc, d.DML_GEMM_OPERATOR_DESC) or index >= node.own_inputs or port.name != "BTensor":
        return False
    matrix = _as_read(weights, port.tensor)
    if matrix is None:
        return False
    columns, counts = matrix.sizes[0], matrix.counts and matrix.counts[0]
    if desc.TransB != DML_MATRIX_TRANSFORM_TRANSPOSE:
        columns, counts = matrix.sizes[1], matrix.counts and matrix.counts[1]
    outer = desc.OutputTensor.Sizes[:-2]
    return (
        not isinstance(desc.FusedActivation, SOFTMAX)
        and math.prod(outer) == matrix.batch == max((1, *outer))
        and (matrix.batch == 1 or desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE)
        and (counts is None or parts_end_with_blocks(columns, counts))
    )


def _streams(node: Node, index: int, target: Target, weights: _Weights) -> bool:
    desc, (port, _) = node.desc, node.input(index)
    assert isinstance(desc, d.DML_GEMM_OPERATOR_DESC)
    matrix = _as_read(weights, port.tensor)
    assert matrix is not None
    # The numbers of a column of the product must be contiguous.
    if matrix.turned == (desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE) or matrix.counts is None or matrix.batch > 1:
        return False
    (n, k), (across, along) = matrix.sizes, matrix.counts
    if matrix.turned:
        n, k, across, along = k, n, along, across
    bits = DATA_TYPES[weights.tensor.DataType].bits
    return across == n and streams_blocks(target, desc.OutputTensor.Sizes[-2], n, k, k // along, bits)


def _as_read(weights: _Weights, tensor: DML_BUFFER_TENSOR_DESC) -> _Matrix | None:
    """Return the weights as the matrix that a reader sees, row-major or column-major, or as a batch of row-major
    matrices with their own scales; None if it reads anything else."""
    sizes, counts = _matrix(weights.sizes), None if weights.counts is None else _matrix(weights.counts)
    if len(tensor.Sizes) < 2 or (counts is None and weights.counts is not None):
        return _as_batch(weights, tensor)
    if sizes is None:
        return None
    turned = not is_packed(tensor)
    if turned:
        *outer, rows, _ = tensor.Sizes
        if tuple(tensor.strides[-2:]) != (1, rows) or math.prod(outer) != 1:
            return None
        sizes, counts = (sizes[1], sizes[0]), None if counts is None else (counts[1], counts[0])
    return _Matrix(sizes, counts, turned) if _matrix(tensor.Sizes) == sizes else None


def _as_batch(weights: _Weights, tensor: DML_BUFFER_TENSOR_DESC) -> _Matrix | None:
    if weights.counts is None or len(tensor.Sizes) < 3 or not is_packed(tensor):
        return None
    *outer, rows, columns = weights.sizes
    *scaled, across, along = weights.counts
    batch = without_ones(outer)
    if (
        scaled != outer
        or len(batch) != 1
        or (*batch, rows, columns) != (*without_ones(tensor.Sizes[:-2]), *tensor.Sizes[-2:])
    ):
        return None
    return _Matrix((rows, columns), (across, along), False, *batch)


def _matrix(sizes: tuple[int, ...]) -> _Sizes | None:
    """Return the last two sizes if the others are 1; else None."""
    *outer, rows, columns = (1, *sizes)
    return (rows, columns) if math.prod(outer) == 1 else None


def is_packed(tensor: DML_BUFFER_TENSOR_DESC) -> bool:
    return tuple(tensor.strides) == tuple(packed_strides(tensor.Sizes))
