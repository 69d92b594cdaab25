"""Numbers of 2, 3, 4 or 8 bits packed in bytes, with scales and zero points, for com.microsoft's operators."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

from ..dtypes import FLOAT32, UINT8, Array, DType, storage
from .functions import join, part
from .node import Unsupported
from .value import OnnxValue, applied, cast, constant, expanded, reshape, unary

#: Byte -> its four 2-bit numbers as four 4-bit numbers, the first in the lowest bits.
_PAIRS = sum(((np.arange(256) >> 2 * at & 3) << 4 * at for at in range(4)), np.zeros(256, np.int64)).astype("<u2")
#: Rows widened at a time, which bounds working memory.
_ROWS_AT_ONCE = 256
INT4, UINT4 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)


def narrow(x: OnnxValue, shape: Sequence[int], dtype: DType) -> OnnxValue:
    """View bytes as the numbers packed in them, lower bits first, or back; nothing is computed."""
    tensor = x.packed
    desc = DML_BUFFER_TENSOR_DESC(
        storage(dtype), tuple(shape), None, tensor.desc.TotalTensorSizeInBytes, Flags=tensor.desc.Flags
    )
    return x.made(Tensor(x.builder, tensor.source, desc), shape, dtype)


def unpacked(x: OnnxValue, bits: int, count: int, *, as_bytes: bool = False) -> OnnxValue:
    """Return the first ``count`` numbers of 2, 3, 4 or 8 bits in each row of bytes {..., bytes}.

    The result is UINT4 or UINT8, {..., count}. Four bits are read in place. DirectML has no narrower type: constants
    of fewer bits become UINT4 once; other values, and all with ``as_bytes``, become UINT8.
    """
    if x.dtype != UINT8:
        raise DMLError(f"packed numbers must come as uint8, found {x.dtype}")
    if 8 * x.shape[-1] < count * bits:
        raise DMLError(f"{count} numbers of {bits} bits do not fit rows of shape {x.shape}")
    rows = x.shape[:-1]
    if bits in (2, 3) and x.array is not None and not as_bytes:
        padded = count + count % 2
        held = x.builder.derived(x.array, ("widened", bits, count), lambda array: _widened(array, bits, count))
        x, bits = constant(x.builder, held.reshape(*rows, padded // 2)), 4
    if bits == 4:
        numbers = narrow(x, (*rows, 2 * x.shape[-1]), UINT4)
    elif bits == 8:
        numbers = x
    elif bits == 2:
        numbers = _quarters(x)
    else:
        raise Unsupported(f"numbers of {bits} bits that are not constants are not mapped")
    if numbers.shape[-1] == count:
        return numbers
    if numbers.dtype == UINT4:  # strides skip unused numbers at the ends of rows
        strides = packed_strides(numbers.shape)
        return numbers.made(numbers.tensor.view((*rows, count), strides), (*rows, count))
    return part(numbers, numbers.rank - 1, 0, count)


def _widened(array: Array, bits: int, count: int) -> Array:
    """Widen rows of narrower numbers to 4 bits, two per byte."""
    rows = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    if bits == 2 and count == 4 * array.shape[-1]:
        pairs: Array = _PAIRS[rows].view(np.uint8)
        return pairs.reshape(*array.shape[:-1], -1)
    wide = np.empty((len(rows), -(-count // 2)), np.uint8)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        flat = np.unpackbits(rows[start : start + _ROWS_AT_ONCE], axis=-1, bitorder="little")[:, : count * bits]
        fields = np.zeros((len(flat), count + count % 2, 4), np.uint8)
        fields[:, :count, :bits] = flat.reshape(len(flat), count, bits)
        wide[start : start + _ROWS_AT_ONCE] = np.packbits(fields.reshape(len(flat), -1), axis=-1, bitorder="little")
    return wide.reshape(*array.shape[:-1], -1)


def _quarters(x: OnnxValue) -> OnnxValue:
    """Unpack bytes that are not constant into 2-bit numbers, as UINT8.

    Float32 represents a byte and its quarters exactly.
    """
    left, fields = cast(x, FLOAT32), []
    for _ in range(4):
        rest = unary(op.floor, left * 0.25)
        fields.append(reshape(cast(left - rest * 4, UINT8), (*x.shape, 1)))
        left = rest
    return reshape(join(fields, x.rank), (*x.shape[:-1], 4 * x.shape[-1]))


def dequantized_blocks(x: OnnxValue, scales: OnnxValue, points: OnnxValue | None) -> OnnxValue:
    """Return (x - zero point) * scale, per block, in the scales' type.

    The parameters' sizes divide those of x; a single zero point serves all blocks.
    """
    if points is not None:
        points = expanded(points, scales.shape)
    given = [value for value in (scales, points) if value is not None]
    kind = enums.DML_QUANTIZATION_TYPE(len(given))
    return applied(op.dequantize, x, x.shape, given, kind, dtype=scales.dtype)


def repeated_blocks(x: OnnxValue, axis: int, block: int, size: int) -> OnnxValue:
    """Repeat each block's parameter along an axis for every element of the block, up to ``size``."""
    shape = x.shape
    before, behind = shape[: axis + 1], shape[axis + 1 :]
    wide = expanded(reshape(x, (*before, 1, *behind)), (*before, block, *behind))
    return part(reshape(wide, (*shape[:axis], shape[axis] * block, *behind)), axis, 0, size)
