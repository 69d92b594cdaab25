"""Products with weights of few bits: ONNX Runtime's MatMulNBits."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from dml import enums
from dml.descriptors.quantization import DML_DEQUANTIZE_OPERATOR_DESC
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC

from ..dtypes import FLOAT16, FLOAT32, UINT8, DType, storage
from ..functions import fill, matmul, part
from ..node import OnnxNode, Unsupported
from ..registry import onnx_op
from ..value import OnnxValue, cast, reshape

_UINT4 = np.dtype(ml_dtypes.uint4)


@onnx_op("MatMulNBits", domain="com.microsoft")
def matmul_nbits(node: OnnxNode) -> OnnxValue:
    """A times the transposed weights {N, K}. They come as {N, blocks, bytes}, each block with its scale and zero point.

    The zero points are packed as the weights are, or numbers of the scales' type; without them it is the middle.
    """
    a, packed, scales, zeros = node.input(0), node.input(1), node.input(2), node.optional(3)
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    n, k = node.integer("N", 0), node.integer("K", 0)
    if bits not in (4, 8):
        raise Unsupported(f"{node}: bits = {bits} is not mapped, 4 and 8 are")
    if node.has(4):
        raise Unsupported(f"{node}: input g_idx is not mapped")
    if node.integer("weight_prepacked", 0):
        raise Unsupported(f"{node}: weight_prepacked = {node.integer('weight_prepacked', 0)} is not mapped")
    if block < 1 or n < 1 or k < 1 or a.rank < 1 or a.shape[-1] != k:
        raise DMLError(
            f"{node}: block_size, N and K must be positive and K the last size of A, found {block}, {n}, {k} and "
            f"shape {a.shape}"
        )
    blocks = -(-k // block)
    size = block * bits // 8
    if packed.size != n * blocks * size or scales.size != n * blocks:
        raise DMLError(
            f"{node}: B must have shape {(n, blocks, size)} and scales {(n, blocks)}, found {packed.shape} and "
            f"{scales.shape}"
        )
    dtype = _UINT4 if bits == 4 else UINT8
    held = scales if scales.dtype in (FLOAT32, FLOAT16) else cast(scales, FLOAT32)
    held = reshape(held, (n, blocks))
    floating = zeros is not None and zeros.dtype != UINT8
    quantized = [held.tensor]
    if not floating:
        quantized.append(_zero_points(node, zeros, n, blocks, bits, dtype).tensor)
    shape = (n, blocks * block)
    made = node.builder.node(
        DML_DEQUANTIZE_OPERATOR_DESC,
        {"OutputTensor": DML_BUFFER_TENSOR_DESC(storage(held.dtype), shape)},
        InputTensor=_narrow(packed, shape, dtype).tensor,
        QuantizationType=enums.DML_QUANTIZATION_TYPE(len(quantized)),
        QuantizationTensors=quantized,
    )
    weights = packed.made(made["OutputTensor"], shape, held.dtype)
    if floating and zeros is not None:
        shift = reshape(cast(zeros, held.dtype), (n, blocks, 1)) * reshape(held, (n, blocks, 1))
        weights = reshape(reshape(weights, (n, blocks, block)) - shift, shape)
    result = matmul(reshape(a, (a.size // k, k)), cast(part(weights, 1, 0, k), a.dtype), transpose_b=True)
    bias = node.optional(5)
    if bias is not None:
        result = result + cast(bias, result.dtype)
    return reshape(result, (*a.shape[:-1], n))


def _zero_points(node: OnnxNode, zeros: OnnxValue | None, n: int, blocks: int, bits: int, dtype: DType) -> OnnxValue:
    if zeros is None:
        return fill(node.builder, 2 ** (bits - 1), (n, blocks), dtype)
    row = -(-blocks * bits // 8)
    if zeros.size != n * row:
        raise DMLError(f"{node}: zero_points must have shape {(n, row)}, found {zeros.shape}")
    # A row of an odd count of 4-bit numbers ends in one that means nothing: the strides step over it.
    rows = _narrow(zeros, (n, row * 8 // bits), dtype)
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
