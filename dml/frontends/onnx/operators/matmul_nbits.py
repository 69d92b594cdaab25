"""Products with weights of few bits: ONNX Runtime's MatMulNBits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from dml import enums
from dml.descriptors.quantization import DML_DEQUANTIZE_OPERATOR_DESC
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC

from ..dtypes import FLOAT16, FLOAT32, UINT8, DType, storage
from ..functions import fill, gather, matmul, part, resized, total
from ..node import OnnxNode, Unsupported
from ..registry import onnx_op
from ..value import OnnxValue, cast, constant, expanded, reshape
from .attention import refuse_attributes

_UINT4 = np.dtype(ml_dtypes.uint4)


@dataclass
class _Packing:
    """How weights {n, k} are packed: numbers of some bits, in blocks along k with a scale and a zero point each."""

    n: int
    k: int
    bits: int
    block: int

    @property
    def blocks(self) -> int:
        return -(-self.k // self.block)

    @property
    def dtype(self) -> DType:
        return _UINT4 if self.bits == 4 else UINT8


@onnx_op("MatMulNBits", domain="com.microsoft")
def matmul_nbits(node: OnnxNode) -> OnnxValue:
    """A times the transposed weights {N, K}. They come as {N, blocks, bytes}, each block with its scale and zero point.

    The zero points are packed as the weights are, or numbers of the scales' type; without them it is the middle. g_idx
    {K}, where it is given, says which block's scale and zero point a column has.
    """
    a = node.input(0, least=1)
    packing = _packing(node, a)
    rows = reshape(a, (a.size // packing.k, packing.k))
    if node.optional(4) is None:
        result = _product(node, rows, packing)
    else:
        result = matmul(rows, cast(_regrouped(node, packing), a.dtype), transpose_b=True)
    bias = node.optional(5)
    if bias is not None:
        result = result + cast(bias, result.dtype)
    return reshape(result, (*a.shape[:-1], packing.n))


def _packing(node: OnnxNode, a: OnnxValue) -> _Packing:
    """The node's attributes. Raises DMLError where they are wrong, or do not fit A."""
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    n, k = node.integer("N", 0), node.integer("K", 0)
    if bits not in (4, 8):
        raise Unsupported(f"{node}: bits = {bits} is not mapped, 4 and 8 are")
    refuse_attributes(node, weight_prepacked=0)
    if block < 1 or n < 1 or k < 1 or a.shape[-1] != k:
        raise DMLError(
            f"{node}: block_size, N and K must be positive and K the last size of A, found {block}, {n}, {k} and "
            f"shape {a.shape}"
        )
    return _Packing(n, k, bits, block)


def _product(node: OnnxNode, rows: OnnxValue, packing: _Packing) -> OnnxValue:
    """rows {m, K} times the transposed weights, which are read as they are packed."""
    packed, held, zeros = _checked(node, packing)
    n, blocks, block = packing.n, packing.blocks, packing.block
    # The last block may go beyond K: zeros in rows leave out what is there.
    rows = resized(rows, 1, blocks * block)
    if held.dtype != rows.dtype:
        held = cast(held, rows.dtype)
    floating = zeros if zeros is not None and zeros.dtype != UINT8 else None
    points = None if floating is not None else _zero_points(node, zeros, packing)
    numbers = _narrow(packed, (n, blocks * block), packing.dtype)
    result = matmul(rows, _dequantized(node, numbers, held, points), transpose_b=True)
    if floating is None:
        return result
    # a block's zero point takes off itself times the scale and the sum of the block's part of a row
    sums = total(reshape(rows, (rows.shape[0], blocks, block)), [2], keep=False)
    shift = reshape(cast(floating, held.dtype), (n, blocks)) * held
    return result - matmul(sums, shift, transpose_b=True)


def _regrouped(node: OnnxNode, packing: _Packing) -> OnnxValue:
    """The same, {N, K}, where each column has the scale and zero point that g_idx says."""
    packed, held, zeros = _checked(node, packing)
    n, blocks, k = packing.n, packing.blocks, packing.k
    ones = fill(node.builder, 1, (n, blocks), held.dtype)
    numbers = _dequantized(node, _narrow(packed, (n, blocks * packing.block), packing.dtype), ones, None)
    if zeros is None or zeros.dtype == UINT8:
        points = _dequantized(node, _zero_points(node, zeros, packing), ones, None)
    else:
        points = reshape(cast(zeros, held.dtype), (n, blocks))
    groups = node.input(4)
    node.check(groups.size >= k, f"g_idx must have {k} numbers, found shape {groups.shape}")
    groups = part(reshape(groups, (groups.size,)), 0, 0, k)
    return (part(numbers, 1, 0, k) - gather(points, groups, 1)) * gather(held, groups, 1)


def _checked(node: OnnxNode, packing: _Packing) -> tuple[OnnxValue, OnnxValue, OnnxValue | None]:
    """The packed weights, the scales {N, blocks} and the zero points. Raises DMLError where the sizes are wrong."""
    packed, scales = node.input(1), node.input(2)
    n, blocks = packing.n, packing.blocks
    size = packing.block * packing.bits // 8
    if packed.size != n * blocks * size or scales.size != n * blocks:
        raise DMLError(
            f"{node}: B must have shape {(n, blocks, size)} and scales {(n, blocks)}, found {packed.shape} and "
            f"{scales.shape}"
        )
    held = scales if scales.dtype in (FLOAT32, FLOAT16) else cast(scales, FLOAT32)
    return packed, reshape(held, (n, blocks)), node.optional(3)


def _dequantized(node: OnnxNode, x: OnnxValue, scales: OnnxValue, points: OnnxValue | None) -> OnnxValue:
    """Numbers by the scale and zero point of their block, in the scales' type."""
    tensors = [value.tensor for value in (scales, points) if value is not None]
    made = node.builder.node(
        DML_DEQUANTIZE_OPERATOR_DESC,
        {"OutputTensor": DML_BUFFER_TENSOR_DESC(storage(scales.dtype), x.shape)},
        InputTensor=x.tensor,
        QuantizationType=enums.DML_QUANTIZATION_TYPE(len(tensors)),
        QuantizationTensors=tensors,
    )
    return x.made(made["OutputTensor"], x.shape, scales.dtype)


def _zero_points(node: OnnxNode, zeros: OnnxValue | None, packing: _Packing) -> OnnxValue:
    n, blocks, bits = packing.n, packing.blocks, packing.bits
    if zeros is None:
        middle = constant(node.builder, np.full((1, 1), 2 ** (bits - 1), packing.dtype))
        return expanded(middle, (n, blocks))
    row = -(-blocks * bits // 8)
    if zeros.size != n * row:
        raise DMLError(f"{node}: zero_points must have shape {(n, row)}, found {zeros.shape}")
    # A row with an odd count of 4-bit numbers ends in an unused one, which the strides skip.
    rows = _narrow(zeros, (n, row * 8 // bits), packing.dtype)
    return rows.made(rows.tensor.view((n, blocks), (rows.shape[1], 1)), (n, blocks))


def _narrow(x: OnnxValue, shape: Sequence[int], dtype: DType) -> OnnxValue:
    """Bytes as what is packed in them, the lower bits first; nothing is computed."""
    if x.dtype != UINT8:
        raise DMLError(f"packed numbers must come as uint8, found {x.dtype}")
    tensor = x.packed
    desc = DML_BUFFER_TENSOR_DESC(
        storage(dtype), tuple(shape), None, tensor.desc.TotalTensorSizeInBytes, Flags=tensor.desc.Flags
    )
    return x.made(Tensor(x.builder, tensor.source, desc), shape, dtype)
