"""Building blocks of mappings: reductions, products, slices, joins, gathers, fills."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.enums import DML_REDUCE_FUNCTION
from dml.frontends.meaning import integers
from dml.graph.builder import Builder
from dml.shapes import broadcast_sizes, ones_along, replaced
from dml.tensors import DML_SCALAR_UNION, numpy_dtype

from ..dtypes import DType, storage
from .value import OnnxValue, applied, constant, is_small, reshape


def reduce(x: OnnxValue, function: DML_REDUCE_FUNCTION, axes: Sequence[int], keep: bool = True) -> OnnxValue:
    """Reduce over axes, keeping them with size 1 or dropping them."""
    chosen = sorted({axis % x.rank for axis in axes}) if x.rank else []
    kept = ones_along(x.shape, chosen)
    reduced = (
        x.with_tensor(op.reduce(x.tensor, function, chosen or (0,)), kept or (1,)) if prod(kept) else x.filled(0, kept)
    )
    return reshape(reduced, kept if keep else [size for axis, size in enumerate(x.shape) if axis not in chosen])


def total(x: OnnxValue, axes: Sequence[int], keep: bool = True) -> OnnxValue:
    return reduce(x, enums.DML_REDUCE_FUNCTION_SUM, axes, keep)


def mean(x: OnnxValue, axes: Sequence[int], keep: bool = True) -> OnnxValue:
    return reduce(x, enums.DML_REDUCE_FUNCTION_AVERAGE, axes, keep)


def matmul(a: OnnxValue, b: OnnxValue, *, transpose_b: bool = False) -> OnnxValue:
    """Multiply matrices of rank 2 and above, with broadcast batches; transpose_b: transpose b first."""
    batch = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    m, n = a.shape[-2], b.shape[-2 if transpose_b else -1]
    result = (*batch, m, n)
    if not prod(result):
        return a.filled(0, result)
    if b.rank == 2 and a.rank > 2:  # all rows in one product
        rows = reshape(a, (prod(batch) * m, a.shape[-1]))
        return reshape(matmul(rows, b, transpose_b=transpose_b), result)
    return a.with_tensor(integers.matmul(a.tensor, b.tensor, turn_b=transpose_b), result)


def slice_(x: OnnxValue, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int] | None = None) -> OnnxValue:
    """Slice each dimension: counts[i] elements beginning at starts[i], with step steps[i], which may be negative."""
    steps = tuple(steps or (1,) * x.rank)
    counts = tuple(counts)
    if counts == x.shape and all(step == 1 for step in steps):
        return x
    if not prod(counts):
        return x.filled(0, counts)
    offsets = [s + (n - 1) * min(step, 0) for s, n, step in zip(starts, counts, steps, strict=True)]
    windows = [(n - 1) * abs(step) + 1 for n, step in zip(counts, steps, strict=True)]
    return applied(op.slice_, x, counts, offsets, windows, steps)


def part(x: OnnxValue, axis: int, start: int, count: int) -> OnnxValue:
    """Return consecutive slices along an axis."""
    starts, counts = [0] * x.rank, list(x.shape)
    starts[axis], counts[axis] = start, count
    return slice_(x, starts, counts)


def slices(x: OnnxValue, axis: int, sizes: Sequence[int]) -> list[OnnxValue]:
    """Return consecutive slices of these sizes along an axis."""
    return [part(x, axis, sum(sizes[:index]), size) for index, size in enumerate(sizes)]


def unzipped(x: OnnxValue, pairs: int) -> tuple[OnnxValue, OnnxValue]:
    """Return the even and the odd elements among the first pairs along the last axis."""
    counts, steps = (*x.shape[:-1], pairs), (*(1,) * (x.rank - 1), 2)
    even, odd = (slice_(x, (*(0,) * (x.rank - 1), first), counts, steps) for first in (0, 1))
    return even, odd


def zipped(even: OnnxValue, odd: OnnxValue) -> OnnxValue:
    """Return the elements of both alternately along the last axis: the inverse of ``unzipped``."""
    pair = join([reshape(half, (*half.shape, 1)) for half in (even, odd)], even.rank)
    return reshape(pair, (*even.shape[:-1], 2 * even.shape[-1]))


def join(values: Sequence[OnnxValue], axis: int) -> OnnxValue:
    """Concatenate along an axis; empty values are skipped."""
    first = values[0]
    axis %= first.rank
    shape = list(first.shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    full = [value for value in values if value.size]
    if not full:
        return first.filled(0, shape)
    if len(full) == 1:
        return full[0]
    return first.with_tensor(op.join([value.tensor for value in full], axis), shape)


def resized(x: OnnxValue, axis: int, count: int, number: complex = 0) -> OnnxValue:
    """Pad or truncate an axis to ``count``."""
    if x.shape[axis] >= count:
        return part(x, axis, 0, count)
    missing = list(x.shape)
    missing[axis] = count - x.shape[axis]
    return join([x, x.filled(number, missing)], axis)


def gather(x: OnnxValue, indices: OnnxValue, axis: int) -> OnnxValue:
    """Gather slices of x along an axis by indices of any shape."""
    axis %= x.rank
    shape = replaced(x.shape, axis, indices.shape)
    if not prod(shape):
        return x.filled(0, shape)
    index = reshape(indices, indices.shape or (1,))  # scalars are tensors of rank 1
    return reshape(applied(op.gather, x, replaced(x.shape, axis, index.shape), index, axis), shape)


def gather_elements(x: OnnxValue, indices: OnnxValue, axis: int) -> OnnxValue:
    """Gather single elements: the index replaces the coordinate along the axis. The indices may have smaller sizes."""
    if indices.size and indices.rank == x.rank:
        counts = [
            size if index == axis else min(size, count)
            for index, (size, count) in enumerate(zip(x.shape, indices.shape, strict=True))
        ]
        x = slice_(x, [0] * x.rank, counts)
    return applied(op.gather_elements, x, indices.shape, indices, axis)


def fill(builder: Builder, number: Any, shape: Sequence[int], dtype: DType) -> OnnxValue:
    """Return a tensor filled with one number, on the device if it is large."""
    if is_small(prod(shape)):
        return constant(builder, np.full(tuple(shape), number, dtype))
    kind = storage(dtype)
    stored = np.asarray(number).astype(dtype).astype(numpy_dtype(kind))
    tensor = op.fill_value_constant(builder, shape, stored.item(), kind)
    return OnnxValue(builder, shape, dtype, tensor=tensor)


def scalar(number: Any, dtype: DType) -> DML_SCALAR_UNION:
    """Return a number as DirectML's scalar union of a data type."""
    return DML_SCALAR_UNION(Bytes=np.asarray(number).astype(dtype).tobytes())
