"""Scatters that DirectML lacks: with fewer updates than elements, or with updates reduced into the elements.

To reduce, every row is compared with every index, so equal indices need no order. The comparisons are split to bound
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.enums import DML_REDUCE_FUNCTION
from dml.errors import HRESULT, DMLError
from dml.graph.builder import Tensor
from dml.shapes import with_size

_INT32 = enums.DML_TENSOR_DATA_TYPE_INT32
#: Limits on the comparisons of rows with indices: elements per tensor, and number of such tensors.
_PAIRS, _PARTS = 2**24, 256


class _Reduction(NamedTuple):
    """A reduction of ONNX. function: reduces the updates of an element. combine: merges the result with the element."""

    function: DML_REDUCE_FUNCTION
    combine: Callable[[Tensor, Tensor], Tensor]


_SUM = _Reduction(enums.DML_REDUCE_FUNCTION_SUM, op.add)
_REDUCTIONS: Mapping[str, _Reduction] = {
    "sum": _SUM,
    "mean": _SUM,
    "sub": _Reduction(enums.DML_REDUCE_FUNCTION_SUM, op.subtract),
    "prod": _Reduction(enums.DML_REDUCE_FUNCTION_MULTIPLY, op.multiply),
    "max": _Reduction(enums.DML_REDUCE_FUNCTION_MAX, op.maximum),
    "min": _Reduction(enums.DML_REDUCE_FUNCTION_MIN, op.minimum),
}
REDUCTIONS = tuple(_REDUCTIONS)


def replaced_elements(x: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Write each update to the update's index along the axis, and its own position along the other axes.

    indices, updates: equal sizes, no larger than x's along the other axes. DirectML takes x's sizes there.
    """
    for index, count in enumerate(indices.sizes):
        if index != axis and count < x.sizes[index]:
            places = [0] * x.rank
            reached = op.slice_(x, places, with_size(x.sizes, index, count))
            places[index] = count
            rest = op.slice_(x, places, with_size(x.sizes, index, x.sizes[index] - count))
            return op.join([replaced_elements(reached, indices, updates, axis), rest], index)
    return op.scatter_elements(x, indices, updates, axis)


def reduced_elements(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int, reduction: str, *, use_initial: bool = True
) -> Tensor:
    """Reduce each update into one element of x: at the update's index along the axis, and at its own position along the
    other axes.

    indices, updates: equal sizes, no larger than x's along the other axes. Negative indices count from the end.
    reduction: one of REDUCTIONS. use_initial: include x's own elements where updates reach them. Raises DMLError
    (DXGI_ERROR_UNSUPPORTED) for too many comparisons.
    """
    order = (axis, *(index for index in range(x.rank) if index != axis))
    x, indices, updates = (tensor.transpose(*order) for tensor in (x, indices, updates))
    indices = _from_zero(indices, x.sizes[0])
    for index in range(1, x.rank):
        indices = _filled(indices, index, x.sizes[index], -1)  # padding index -1 matches no row
        updates = _filled(updates, index, x.sizes[index], 0)
    columns = prod(x.sizes[1:])
    rows = [tensor.reshape(tensor.sizes[0], columns) for tensor in (x, indices, updates)]
    reduced = _reduced_rows(rows[0], rows[1], rows[2], reduction, use_initial)
    return reduced.reshape(*x.sizes).transpose(*np.argsort(order).tolist())


def reduced_parts(x: Tensor, indices: Tensor, updates: Tensor, reduction: str, *, use_initial: bool = True) -> Tensor:
    """Reduce each update into the slice of x whose leading coordinates are a row of ``indices``, as in ScatterND.

    indices: {..., depth}. updates: {..., x.sizes[depth:]...}. Other arguments and errors: see ``reduced_elements``.
    """
    depth = indices.sizes[-1]
    count, each = indices.desc.element_count // depth, prod(x.sizes[depth:])
    sizes = np.array(x.sizes[:depth], np.int32)
    steps = np.array([prod(x.sizes[index + 1 : depth]) for index in range(depth)], np.int32)
    places = _from_zero(indices.reshape(count, depth), x.builder.constant(sizes))
    row = op.reduce(places * x.builder.constant(steps), enums.DML_REDUCE_FUNCTION_SUM, [1])
    reduced = _reduced_rows(
        x.reshape(prod(x.sizes[:depth]), each), row, updates.reshape(count, each), reduction, use_initial
    )
    return reduced.reshape(*x.sizes)


def _from_zero(indices: Tensor, size: Tensor | int) -> Tensor:
    """Return indices as INT32, negative ones counted from the end."""
    whole = indices if indices.data_type == _INT32 else op.cast(indices, _INT32)
    return op.if_(op.less_than(whole, 0), whole + size, whole)


def _filled(x: Tensor, axis: int, size: int, number: int) -> Tensor:
    """Pad x with a number at the end of an axis, up to a size."""
    if x.sizes[axis] == size:
        return x
    missing = with_size(x.sizes, axis, size - x.sizes[axis])
    return op.join([x, x.builder.constant(np.full(missing, number), x.data_type)], axis)


def _reduced_rows(x: Tensor, indices: Tensor, updates: Tensor, reduction: str, use_initial: bool) -> Tensor:
    """Return x {D, C} after reducing the updates {K, C} into the rows that the indices {K, C or 1} (INT32) select."""
    function, combine = _REDUCTIONS[reduction]
    rows, columns = x.sizes
    count = max(1, _PAIRS // (rows * columns))
    if -(-indices.sizes[0] // count) > _PARTS:
        raise DMLError(
            f"updates of sizes {updates.sizes} reduced into {x.sizes} are too many", HRESULT.DXGI_ERROR_UNSUPPORTED
        )
    nothing = x.builder.constant(np.full(1, _neutral(reduction, x.desc.dtype)), x.data_type)
    row = x.builder.constant(np.arange(rows, dtype=np.int32).reshape(rows, 1, 1))
    counts = reduction == "mean" or not use_initial
    result, hits = x if use_initial else nothing.broadcast(x.sizes), None
    for first in range(0, indices.sizes[0], count):
        some = min(count, indices.sizes[0] - first)
        targets, new = (
            tensor if some == tensor.sizes[0] else op.slice_(tensor, (first, 0), (some, tensor.sizes[1]))
            for tensor in (indices, updates)
        )
        hit = op.equals(row, targets.reshape(1, *targets.sizes)).broadcast((rows, some, columns))
        chosen = op.if_(hit, new.reshape(1, some, columns), nothing)
        result = combine(result, op.reduce(chosen, function, [1]).reshape(rows, columns))
        if counts:
            floats = op.cast(hit, enums.DML_TENSOR_DATA_TYPE_FLOAT32)
            found = op.reduce(floats, enums.DML_REDUCE_FUNCTION_SUM, [1]).reshape(rows, columns)
            hits = found if hits is None else hits + found
    if hits is None:
        return result
    if reduction == "mean":
        divisor = hits + 1.0 if use_initial else hits
        result = result / (divisor if divisor.data_type == x.data_type else op.cast(divisor, x.data_type))
    return op.if_(op.greater_than(hits, 0), result, x)


def _neutral(reduction: str, dtype: np.dtype[Any]) -> float:
    """Return the reduction's neutral element."""
    if reduction not in ("max", "min"):
        return float(reduction == "prod")
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    return lowest if reduction == "max" else highest
