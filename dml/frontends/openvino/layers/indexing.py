"""Elements gathered, counted and sorted, and tensors generated from indices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.compressed import Compressed
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.shapes import with_size

UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32


@layer("Gather")
def gather(c: IrContext) -> IrValue:
    axis, batches = c.integer(2), c.layer.integer("batch_dims", 0)
    if all(isinstance(value, np.ndarray) for value in c.given[:2]) and not batches:
        return c.on_numbers(np.take, np.asarray(c.values[0]), np.asarray(c.values[1]), axis)
    table, indices = c.stored(0), c.tensor(1)
    if indices.desc.dtype.itemsize < 4:  # opset1 takes any integers
        indices = op.cast(indices, enums.DML_TENSOR_DATA_TYPE_INT32)
    if isinstance(table, Compressed) and not batches and axis in (0, -len(table.sizes)):
        rows = table.rows(c.graph, indices)
        if rows is not None:
            return rows.reshape(*c.sizes)
    x = c.tensor(0)
    axis = c.axis(axis, x.rank)
    batches = c.axis(batches, indices.rank if batches < 0 else indices.rank + 1)
    if not batches:
        return op.gather(x, indices, axis).reshape(*c.sizes)
    c.check(axis >= batches, f"axis {axis} is one of the {batches} batch_dims")
    # As {batch, before, axis, after}: each batch element has its own indices
    batch, before, after = prod(x.sizes[:batches]), prod(x.sizes[batches:axis]), prod(x.sizes[axis + 1 :])
    flat = x.reshape(batch, before, x.sizes[axis], after)
    count = prod(indices.sizes[batches:])
    chosen = indices.reshape(batch, 1, count, 1).broadcast((batch, before, count, after))
    return op.gather_elements(flat, chosen, 2).reshape(*c.sizes)


@layer("GatherElements")
def gather_elements(c: IrContext) -> IrValue:
    return op.gather_elements(c.tensor(0), c.tensor(1), c.layer.integer("axis"))


@layer("GatherND")
def gather_nd(c: IrContext) -> IrValue:
    return op.gather_nd(c.tensor(0), c.tensor(1), c.layer.integer("batch_dims", 0)).reshape(*c.sizes)


@layer("OneHot")
def one_hot(c: IrContext) -> IrValue:
    """DirectML counts negative indices from the end, OpenVINO only if negative_indices_mode is "normalize"."""
    indices = c.tensor(0)
    axis = c.axis(c.layer.integer("axis", -1), len(c.sizes))
    if c.layer.text("negative_indices_mode", "ignore_negative") == "ignore_negative":
        beyond = c.graph.constant(np.full((1,) * indices.rank, c.sizes[axis]), indices.data_type)
        indices = op.if_(op.less_than(indices, 0), beyond, indices)
    on, off = (c.single(k) for k in (2, 3))
    places = indices.reshape(*with_size(c.sizes, axis, 1))
    result = op.one_hot(places, c.sizes[axis], float(off), float(on), axis)
    return c.converted(result)


@layer("TopK")
def top_k(c: IrContext) -> Sequence[IrValue]:
    """Return the largest or smallest elements and their indices; equal elements keep the order of their indices."""
    mode, order = c.layer.text("mode"), c.layer.text("sort")
    if mode not in ("max", "min") or order not in ("value", "index", "none"):
        raise c.error(f"mode {mode!r} and sort {order!r} are not max or min, and value, index or none")
    x, count = c.tensor(0), c.integer(1)
    axis = c.axis(c.layer.integer("axis"), x.rank)
    falling = enums.DML_AXIS_DIRECTION_DECREASING
    values, places = op.top_k(x, count, axis, falling if mode == "max" else enums.DML_AXIS_DIRECTION_INCREASING)
    if order == "index":
        places, ranks = op.top_k(places, count, axis, enums.DML_AXIS_DIRECTION_INCREASING)
        values = op.gather_elements(values, ranks, axis)
    return [values, c.converted(places, 1)]


@layer("CumSum")
def cumulative_sum(c: IrContext) -> IrValue:
    axis = c.integer(1) if len(c.values) > 1 else 0
    rising, falling = enums.DML_AXIS_DIRECTION_INCREASING, enums.DML_AXIS_DIRECTION_DECREASING
    direction = falling if c.layer.flag("reverse") else rising
    return op.cumulative_sum(c.tensor(0), axis, direction, exclusive=c.layer.flag("exclusive"))


@layer("Range")
def range_(c: IrContext) -> IrValue:
    start, stop, step = (c.single(k) for k in range(3))
    return c.on_numbers(np.arange, start, stop, step).astype(c.dtype)


@layer("Eye")
def eye(c: IrContext) -> IrValue:
    rows, columns, diagonal = (c.integer(k) for k in range(3))
    matrix = c.on_numbers(np.eye, rows, columns, diagonal, c.dtype)
    return np.broadcast_to(matrix, c.layer.outputs[0].sizes).copy()
