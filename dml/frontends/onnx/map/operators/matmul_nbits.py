"""Matrix products with weights of few bits: ONNX Runtime's MatMulNBits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dml.compiler.selection.stored_weights import rows_in_part
from dml.errors import DMLError

from ...dtypes import FLOAT16, FLOAT32, UINT8
from ...registry import onnx_op
from ..few_bits import dequantized_blocks, middle, unpacked
from ..functions import gather, join, matmul, part, resized, total
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, cast, constant, expanded, reshape

#: Number of floats of working memory per weight that g_idx regroups.
_FLOATS_AT_ONCE = 4


@dataclass
class _Packing:
    """The packing of weights {n, k}: numbers of few bits, in blocks along k with a scale and a zero point each."""

    n: int
    k: int
    bits: int
    block: int

    @property
    def blocks(self) -> int:
        return -(-self.k // self.block)

    def numbers(self, packed: OnnxValue) -> OnnxValue:
        """Return the packed numbers as {n, blocks * block}."""
        count = self.blocks * self.block
        return unpacked(reshape(packed, (self.n, packed.size // self.n)), self.bits, count)


@onnx_op("MatMulNBits", domain="com.microsoft")
def matmul_nbits(node: OnnxNode) -> OnnxValue:
    """Multiply A by the transposed weights {N, K}, packed as {N, blocks, bytes}; each block has a scale and a zero
    point.

    Zero points are packed like the weights, or have the scales' type; the default is the middle of the range. g_idx
    {K}, if given, is the block of each column, whose scale and zero point apply.
    """
    a = node.input(0, least=1)
    packing = _packing(node, a)
    rows = reshape(a, (a.size // packing.k, packing.k))
    if not node.input(1).size:  # an empty input is an omitted projection
        result = a.filled(0, (rows.shape[0], packing.n))
    elif _is_in_order(node, packing):
        result = _product(node, rows, packing)
    else:
        result = _regrouped_product(node, rows, packing)
    bias = node.optional(5)
    if bias is not None:
        result = result + cast(bias, result.dtype)
    return reshape(result, (*a.shape[:-1], packing.n))


def _packing(node: OnnxNode, a: OnnxValue) -> _Packing:
    """Return the node's attributes. Raises DMLError if they are wrong, or do not fit A."""
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    n, k = node.integer("N", 0), node.integer("K", 0)
    if bits not in (2, 4, 8):
        raise Unsupported(f"bits = {bits} is not mapped, 2, 4 and 8 are")
    # onnxruntime on the host would read these weights as if they were not rearranged
    layout = node.integer("weight_prepacked", 0)
    node.check(not layout, f"weights rearranged for CUDA (weight_prepacked = {layout}) are not supported")
    if block < 1 or n < 1 or k < 1 or a.shape[-1] != k:
        raise DMLError(
            f"block_size, N and K must be positive and K the last size of A, found {block}, {n}, {k} and "
            f"shape {a.shape}"
        )
    return _Packing(n, k, bits, block)


def _product(node: OnnxNode, rows: OnnxValue, packing: _Packing) -> OnnxValue:
    """Multiply rows {m, K} by the transposed weights, which kernels read in their packed form."""
    packed, scales, zeros = _checked(node, packing)
    n, blocks, block = packing.n, packing.blocks, packing.block
    # The last block may extend beyond K: zeros in the rows cancel the excess.
    rows = resized(rows, 1, blocks * block)
    floating = zeros if zeros is not None and zeros.dtype != UINT8 else None
    numbers = packing.numbers(packed)
    points = None if floating is not None else _zero_points(node, zeros, packing)
    result = matmul(rows, dequantized_blocks(numbers, scales, points), transpose_b=True)
    if floating is None:
        return result
    # subtract, per block, the zero point times the scale and the sum of the block's part of a row
    sums = total(reshape(rows, (rows.shape[0], blocks, block)), [2], keep=False)
    shift = reshape(cast(floating, scales.dtype), (n, blocks)) * scales
    return result - matmul(sums, shift, transpose_b=True)


def _is_in_order(node: OnnxNode, packing: _Packing) -> bool:
    """Return whether each column uses the scale and zero point of its own block: g_idx is absent, or in order."""
    groups = node.optional(4)
    if groups is None or groups.array is None:
        return groups is None
    numbers = np.ravel(groups.array)[: packing.k]
    return bool(np.array_equal(numbers, np.arange(packing.k) // packing.block))


def _regrouped_product(node: OnnxNode, rows: OnnxValue, packing: _Packing) -> OnnxValue:
    """Multiply as ``_product`` does, but with the scale and zero point that g_idx gives each column.

    In each run the weights are widened, some rows at a time: kernels for packed numbers need blocks of adjacent
    columns.
    """
    packed, float_scales, zeros = _checked(node, packing)
    n, k = packing.n, packing.k
    groups = node.input(4)
    node.check(groups.size >= k, f"g_idx must have {k} numbers, found shape {groups.shape}")
    groups = part(reshape(groups, (groups.size,)), 0, 0, k)
    packed = reshape(packed, (n, packed.size // n))
    zeros = None if zeros is None else reshape(zeros, (n, zeros.size // n))
    products, step = [], rows_in_part(_FLOATS_AT_ONCE * 4 * k)
    for start in range(0, n, step):
        count = min(step, n - start)
        codes, scales = (part(value, 0, start, count) for value in (packed, float_scales))
        points = None if zeros is None else part(zeros, 0, start, count)
        weights = _regrouped(node, replace(packing, n=count), groups, codes, scales, points)
        products.append(matmul(rows, cast(weights, rows.dtype), transpose_b=True))
    return join(products, 1)


def _regrouped(
    node: OnnxNode,
    packing: _Packing,
    groups: OnnxValue,
    packed: OnnxValue,
    float_scales: OnnxValue,
    zeros: OnnxValue | None,
) -> OnnxValue:
    """Return the weights {n, K}, in the scales' type. groups: {K}, the block of each column."""
    n, blocks, k = packing.n, packing.blocks, packing.k
    ones, codes = constant(node.builder, np.ones((1, 1), float_scales.dtype)), packing.numbers(packed)
    scales = gather(float_scales, groups, 1)
    if zeros is None:
        center = middle(node.builder, packing.bits, 2)
        return part(dequantized_blocks(codes, ones, center), 1, 0, k) * scales
    if zeros.dtype == UINT8:
        points = dequantized_blocks(_zero_points(node, zeros, packing), ones, None)
    else:
        points = reshape(cast(zeros, float_scales.dtype), (n, blocks))
    return (part(dequantized_blocks(codes, ones, None), 1, 0, k) - gather(points, groups, 1)) * scales


def _checked(node: OnnxNode, packing: _Packing) -> tuple[OnnxValue, OnnxValue, OnnxValue | None]:
    """Return the packed weights, the scales {N, blocks} and the zero points. Raises DMLError for wrong sizes."""
    packed, scales = node.input(1), node.input(2)
    n, blocks = packing.n, packing.blocks
    size = packing.block * packing.bits // 8
    if packed.size != n * blocks * size or scales.size != n * blocks:
        raise DMLError(
            f"B must have shape {(n, blocks, size)} and scales {(n, blocks)}, found {packed.shape} and {scales.shape}"
        )
    float_scales = scales if scales.dtype in (FLOAT32, FLOAT16) else cast(scales, FLOAT32)
    return packed, reshape(float_scales, (n, blocks)), node.optional(3)


def _zero_points(node: OnnxNode, zeros: OnnxValue | None, packing: _Packing) -> OnnxValue:
    """Return the zero points {N, blocks} in the weights' data type."""
    n, blocks, bits = packing.n, packing.blocks, packing.bits
    if zeros is None:
        return expanded(middle(node.builder, bits, 2), (n, blocks))
    row = -(-blocks * bits // 8)
    node.check(zeros.size == n * row, f"zero_points must have shape {(n, row)}, found {zeros.shape}")
    return unpacked(reshape(zeros, (n, row)), bits, blocks)
