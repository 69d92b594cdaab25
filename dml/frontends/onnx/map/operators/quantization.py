"""Quantization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.quantization import DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC

from ...dtypes import FLOAT8, FLOAT16, FLOAT32, UINT8, DType, dtype_of, storage
from ...registry import onnx_op
from ..few_bits import NARROW, dequantized_blocks, repeated_blocks
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, applied, cast, emit, expanded, reshape, unary, within
from .casts import rounded
from .gemm import integer_product

_BYTES = (np.dtype(np.int8), UINT8)


def _aligned(node: OnnxNode, parameter: OnnxValue, x: OnnxValue) -> OnnxValue:
    """Return a scale or zero point in the rank of x: one element, one per index of an axis, or one per block."""
    if parameter.size == 1 and parameter.rank < 2:
        return reshape(parameter, (1,) * x.rank)
    if parameter.rank == 1:
        axis = node.axis("axis", 1, x.rank)
        return reshape(parameter, (1,) * axis + (parameter.size,) + (1,) * (x.rank - axis - 1))
    node.check(parameter.rank == x.rank, f"scale of shape {parameter.shape} does not fit a tensor of shape {x.shape}")
    return parameter


def _spread(node: OnnxNode, parameter: OnnxValue, x: OnnxValue) -> OnnxValue:
    """Repeat a parameter for each element of x; a block's parameter is repeated along the axis."""
    value = _aligned(node, parameter, x)
    block = node.integer("block_size", 0, least=0)
    if not block or value.rank != x.rank or all(a in (1, b) for a, b in zip(value.shape, x.shape, strict=True)):
        return expanded(value, x.shape)
    axis = node.axis("axis", 1, x.rank)
    return repeated_blocks(value, axis, block, x.shape[axis])


@onnx_op("QuantizeLinear", since=10)
@onnx_op("QuantizeLinear", domain="com.microsoft")
def quantize_linear(node: OnnxNode) -> OnnxValue:
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    wanted = node.integer("output_dtype", 0)
    dtype = zero.dtype if zero is not None else dtype_of(wanted) if wanted else UINT8
    if dtype in NARROW:
        return _blockwise(node, x, scale, zero, dtype)
    if dtype in FLOAT8:  # float8 types have zero point zero
        steps = cast(x, FLOAT32) / _spread(node, cast(scale, FLOAT32), x)
        return rounded(steps, dtype, bool(node.integer("saturate", 1)))
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        raise Unsupported(f"quantization to {dtype} is not mapped")
    if x.dtype.kind in "iu" or (x.dtype.itemsize == 2 and x.dtype != scale.dtype):
        x = cast(x, FLOAT32)
    scale = cast(scale, x.dtype)
    if dtype in _BYTES:
        return _quantized(x, _spread(node, scale, x), None if zero is None else _spread(node, zero, x), dtype)
    # 16 bits are computed in float32, which represents every such integer.
    exact = cast(x, FLOAT32) / _spread(node, cast(scale, FLOAT32), x)
    whole = unary(op.round_, exact)
    if zero is not None:
        whole = whole + _spread(node, cast(zero, FLOAT32), x)
    limits = np.iinfo(dtype)
    return cast(within(whole, limits.min, limits.max), dtype)


def _block_sizes(node: OnnxNode, parameter: OnnxValue, x: OnnxValue) -> OnnxValue:
    """Return a parameter whose sizes divide those of x."""
    value = _aligned(node, parameter, x)
    if not value.size or any(size % own for size, own in zip(x.shape, value.shape, strict=True)):
        raise Unsupported(f"blocks of shape {value.shape} do not divide a tensor of shape {x.shape}")
    return value


def _is_of_blocks(node: OnnxNode, scale: OnnxValue, x: OnnxValue) -> bool:
    """Return whether each scale applies to a block."""
    is_blocked = bool(node.integer("block_size", 0, least=0)) and scale.rank == x.rank > 0 and scale.size > 0
    return is_blocked and not any(size % own for size, own in zip(x.shape, scale.shape, strict=True))


def _blockwise(node: OnnxNode, x: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, dtype: DType) -> OnnxValue:
    tensors = [_block_sizes(node, cast(scale, x.dtype), x)]
    if zero is not None:
        tensors.append(_block_sizes(node, zero, x))
    kind = enums.DML_QUANTIZATION_TYPE(len(tensors))
    return applied(op.quantize, x, x.shape, tensors, kind, storage(dtype), dtype=dtype)


@onnx_op("DequantizeLinear", since=10)
@onnx_op("DequantizeLinear", domain="com.microsoft")
def dequantize_linear(node: OnnxNode) -> OnnxValue:
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    if x.dtype not in (*NARROW, *FLOAT8) and (x.dtype.kind not in "iu" or x.dtype.itemsize > 4):
        raise Unsupported(f"dequantization of {x.dtype} is not mapped")
    float_scale = scale if scale.dtype in (FLOAT32, FLOAT16) else cast(scale, FLOAT32)
    if x.dtype in NARROW or (x.dtype in _BYTES and _is_of_blocks(node, float_scale, x)):
        points = None if zero is None else _block_sizes(node, zero, x)
        result = dequantized_blocks(x, _block_sizes(node, float_scale, x), points)
    elif x.dtype in FLOAT8:
        result = cast(x, FLOAT32) * _spread(node, cast(float_scale, FLOAT32), x)
    else:
        points = None if zero is None else _spread(node, zero, x)
        result = applied(
            op.dequantize_linear, x, x.shape, _spread(node, float_scale, x), points, dtype=float_scale.dtype
        )
    wanted = node.integer("output_dtype", 0)
    return cast(result, dtype_of(wanted) if wanted else scale.dtype)


@onnx_op("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(node: OnnxNode) -> list[OnnxValue]:
    quantized_x, scale, zero = _quantized_by_range(node, node.input(0))
    return [quantized_x, reshape(scale, ()), reshape(zero, ())]


def _quantized_by_range(node: OnnxNode, x: OnnxValue) -> tuple[OnnxValue, OnnxValue, OnnxValue]:
    """Quantize x to UINT8 by its own range; return it with its scale and zero point."""
    ones = (1,) * max(1, x.rank)
    outputs: dict[str, tuple[Sequence[int], DType]] = {
        "OutputTensor": (x.shape, UINT8),
        "OutputScaleTensor": (ones, FLOAT32),
        "OutputZeroPointTensor": (ones, UINT8),
    }
    results = emit(DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC, outputs, node.builder, InputTensor=x)
    return results["OutputTensor"], results["OutputScaleTensor"], results["OutputZeroPointTensor"]


def dequantized(x: OnnxValue, scale: OnnxValue, zero: OnnxValue | None) -> OnnxValue:
    """Dequantize to float32 with one scale and zero point."""
    return applied(op.dequantize_linear, x, x.shape, *_over(x, scale, zero), dtype=FLOAT32)


def quantized(x: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, dtype: DType) -> OnnxValue:
    """Quantize float32 with one scale and zero point."""
    return _quantized(x, *_over(x, scale, zero), dtype)


def _quantized(x: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, dtype: DType) -> OnnxValue:
    return applied(op.quantize_linear, x, x.shape, scale, zero, storage(dtype), dtype=dtype)


def _over(x: OnnxValue, scale: OnnxValue, zero: OnnxValue | None) -> tuple[OnnxValue, OnnxValue | None]:
    """Broadcast a scale and a zero point of one element to x's shape."""
    return expanded(reshape(scale, ()), x.shape), None if zero is None else expanded(reshape(zero, ()), x.shape)


@onnx_op("DynamicQuantizeMatMul", domain="com.microsoft")
def dynamic_quantize_matmul(node: OnnxNode) -> OnnxValue:
    """Quantize the left matrix by its own range, then multiply both as integers."""
    a, b, bias = node.input(0), node.input(1), node.optional(4)
    node.check(not node.has(3) or node.input(3).dtype == b.dtype, f"b_zero_point must have the type of B, {b.dtype}")
    if a.rank < 2 or b.rank != 2:
        raise Unsupported(f"tensors of shapes {a.shape} and {b.shape} are not mapped")
    left, scale, zero = _quantized_by_range(node, a)
    rows = reshape(left, (a.size // a.shape[-1], a.shape[-1]))
    product = integer_product(rows, b, scale, node.input(2), zero, node.optional(3), bias)
    return reshape(product, (*a.shape[:-1], b.shape[1]))
