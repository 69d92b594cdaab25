"""Casts of values and of their bits, and rounding to floating-point types that DirectML lacks."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.graph.builder import Tensor
from dml.tensors import numpy_dtype

from ...dtypes import BFLOAT16, BOOL, FLOAT8, FLOAT32, INT32, STORED_AS_FLOAT32, UINT32, DType, dtype_of, storage
from ...registry import onnx_op
from .. import folds
from ..few_bits import INT4, NARROW, dequantized_blocks
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, Operation, applied, binary, cast, constant, unary, where


@onnx_op("Cast", since=6, fold=folds.CAST)
def cast_(node: OnnxNode) -> OnnxValue:
    return _cast(node, node.input(0), dtype_of(node.integer("to", 1)))


@onnx_op("CastLike", since=15, fold=folds.SAME_SHAPE)
def cast_like(node: OnnxNode) -> OnnxValue:
    return _cast(node, node.input(0), node.input(1).dtype)


def _cast(node: OnnxNode, x: OnnxValue, dtype: DType) -> OnnxValue:
    """Cast between types that DirectML has: no strings, 2-bit integers, unsigned or 4-bit floating-point types."""
    if dtype == x.dtype:
        return x
    if x.dtype in NARROW:
        x = widened(x, FLOAT32)
    for kind in (x.dtype, dtype):
        if kind not in (*NARROW, *FLOAT8) and kind.itemsize == 1 and kind.kind not in "biu":
            raise Unsupported(f"no cast of {x.dtype} to {dtype}")
    if dtype in STORED_AS_FLOAT32:
        return rounded(cast(x, FLOAT32), dtype, bool(node.integer("saturate", 1)))
    return narrowed(x, dtype) if dtype in NARROW else cast(x, dtype)


def widened(x: OnnxValue, dtype: DType) -> OnnxValue:
    """Convert 4-bit integers to floating point: dequantize with a scale of 1."""
    return dequantized_blocks(x, x.filled(1, (1,) * max(1, x.rank), dtype), None)


def narrowed(x: OnnxValue, dtype: DType) -> OnnxValue:
    """Convert numbers to 4-bit integers: quantize the lowest bits of the integer with a scale of 1."""
    bits = _bitwise(op.bit_and, cast(x, INT32), 15)
    if dtype == INT4:
        bits = _bitwise(op.bit_xor, bits, 8) - 8
    exact = cast(bits, FLOAT32)
    scale = exact.filled(1, (1,) * max(1, x.rank))
    kind = enums.DML_QUANTIZATION_TYPE_SCALE
    return applied(op.quantize, exact, x.shape, [scale], kind, storage(dtype), dtype=dtype)


def rounded(x: OnnxValue, dtype: DType, saturate: bool = True) -> OnnxValue:
    """Round FLOAT32 numbers by their bits, ties to even, to a type that is held as FLOAT32.

    saturate: with 8 bits, numbers that are too large become the largest; else infinity, or NaN if the type has none.
    """
    kind = ml_dtypes.finfo(dtype)
    dropped = 23 - int(kind.nmant)
    bits = bit_cast(x, UINT32)
    odd = _bitwise(op.bit_and, _bitwise(op.bit_shift_right, bits, dropped), 1)
    up = bits + odd + ((1 << (dropped - 1)) - 1)
    nearest = bit_cast(_bitwise(op.bit_and, up, 2**32 - (1 << dropped)), FLOAT32)
    is_nan = unary(op.is_nan, x, BOOL)
    if dtype == BFLOAT16:  # bfloat16 has FLOAT32's exponents
        return x.with_tensor(where(is_nan, x, nearest).tensor, dtype=dtype)
    size = unary(op.absolute, x)
    # Subnormal numbers of the type are multiples of the smallest one; division by it is exact
    step = float(kind.smallest_subnormal)
    small = unary(op.round_, x * (1 / step)) * step
    nearest = where(size < float(kind.smallest_normal), small, nearest)
    if "fnuz" in dtype.name:  # these types have no negative zero
        nearest = where(nearest.equals(0), nearest.filled(0), nearest)
    most = float(kind.max)
    beyond = unary(op.absolute, nearest) > most
    if saturate:
        limits = unary(op.clip, nearest, min=-most, max=most)
    elif np.isinf(np.array(np.inf, dtype).astype(np.float32)):
        limits = unary(op.sign, nearest) * np.inf
    else:
        limits = nearest.filled(np.nan)
    return x.with_tensor(where(is_nan, x, where(beyond, limits, nearest)).tensor, dtype=dtype)


def _bitwise(function: Operation, x: OnnxValue, number: int) -> OnnxValue:
    return binary(function, x, x.filled(number))


def bit_cast(x: OnnxValue, dtype: np.dtype[np.generic]) -> OnnxValue:
    """View the same bits as another dtype of equal width; nothing is computed."""
    if x.array is not None:
        return constant(x.builder, x.array.view(dtype))
    kind = storage(dtype)
    if numpy_dtype(kind).itemsize != numpy_dtype(x.tensor.data_type).itemsize:
        raise Unsupported(f"no cast of the bits of {x.dtype} to {dtype}")
    tensor = x.packed
    return x.with_tensor(Tensor(x.builder, tensor.source, replace(tensor.desc, DataType=kind)), dtype=dtype)


@onnx_op("BitCast", since=26)
def bit_cast_(node: OnnxNode) -> OnnxValue:
    x, dtype = node.input(0), dtype_of(node.integer("to", 1))
    node.check(x.dtype.itemsize == dtype.itemsize, f"bits of {x.dtype} cannot be read as {dtype}: the widths differ")
    return bit_cast(x, dtype)
