"""Matrix products with 4-bit floats of bitsandbytes: ONNX Runtime's MatMulBnb4."""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from dml.compiler.selection.stored_weights import rows_in_part
from dml.errors import DMLError
from dml.frontends.meaning.codes import NF4

from ...dtypes import FLOAT32, UINT8, UINT32, Array
from ...registry import onnx_op
from ..few_bits import repeated_blocks
from ..functions import gather, join, matmul, part
from ..node import OnnxNode
from ..value import OnnxValue, cast, reshape

#: The values of the 16 codes. The upper half of FP4's are the negatives of the lower half.
_FP4 = (0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)

#: Number of floats of working memory per weight that is decoded.
_FLOATS_AT_ONCE = 3


@onnx_op("MatMulBnb4", domain="com.microsoft")
def matmul_bnb4(node: OnnxNode) -> OnnxValue:
    """Multiply A by the transposed weights {N, K}, or with transB = 0 by the weights.

    The weights are flat bytes of two codes each, the first in the upper bits; absmax holds the largest magnitude of
    each block.
    """
    a, packed, most = node.input(0, least=1), node.input(1), node.input(2)
    n, k = node.integer("N", 0, least=1), node.integer("K", 0, least=1)
    block, transposed = node.integer("block_size", 0, least=1), bool(node.integer("transB", 1))
    kind = node.integer("quant_type", 1, least=0, most=1)
    count, columns = n * k, k if transposed else n
    if a.shape[-1] != columns or packed.size != -(-count // 2) or packed.dtype != UINT8:
        raise DMLError(
            f"A must have {columns} columns and B be {-(-count // 2)} bytes, found shape {a.shape} and "
            f"{packed.dtype} of shape {packed.shape}"
        )
    node.check(most.size == -(-count // block), f"absmax must have {-(-count // block)} elements, found {most.shape}")
    table = node.constant(_pairs(kind))
    rows = reshape(a, (a.size // columns, columns))
    packed, scales = reshape(packed, (packed.size,)), cast(reshape(most, (most.size,)), FLOAT32)
    whole = lcm(block, 2)  # a multiple of both a block and a byte
    products: list[OnnxValue] = []
    # Kernels cannot decode these codes, so each run widens the weights, some rows at a time.
    step = rows_in_part(_FLOATS_AT_ONCE * 4 * k, whole // gcd(whole, k))
    for start in range(0, n, step):
        held = min(step, n - start)
        first, size = start * k, held * k
        codes = part(packed, 0, first // 2, -(-size // 2))
        own = part(scales, 0, first // block, -(-size // block))
        weights = cast(reshape(_numbers(table, codes, own, size, block), (held, k)), a.dtype)
        if transposed:
            products.append(matmul(rows, weights, transpose_b=True))
        else:
            product = matmul(part(rows, 1, start, held), weights)
            products = [products[0] + product if products else product]
    return reshape(join(products, 1), (*a.shape[:-1], n if transposed else k))


def _numbers(table: OnnxValue, codes: OnnxValue, scales: OnnxValue, size: int, block: int) -> OnnxValue:
    """Return the values of ``size`` codes, two per byte, times their blocks' scales."""
    pairs = gather(table, cast(codes, UINT32), 0)
    numbers = part(reshape(pairs, (2 * codes.size,)), 0, 0, size)
    if size % block:
        return numbers * repeated_blocks(scales, 0, block, size)
    return reshape(numbers, (scales.size, block)) * reshape(scales, (scales.size, 1))


def _pairs(kind: int) -> Array:
    """Return the two values of each byte, {256, 2}."""
    table = np.array(NF4 if kind else (*_FP4, *(-x for x in _FP4)), np.float32)
    byte = np.arange(256)
    return np.stack([table[byte >> 4], table[byte & 15]], 1)
