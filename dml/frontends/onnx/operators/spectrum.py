"""Fourier transforms, as products with matrices that depend on nothing but sizes."""

from __future__ import annotations

import numpy as np

from dml.errors import DMLError

from ..registry import onnx_op
from ..trace import Node, Unsupported, checked_axis
from ..value import Array, Value, cast, gather, matmul, reshape, transpose

_LIMIT = 2**24


def _matrix(node: Node, count: int, parts: int, length: int, bins: int, inverse: bool) -> Array:
    """{count * parts, bins * 2}: what each part of each sample gives to the parts of each bin."""
    if count * parts * bins * 2 > _LIMIT:
        raise Unsupported(f"{node}: a transform of {count} samples to {bins} bins is too large for one product")
    used = np.arange(min(count, length))
    angle = 2 * np.pi * np.outer(used, np.arange(bins)) / length
    sign = 1.0 if inverse else -1.0
    made = np.zeros((count, parts, bins, 2))
    made[: len(used), 0, :, 0], made[: len(used), 0, :, 1] = np.cos(angle), sign * np.sin(angle)
    if parts == 2:
        made[: len(used), 1, :, 0], made[: len(used), 1, :, 1] = -sign * np.sin(angle), np.cos(angle)
    return made / (length if inverse else 1)


def _product(x: Value, matrix: Array) -> Value:
    """{..., count, parts} as {..., bins, what a bin has}."""
    count, parts, bins, each = matrix.shape
    rows = reshape(x, (x.size // (count * parts), count * parts))
    held = Value(
        x.builder, (count * parts, bins * each), x.dtype, array=matrix.reshape(count * parts, -1).astype(x.dtype)
    )
    return reshape(matmul(rows, held), (*x.shape[:-2], bins, each))


@onnx_op("DFT", since=17)
def dft(node: Node) -> Value:
    """Version 17 has ``axis`` as an attribute, 20 as an input. One-sided and inverse: from half a spectrum to reals."""
    x = node.input(0)
    axis = node.integer("axis", 1)
    if node.version >= 20:
        known = node.known(2)
        axis = -2 if known is None else int(known.reshape(-1)[0])
    axis = checked_axis(axis, x.rank)
    if axis == x.rank - 1 or x.shape[-1] not in (1, 2):
        raise DMLError(f"{node}: axis {axis} of a tensor of shape {x.shape} must be one of samples")
    inverse, onesided = bool(node.integer("inverse", 0)), bool(node.integer("onesided", 0))
    order = [*(at for at in range(x.rank) if at not in (axis, x.rank - 1)), axis, x.rank - 1]
    moved = transpose(x, order)
    count, parts = moved.shape[-2:]
    given = node.known(1)
    length = count if given is None else int(given.reshape(-1)[0])
    if inverse and onesided:
        length = 2 * (count - 1) if given is None else length
        matrix = _half(node, count, length)
    else:
        bins = length // 2 + 1 if onesided else length
        matrix = _matrix(node, count, parts, length, bins, inverse)
    made = _product(moved, matrix)
    return transpose(made, [order.index(at) for at in range(x.rank)])


def _half(node: Node, count: int, length: int) -> Array:
    """{count, 2, length, 1}: reals from the first half of their spectrum; the other half is its mirror image."""
    made = _matrix(node, count, 2, length, length, True)[..., :1]
    bins = np.arange(count)
    twice = np.where((bins == 0) | (2 * bins == length), 1.0, np.where(2 * bins < length, 2.0, 0.0))
    made *= twice[:, None, None, None]
    return made


@onnx_op("STFT", since=17)
def stft(node: Node) -> Value:
    """Frames are picked by their indices, weighted by the window, and transformed."""
    x, window = node.input(0), node.optional(2)
    step, given = node.known(1), node.known(3)
    assert step is not None
    if x.rank == 2:
        x = reshape(x, (*x.shape, 1))
    stride = int(step.reshape(-1)[0])
    length = int(given.reshape(-1)[0]) if given is not None else (window.shape[0] if window is not None else 0)
    if stride < 1 or not 1 <= length <= x.shape[1]:
        raise DMLError(f"{node}: frames of {length} every {stride} do not fit a signal of {x.shape[1]}")
    frames = (x.shape[1] - length) // stride + 1
    indices = np.arange(frames)[:, None] * stride + np.arange(length)
    pieces = gather(x, node.constant(indices.astype(np.int64)), 1)
    if window is not None:
        pieces = pieces * reshape(cast(window, x.dtype), (1, 1, length, 1))
    bins = length // 2 + 1 if node.integer("onesided", 1) else length
    return _product(pieces, _matrix(node, length, pieces.shape[-1], length, bins, False))
