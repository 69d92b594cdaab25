"""Numbers of 2, 4 or 8 bits packed in bytes, with scales and zero points, for com.microsoft's operators."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from dml.errors import DMLError
from dml.frontends.meaning import blocks
from dml.graph.builder import Builder
from dml.tensors import UINT2 as UINT2_TYPE
from dml.tensors import packed_strides

from ..dtypes import UINT8, DType, storage
from .functions import part
from .value import OnnxValue, constant, expanded, reshape

INT4, UINT4, UINT2 = (np.dtype(kind) for kind in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.uint2))
#: 4-bit integers, which CAST does not support.
NARROW = (INT4, UINT4)


def narrow(x: OnnxValue, shape: Sequence[int], dtype: DType) -> OnnxValue:
    """View bytes as the numbers packed in them, lower bits first, or numbers as bytes; nothing is computed."""
    data_type = UINT2_TYPE if dtype == UINT2 else storage(dtype)
    return x.with_tensor(blocks.narrow(x.tensor, shape, data_type), shape, dtype)


def unpacked(x: OnnxValue, bits: int, count: int) -> OnnxValue:
    """Return the first ``count`` numbers of 2, 4 or 8 bits in each row of bytes {..., bytes}, in place.

    The result is UINT2, UINT4 or UINT8, {..., count}.
    """
    if x.dtype != UINT8:
        raise DMLError(f"packed numbers must come as uint8, found {x.dtype}")
    if 8 * x.shape[-1] < count * bits:
        raise DMLError(f"{count} numbers of {bits} bits do not fit rows of shape {x.shape}")
    rows, width = x.shape[:-1], x.shape[-1] * 8 // bits
    if bits == 8:
        return x if width == count else part(x, x.rank - 1, 0, count)
    numbers = narrow(x, (*rows, width), UINT2 if bits == 2 else UINT4)
    if width == count:
        return numbers
    # strides skip unused numbers at the ends of rows
    return numbers.with_tensor(numbers.tensor.view((*rows, count), packed_strides(numbers.shape)), (*rows, count))


def middle(builder: Builder, bits: int, rank: int) -> OnnxValue:
    """Return the middle of the range of unsigned numbers, the default zero point, as one number {1, ...}."""
    return unpacked(constant(builder, np.full((1,) * rank, 1 << (bits - 1), np.uint8)), bits, 1)


def dequantized_blocks(x: OnnxValue, scales: OnnxValue, points: OnnxValue | None) -> OnnxValue:
    """Return (x - zero point) * scale, per block, in the scales' type.

    The parameters' sizes divide those of x; a single zero point serves all blocks.
    """
    if not x.size:
        return x.filled(0, x.shape, scales.dtype)
    tensor = blocks.dequantized(x.tensor, scales.tensor, None if points is None else points.tensor)
    return x.with_tensor(tensor, dtype=scales.dtype)


def repeated_blocks(x: OnnxValue, axis: int, block: int, size: int) -> OnnxValue:
    """Repeat each block's parameter along an axis for every element of the block, up to ``size``."""
    shape = x.shape
    before, after = shape[: axis + 1], shape[axis + 1 :]
    wide = expanded(reshape(x, (*before, 1, *after)), (*before, block, *after))
    return part(reshape(wide, (*shape[:axis], shape[axis] * block, *after)), axis, 0, size)
