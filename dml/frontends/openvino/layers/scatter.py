"""Elements written to the places that indices say, or reduced into what lies there."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors import elementwise as ew
from dml.enums import DML_REDUCE_FUNCTION
from dml.errors import HRESULT, DMLError
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.shapes import replaced

INT32 = enums.DML_TENSOR_DATA_TYPE_INT32
#: A reduction compares every update with every row, in tensors of _PAIRS elements; more than _PARTS are too many.
_PAIRS, _PARTS = 2**24, 256


def _pair(cls: Any) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda a, b: a.builder.one(cls, a.sizes, ATensor=a, BTensor=b)


_ADD, _MULTIPLY = (
    _pair(cls) for cls in (ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
)
#: Of the updates for one place, and of what lies there with what comes of them.
_REDUCTIONS: dict[str, tuple[DML_REDUCE_FUNCTION, Callable[[Tensor, Tensor], Tensor]]] = {
    "sum": (enums.DML_REDUCE_FUNCTION_SUM, _ADD),
    "mean": (enums.DML_REDUCE_FUNCTION_SUM, _ADD),
    "sub": (enums.DML_REDUCE_FUNCTION_SUM, _pair(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC)),
    "prod": (enums.DML_REDUCE_FUNCTION_MULTIPLY, _MULTIPLY),
    "max": (enums.DML_REDUCE_FUNCTION_MAX, _pair(ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC)),
    "min": (enums.DML_REDUCE_FUNCTION_MIN, _pair(ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC)),
}


@layer("ScatterUpdate")
def scatter_update(c: IrContext) -> IrValue:
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    axis = c.axis(c.integers(3)[0], x.rank)
    sizes = replaced(x.sizes, axis, (indices.desc.element_count,))
    ones = (1,) * (x.rank - axis - 1)
    chosen = indices.reshape(indices.desc.element_count, *ones).broadcast(sizes)
    return op.scatter_elements(x, chosen.packed(), updates.reshape(*sizes), axis)


@layer("ScatterElementsUpdate")
def scatter_elements_update(c: IrContext) -> IrValue:
    """With a reduction: rows along the axis, of which each column has indices of its own."""
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    axis, reduction = c.axis(c.integers(3)[0], x.rank), _reduction(c, "sub")
    if reduction == "none":
        return op.scatter_elements(x, indices, updates, axis)
    if indices.sizes != updates.sizes or replaced(indices.sizes, axis, (x.sizes[axis],)) != x.sizes:
        raise c.error(f"with a reduction, indices {indices.sizes} must cover the other axes of data {x.sizes}")
    order = [axis, *(at for at in range(x.rank) if at != axis)]
    sizes = [x.sizes[at] for at in order]
    count, columns = indices.sizes[axis], prod(sizes[1:])
    rows = [
        t.transpose(*order).reshape(n, columns) for t, n in ((x, sizes[0]), (indices, count), (updates, count))
    ]  # fmt: skip
    made = _reduced(c, reduction, rows[0], _counted(rows[1], x.sizes[axis]), rows[2])
    return made.reshape(*sizes).transpose(*np.argsort(order).tolist())


@layer("ScatterNDUpdate")
def scatter_nd_update(c: IrContext) -> IrValue:
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    reduction = _reduction(c, "mean")
    if reduction == "none":
        return op.scatter_nd(x, indices, updates)
    depth = indices.sizes[-1]
    if depth > x.rank:
        raise c.error(f"indices of sizes {indices.sizes} do not point into data of sizes {x.sizes}")
    count, each = indices.desc.element_count // depth, prod(x.sizes[depth:])
    if updates.desc.element_count != count * each:
        raise c.error(f"updates of sizes {updates.sizes} do not fit indices {indices.sizes} and data {x.sizes}")
    places = op.split(indices.reshape(count, depth), 1, [1] * depth)
    flat = _counted(places[0], x.sizes[0])
    for at in range(1, depth):
        flat = flat * x.sizes[at] + _counted(places[at], x.sizes[at])
    rows = x.reshape(prod(x.sizes[:depth]), each)
    return _reduced(c, reduction, rows, flat, updates.reshape(count, each)).reshape(*x.sizes)


def _reduction(c: IrContext, lacking: str) -> str:
    found = c.layer.text("reduction", "none")
    choices = ["none", *(name for name in _REDUCTIONS if name != lacking)]
    if found not in choices:
        raise c.error(f"reduction {found!r} is not one of {', '.join(choices)}")
    return found


def _counted(indices: Tensor, size: int) -> Tensor:
    """From the front, as INT32."""
    whole = indices if indices.data_type == INT32 else op.cast(indices, INT32)
    return op.if_(op.less_than(whole, 0), whole + size, whole)


def _reduced(c: IrContext, reduction: str, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """x {D, C}, with each of the updates {K, C} reduced into the row that its index {K, C or 1} says.

    Every row is compared with every index, so that equal indices need no order; as many at a time as there is room for.
    """
    function, combine = _REDUCTIONS[reduction]
    own_counts = c.layer.flag("use_init_val", True)
    if reduction == "mean" and x.desc.dtype.kind != "f":
        raise DMLError(f"{c.layer}: means of {x.desc.dtype} are not supported", HRESULT.DXGI_ERROR_UNSUPPORTED)
    rows, columns = x.sizes
    parts = -(-indices.sizes[0] // max(1, _PAIRS // (rows * columns)))
    if parts > _PARTS:
        raise DMLError(f"{c.layer}: {updates.sizes} updates of {x.sizes} are too many", HRESULT.DXGI_ERROR_UNSUPPORTED)
    nothing = c.graph.constant(np.full((1, 1, 1), _neutral(reduction, x.desc.dtype)), x.data_type)
    row = c.graph.constant(np.arange(rows).reshape(rows, 1, 1), INT32)
    each = -(-indices.sizes[0] // parts)
    made = hits = None
    for first in range(0, indices.sizes[0], each):
        some = min(each, indices.sizes[0] - first)
        here, new = (op.slice_(t, (first, 0), (some, t.sizes[1])) for t in (indices, updates))
        sizes = (rows, some, columns)
        hit = op.equals(row.broadcast(sizes), here.reshape(1, some, here.sizes[1]).broadcast(sizes))
        chosen = op.if_(hit, new.reshape(1, some, columns).broadcast(sizes), nothing)
        gathered = op.reduce(chosen, function, [1]).reshape(rows, columns)
        counted = op.reduce(op.cast(hit, enums.DML_TENSOR_DATA_TYPE_FLOAT32), enums.DML_REDUCE_FUNCTION_SUM, [1])
        counted = counted.reshape(rows, columns)
        made = gathered if made is None else _REDUCTIONS["sum" if reduction == "sub" else reduction][1](made, gathered)
        hits = counted if hits is None else hits + counted
    assert made is not None  # (there is one part at least)
    assert hits is not None
    whole = combine(x if own_counts else nothing.reshape(1, 1).broadcast(x.sizes), made)
    if reduction == "mean":
        divisor = hits + 1.0 if own_counts else hits
        whole = whole / (divisor if divisor.data_type == x.data_type else op.cast(divisor, x.data_type))
    return op.if_(op.greater_than(hits, 0), whole, x)


def _neutral(reduction: str, dtype: np.dtype[Any]) -> float:
    if reduction not in ("max", "min"):
        return float(reduction == "prod")
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    return lowest if reduction == "max" else highest
