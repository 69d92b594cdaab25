"""Fourier transforms, as products with matrices that depend only on sizes; long ones in two steps."""

from __future__ import annotations

from math import isqrt, prod

import numpy as np

from dml.errors import DMLError
from dml.shapes import checked_axis, window_count

from ...dtypes import Array
from ...registry import onnx_op
from ..functions import gather, join, matmul, part, resized, slice_
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, cast, reshape, transpose

#: A transform whose matrix has more than _LONG elements is split if its length has factors; more than _LIMIT elements,
#: or samples, are refused.
_LONG, _LIMIT = 2**20, 2**24


def _transformed(node: OnnxNode, x: OnnxValue, length: int, bins: int, inverse: bool) -> OnnxValue:
    """Transform {..., samples, 1 or 2} to {..., bins, 2}; samples are cropped, or padded with zeros, to the length.

    A long transform of a * b samples consists of b transforms of every b-th sample, a rotation, and a transforms of
    the results.
    """
    count, parts = x.shape[-2:]
    if not 1 <= length <= _LIMIT:
        raise Unsupported(f"transforms have 1 to {_LIMIT} samples, found {length}")
    a = max(index for index in range(1, isqrt(length) + 1) if length % index == 0)
    if a == 1 or count * parts * bins * 2 <= _LONG:
        return _product(x, _matrix(count, parts, length, bins, inverse))
    b = length // a
    leading = x.shape[:-2]
    x = resized(resized(reshape(x, (prod(leading), count, parts)), 1, length), 2, 2)
    x = transpose(reshape(x, (prod(leading), a, b, 2)), (0, 2, 1, 3))
    x = _transformed(node, x, a, a, inverse)
    angle = 2 * np.pi * np.outer(np.arange(b), np.arange(a)) / length * (1 if inverse else -1)
    cosines, sines = (node.constant(table[..., None].astype(x.dtype)) for table in (np.cos(angle), np.sin(angle)))
    real, imaginary = part(x, 3, 0, 1), part(x, 3, 1, 1)
    x = join([real * cosines - imaginary * sines, real * sines + imaginary * cosines], 3)
    x = _transformed(node, transpose(x, (0, 2, 1, 3)), b, b, inverse)
    x = reshape(transpose(x, (0, 2, 1, 3)), (*leading, length, 2))
    return part(x, x.rank - 2, 0, bins)


def _matrix(count: int, parts: int, length: int, bins: int, inverse: bool) -> Array:
    """Return {count * parts, bins * 2}: the contribution of each part of each sample to the parts of each bin."""
    if count * parts * bins * 2 > _LIMIT:
        raise Unsupported(f"a transform of {count} samples to {bins} bins is too large for one product")
    used = np.arange(min(count, length))
    angle = 2 * np.pi * np.outer(used, np.arange(bins)) / length
    sign = 1.0 if inverse else -1.0
    matrix = np.zeros((count, parts, bins, 2))
    matrix[: len(used), 0, :, 0], matrix[: len(used), 0, :, 1] = np.cos(angle), sign * np.sin(angle)
    if parts == 2:
        matrix[: len(used), 1, :, 0], matrix[: len(used), 1, :, 1] = -sign * np.sin(angle), np.cos(angle)
    return matrix / (length if inverse else 1)


def _product(x: OnnxValue, matrix: Array) -> OnnxValue:
    """Return {..., count, parts} times the matrix, as {..., bins, parts of a bin}."""
    count, parts, bins, each = matrix.shape
    rows = reshape(x, (x.size // (count * parts), count * parts))
    matrix_value = OnnxValue(
        x.builder, (count * parts, bins * each), x.dtype, array=matrix.reshape(count * parts, -1).astype(x.dtype)
    )
    return reshape(matmul(rows, matrix_value), (*x.shape[:-2], bins, each))


@onnx_op("DFT", since=17)
def dft(node: OnnxNode) -> OnnxValue:
    """Transform; version 17 has ``axis`` as an attribute, 20 as an input. One-sided and inverse: transform half a
    spectrum to reals."""
    x = node.input(0, least=2)
    node.check(x.dtype.kind not in "iub", f"takes floating-point signals, found {x.dtype}")
    axis = node.integer("axis", 1)
    if node.version >= 20:
        axis = int(node.single(2)) if node.has(2) else -2
    axis = checked_axis(axis, x.rank)
    if axis == x.rank - 1 or x.shape[-1] not in (1, 2):
        raise DMLError(f"takes samples in shape {{..., samples, ..., 1 or 2}}, found axis {axis} of shape {x.shape}")
    inverse, onesided = bool(node.integer("inverse", 0)), bool(node.integer("onesided", 0))
    order = [*(index for index in range(x.rank) if index not in (axis, x.rank - 1)), axis, x.rank - 1]
    moved = transpose(x, order)
    count = moved.shape[-2]
    length = int(node.single(1)) if node.has(1) else count
    if inverse and onesided:
        result = _from_half(node, moved, length if node.has(1) else 2 * (count - 1))
    else:
        result = _transformed(node, moved, length, length // 2 + 1 if onesided else length, inverse)
    return transpose(result, [order.index(index) for index in range(x.rank)])


def _from_half(node: OnnxNode, x: OnnxValue, length: int) -> OnnxValue:
    """Return {..., bins, 2} as reals {..., length, 1}: the other half of the spectrum mirrors this one."""
    axis, half = x.rank - 2, length // 2 + 1
    x = resized(x, axis, half)
    starts, counts, steps = [0] * x.rank, list(x.shape), [1] * x.rank
    starts[axis], counts[axis], steps[axis] = length - half, length - half, -1
    if counts[axis]:
        mirrored = slice_(x, starts, counts, steps) * node.constant(np.array([1, -1], x.dtype))
        x = join([x, mirrored], axis)
    return part(_transformed(node, x, length, length, True), axis + 1, 0, 1)


@onnx_op("STFT", since=17)
def stft(node: OnnxNode) -> OnnxValue:
    """Gather frames by index, multiply them by the window, and transform them."""
    x, window = node.input(0, least=2), node.optional(2)
    node.check(x.dtype.kind not in "iub", f"takes floating-point signals, found {x.dtype}")
    if x.rank == 2:
        x = reshape(x, (*x.shape, 1))
    node.check(window is None or window.rank == 1, "the window must have rank 1")
    stride = int(node.single(1))
    length = int(node.single(3)) if node.has(3) else (window.shape[0] if window is not None else 0)
    if stride < 1 or not 1 <= length <= x.shape[1]:
        raise DMLError(f"frames of {length} samples, {stride} apart, do not fit a signal of {x.shape[1]} samples")
    frames = window_count(x.shape[1], length, stride)
    indices = np.arange(frames)[:, None] * stride + np.arange(length)
    pieces = gather(x, node.constant(indices.astype(np.int64)), 1)
    if window is not None:
        pieces = pieces * reshape(cast(window, x.dtype), (1, 1, length, 1))
    bins = length // 2 + 1 if node.integer("onesided", 1) else length
    return _transformed(node, pieces, length, bins, False)
