"""Rows of quantized tables: com.microsoft's GatherBlockQuantized."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from dml.errors import DMLError
from dml.shapes import checked_axis, replaced

from ...dtypes import FLOAT8, FLOAT16, FLOAT32, UINT8
from ...registry import onnx_op
from ..few_bits import INT4, UINT2, UINT4, dequantized_blocks, middle, narrow, repeated_blocks, unpacked
from ..functions import gather
from ..node import OnnxNode
from ..value import OnnxValue, cast, expanded, logical_and, reshape, where
from .casts import widened


@onnx_op("GatherBlockQuantized", domain="com.microsoft")
def gather_block_quantized(node: OnnxNode) -> OnnxValue:
    """Gather slices of a quantized table along gather_axis, then dequantize them.

    The table has 4-bit numbers, 8-bit floats, or bytes with numbers of 2, 4 or 8 bits along its last axis. The default
    zero point is the middle of the range for bytes, 0 for the others. An index out of range returns zeros.
    """
    data, indices, scales, zeros = node.input(0, least=1), node.input(1), node.input(2), node.optional(3)
    bits = node.integer("bits", 4) if data.dtype == UINT8 else 4
    node.check(bits in (2, 4, 8), f"attribute 'bits' must be 2, 4 or 8, found {bits}")
    packed = 8 // bits if data.dtype == UINT8 else 1
    shape = (*data.shape[:-1], data.shape[-1] * packed)
    axis = checked_axis(node.integer("gather_axis", 0), data.rank)
    along = checked_axis(node.integer("quantize_axis", 1), data.rank)
    block = node.integer("block_size", 128, least=0) or shape[along]
    node.check(data.dtype in (UINT8, INT4, UINT4, *FLOAT8), f"data of {data.dtype} is not supported by the operator")
    node.check(data.dtype != UINT8 or axis != data.rank - 1, "gather_axis must not be the last axis of uint8 data")
    _check_scales(scales, shape, along, block)
    if not indices.size or not prod(shape):
        return scales.filled(0, replaced(shape, axis, indices.shape))
    rows = _gathered(data, indices, axis, bits, shape[-1])
    blocks = _Blocks(shape, axis, along, block, indices)
    float_scales = scales if scales.dtype in (FLOAT32, FLOAT16) else cast(scales, FLOAT32)
    points = None
    if zeros is not None:
        points = blocks.of(zeros, bits)
    elif data.dtype == UINT8:
        points = middle(data.builder, bits, rows.rank)
    result = _dequantized(rows, blocks.of(float_scales, bits), points)
    return cast(_zeroed(result, indices, axis, shape[axis]), scales.dtype)


def _check_scales(scales: OnnxValue, shape: tuple[int, ...], along: int, block: int) -> None:
    wanted = tuple(-(-size // block) if index == along else size for index, size in enumerate(shape))
    fits = scales.rank == len(shape) and all(
        a == b or (a == 1 and index != along) for index, (a, b) in enumerate(zip(scales.shape, wanted, strict=True))
    )
    if not fits:
        raise DMLError(f"scales must have shape {wanted}, found {scales.shape}")


def _gathered(x: OnnxValue, indices: OnnxValue, axis: int, bits: int, count: int) -> OnnxValue:
    """Return the gathered numbers in their own type; as FLOAT32 if slices of 4-bit numbers do not fill whole bytes.

    count: numbers along the last axis.
    """
    last = x.rank - 1
    if x.dtype == UINT8:
        return unpacked(gather(x, indices, axis), bits, count)
    if x.dtype in FLOAT8:
        return gather(cast(x, FLOAT32), indices, axis)
    if x.dtype not in (INT4, UINT4):
        return gather(x, indices, axis)
    if axis != last and x.shape[last] % 2 == 0:
        rows = gather(narrow(x, (*x.shape[:-1], x.shape[-1] // 2), UINT8), indices, axis)
        return narrow(rows, (*rows.shape[:-1], 2 * rows.shape[-1]), x.dtype)
    return gather(widened(x, FLOAT32), indices, axis)


@dataclass(frozen=True)
class _Blocks:
    """A table in blocks along an axis, from which ``indices`` select slices along another axis, or the same.

    axis: the gathered axis. along: the axis of the blocks of ``block`` numbers.
    """

    shape: tuple[int, ...]
    axis: int
    along: int
    block: int
    indices: OnnxValue

    def of(self, x: OnnxValue, bits: int) -> OnnxValue:
        """Return the scales or zero points of the gathered numbers; their sizes divide those of the numbers."""
        axis, along, indices = self.axis, self.along, self.indices
        if axis != along and x.shape[axis] < self.shape[axis]:  # one parameter serves all slices
            return reshape(x, replaced(x.shape, axis, (1,) * indices.rank))
        last = len(self.shape) - 1
        count = -(-self.shape[last] // self.block) if along == last else self.shape[last]
        if axis == along:
            wrapped = where(indices < 0, indices + self.shape[axis], indices)
            return _gathered(x, wrapped / self.block, axis, bits, count)
        gathered = _gathered(x, indices, axis, bits, count)
        if self.shape[along] % self.block == 0:
            return gathered
        result_axis = along if along < axis else along - 1 + indices.rank
        plain = widened(gathered, FLOAT32) if gathered.dtype in (INT4, UINT4, UINT2) else gathered
        return repeated_blocks(plain, result_axis, self.block, self.shape[along])


def _dequantized(rows: OnnxValue, scales: OnnxValue, points: OnnxValue | None) -> OnnxValue:
    """Dequantize, by a single operator if numbers and zero points have the same type."""
    if rows.dtype != FLOAT32 and (points is None or points.dtype == rows.dtype):
        return dequantized_blocks(rows, scales, points)
    if rows.dtype != FLOAT32:
        rows = widened(rows, FLOAT32)
    numbers = rows if points is None else rows - _spread(_plain(points), rows.shape)
    return numbers * _spread(cast(scales, FLOAT32), rows.shape)


def _plain(x: OnnxValue) -> OnnxValue:
    return widened(x, FLOAT32) if x.dtype in (INT4, UINT4, UINT2) else cast(x, FLOAT32)


def _spread(x: OnnxValue, shape: tuple[int, ...]) -> OnnxValue:
    """Repeat a parameter, whose sizes divide the shape, for each number."""
    for axis, (own, size) in enumerate(zip(x.shape, shape, strict=True)):
        if own not in (1, size):
            x = repeated_blocks(x, axis, size // own, size)
    return expanded(x, shape)


def _zeroed(x: OnnxValue, indices: OnnxValue, axis: int, size: int) -> OnnxValue:
    """Set the slices of indices out of range to zero."""
    if indices.array is not None and indices.array.min() >= -size and indices.array.max() < size:
        return x
    ones = (1,) * (x.rank - axis - indices.rank)
    aligned = reshape(indices, (*indices.shape, *ones))
    return where(logical_and(aligned < size, aligned >= -size), x, x.filled(0))
