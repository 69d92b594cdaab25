"""Scatters that DirectML lacks: with fewer updates than elements, or with updates reduced into the elements.

A few updates are reduced by comparing every row with every index. Many are reduced one after the other within each
column, or within parts of a column (spans). Very many of few columns are sorted by index first; then a scan over each
run of equal indices reduces them, and the run's last element is the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.movement import OWN_REDUCE_INTO_ROWS_OPERATOR_DESC
from dml.enums import DML_REDUCE_FUNCTION
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Tensor
from dml.shapes import with_size

_FLOAT32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
#: Data types whose updates are reduced in their order.
_ORDERED = tuple(
    getattr(enums, f"DML_TENSOR_DATA_TYPE_{name}")
    for name in ("FLOAT32", "FLOAT16", "INT32", "UINT32", "INT64", "UINT64")
)
#: Maximum number of comparisons of rows with indices.
_PAIRS = 2**20
#: Maximum number of a column's updates that are reduced one after the other, where the columns do not fill a device.
_SPAN = 2**14
#: Number of columns that fill a device.
_COLUMNS = 64
#: Maximum elements of the spans' results, unless they are fewer than ``_SPARSE`` times the updates.
_HELD, _SPARSE = 2**22, 4


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

    indices, updates: equal sizes, no larger than x's along the other axes. (DirectML's operator requires x's sizes
    there.)
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
    reduction: one of REDUCTIONS. use_initial: include x's own elements where updates reach them.
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

    indices: {..., depth}. updates: {..., x.sizes[depth:]...}. Other arguments: see ``reduced_elements``.
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
    whole = as_type(indices, enums.DML_TENSOR_DATA_TYPE_INT32)
    return op.if_(op.less_than(whole, 0), whole + size, whole)


def _filled(x: Tensor, axis: int, size: int, number: int) -> Tensor:
    """Pad x with a number at the end of an axis, up to a size."""
    if x.sizes[axis] == size:
        return x
    missing = with_size(x.sizes, axis, size - x.sizes[axis])
    padding = x.builder.constant(np.full((1,) * x.rank, number), x.data_type).broadcast(missing)
    return op.join([x, padding], axis)


def _reduced_rows(x: Tensor, indices: Tensor, updates: Tensor, reduction: str, use_initial: bool) -> Tensor:
    """Return x {D, C} after reducing the updates {K, C} into the rows that the indices {K, C or 1} (INT32) select."""
    combine = _REDUCTIONS[reduction].combine
    nothing = x.builder.constant(np.full(1, _neutral(reduction, x.desc.dtype)), x.data_type)
    counts = reduction == "mean" or not use_initial
    # REDUCE sums no integers of 8 and 16 bits.
    narrow = x.desc.dtype.kind in "iu" and x.desc.dtype.itemsize < 4
    if x.desc.element_count * indices.sizes[0] <= _PAIRS and not narrow:
        reduce = _compared
    else:
        spans = _spans(x, updates)
        reduce = _sorted if spans is None else partial(_in_order, spans)
    reduced, hits = reduce(x, indices, updates, reduction, nothing, counts)
    result = combine(x if use_initial else nothing.broadcast(x.sizes), reduced)
    if hits is None:
        return result
    hits = hits.broadcast(x.sizes)
    if reduction == "mean":
        result = result / as_type(hits + 1.0 if use_initial else hits, x.data_type)
    return op.if_(op.greater_than(hits, 0), result, x)


def _compared(
    x: Tensor, indices: Tensor, updates: Tensor, reduction: str, nothing: Tensor, counts: bool
) -> tuple[Tensor, Tensor | None]:
    """Reduce the updates of each element of x (``nothing`` if it has none), and count them if ``counts``.

    Compares every row with every index.
    """
    rows, columns = x.sizes
    row = x.builder.constant(np.arange(rows, dtype=np.int32).reshape(rows, 1, 1))
    hit = op.equals(row, indices.reshape(1, *indices.sizes)).broadcast((rows, *updates.sizes))
    chosen = op.if_(hit, updates.reshape(1, *updates.sizes), nothing)
    reduced = op.reduce(chosen, _REDUCTIONS[reduction].function, [1]).reshape(rows, columns)
    if not counts:
        return reduced, None
    return reduced, op.reduce(op.cast(hit, _FLOAT32), enums.DML_REDUCE_FUNCTION_SUM, [1]).reshape(rows, columns)


def _spans(x: Tensor, updates: Tensor) -> int | None:
    """Return the number of spans into which each column's updates are divided, to be reduced in parallel; None if
    updates are to be sorted instead."""
    if x.data_type not in _ORDERED:
        return None
    spans = -(-updates.sizes[0] // _SPAN)
    if spans == 1 or spans * x.desc.element_count <= max(_HELD, _SPARSE * updates.desc.element_count):
        return spans
    return 1 if x.sizes[1] >= _COLUMNS else None


def _in_order(
    spans: int, x: Tensor, indices: Tensor, updates: Tensor, reduction: str, nothing: Tensor, counts: bool
) -> tuple[Tensor, Tensor | None]:
    """Do what ``_compared`` does. Each of ``spans`` spans of a column is reduced one update after the other."""
    halves = x.desc.dtype == np.float16  # a sum of many FLOAT16 numbers loses digits
    wide, start = (op.cast(each, _FLOAT32) if halves else each for each in (updates, nothing))
    reduced = _into_rows(start, indices, wide, x.sizes[0], spans, _REDUCTIONS[reduction].function)
    reduced = op.cast(reduced, x.data_type) if halves else reduced
    if not counts:
        return reduced, None
    zero, one = (x.builder.constant(np.full(1, number, np.float32)) for number in (0, 1))
    ones = one.broadcast(indices.sizes)
    return reduced, _into_rows(zero, indices, ones, x.sizes[0], spans, enums.DML_REDUCE_FUNCTION_SUM)


def _into_rows(
    start: Tensor, indices: Tensor, updates: Tensor, rows: int, spans: int, function: DML_REDUCE_FUNCTION
) -> Tensor:
    """Reduce updates {K, C} into ``rows`` rows of ``start``. spans: parts of each column that are reduced
    separately."""
    columns = updates.sizes[1]
    length = -(-updates.sizes[0] // spans)
    if spans > 1:
        # Update k of a column is in span k % spans; padding index -1 matches no row.
        indices, updates = _filled(indices, 0, length * spans, -1), _filled(updates, 0, length * spans, 0)
        indices = indices.reshape(length, spans, indices.sizes[1]).broadcast((length, spans, columns))
        indices, updates = indices.reshape(length, spans * columns), updates.reshape(length, spans * columns)
    table = (rows, spans * columns)
    reduced = updates.builder.one(
        OWN_REDUCE_INTO_ROWS_OPERATOR_DESC,
        table,
        updates.data_type,
        InputTensor=start.broadcast(table),
        IndicesTensor=indices,
        UpdatesTensor=updates,
        Function=function,
    )
    if spans == 1:
        return reduced
    return op.reduce(reduced.reshape(rows, spans, columns), function, [1]).reshape(rows, columns)


def _sorted(
    x: Tensor, indices: Tensor, updates: Tensor, reduction: str, nothing: Tensor, counts: bool
) -> tuple[Tensor, Tensor | None]:
    """Do what ``_compared`` does. Sorts the updates by index, equal indices in their order."""
    rows, width = x.sizes[0], indices.sizes[1]
    # Scatters count negative indices from the end, and drop those beyond it.
    targets = op.if_(op.greater_than_or_equal(indices, 0), indices, rows)
    targets, order = op.top_k(targets, targets.sizes[0], 0, enums.DML_AXIS_DIRECTION_INCREASING)
    shared = width < updates.sizes[1]
    new = op.gather_nd(updates, order) if shared else op.gather_elements(updates, order, 0)
    merge = op.add if reduction == "sub" else _REDUCTIONS[reduction].combine
    halves = x.desc.dtype == np.float16  # a sum of many FLOAT16 numbers loses digits
    new = as_type(_scanned(op.cast(new, _FLOAT32) if halves else new, targets, merge), x.data_type)
    # Of the updates of one row, the last wins.
    empty = nothing.broadcast(x.sizes).packed()
    reduced = op.scatter_nd(empty, targets, new) if shared else op.scatter_elements(empty, targets, new, 0)
    if not counts:
        return reduced, None
    ones, zeros = (
        x.builder.constant(np.full(1, number, np.float32)).broadcast(sizes).packed()
        for number, sizes in ((1, targets.sizes), (0, (rows, width)))
    )
    return reduced, op.scatter_elements(zeros, targets, _scanned(ones, targets, op.add), 0)


def _scanned(x: Tensor, keys: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Combine each row of x {K, C} with the rows before it that have its key. keys: {K, C or 1}, sorted."""
    count, span = x.sizes[0], 1
    while span < count:
        rest = count - span
        before, after = (op.slice_(x, (first, 0), (rest, x.sizes[1])) for first in (0, span))
        own, others = (op.slice_(keys, (first, 0), (rest, keys.sizes[1])) for first in (span, 0))
        same = op.equals(own, others).broadcast(after.sizes)
        x = op.join([op.slice_(x, (0, 0), (span, x.sizes[1])), op.if_(same, combine(before, after), after)], 0)
        span *= 2
    return x


def _neutral(reduction: str, dtype: np.dtype[Any]) -> float:
    """Return the reduction's neutral element."""
    if reduction not in ("max", "min"):
        return float(reduction == "prod")
    if dtype.kind == "f":
        return -np.inf if reduction == "max" else np.inf
    return np.iinfo(dtype).min if reduction == "max" else np.iinfo(dtype).max
