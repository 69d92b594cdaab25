"""Elements written to indexed places, or reduced into the values there."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml.errors import HRESULT, DMLError
from dml.frontends.meaning.scatter import REDUCTIONS, reduced_elements, reduced_parts, replaced_elements
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.shapes import replaced


@layer("ScatterUpdate")
def scatter_update(c: IrContext) -> IrValue:
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    axis = c.axis(c.integer(3), x.rank)
    sizes = replaced(x.sizes, axis, (indices.desc.element_count,))
    ones = (1,) * (x.rank - axis - 1)
    chosen = indices.reshape(indices.desc.element_count, *ones).broadcast(sizes)
    return op.scatter_elements(x, chosen.packed(), updates.reshape(*sizes), axis)


@layer("ScatterElementsUpdate")
def scatter_elements_update(c: IrContext) -> IrValue:
    """Write or reduce updates along the axis; each column has its own indices."""
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    axis, reduction = c.axis(c.integer(3), x.rank), _reduction(c, "sub")
    fits = all(
        index == axis or size <= whole for index, (size, whole) in enumerate(zip(indices.sizes, x.sizes, strict=False))
    )
    if indices.rank != x.rank or indices.sizes != updates.sizes or not fits:
        raise c.error(f"indices {indices.sizes} and updates {updates.sizes} do not fit data {x.sizes}")
    if reduction == "none":
        return replaced_elements(x, indices, updates, axis)
    return reduced_elements(x, indices, updates, axis, reduction, use_initial=_takes_initial(c, reduction, x))


@layer("ScatterNDUpdate")
def scatter_nd_update(c: IrContext) -> IrValue:
    x, indices, updates = c.tensor(0), c.tensor(1), c.tensor(2)
    reduction = _reduction(c, "mean")
    if reduction == "none":
        return op.scatter_nd(x, indices, updates)
    depth = indices.sizes[-1]
    c.check(depth <= x.rank, f"the last size of indices must be at most {x.rank}, found sizes {indices.sizes}")
    count, each = indices.desc.element_count // depth, prod(x.sizes[depth:])
    if updates.desc.element_count != count * each:
        raise c.error(f"updates of sizes {updates.sizes} do not fit indices {indices.sizes} and data {x.sizes}")
    return reduced_parts(x, indices, updates, reduction, use_initial=_takes_initial(c, reduction, x))


def _takes_initial(c: IrContext, reduction: str, x: Tensor) -> bool:
    if reduction == "mean" and x.desc.dtype.kind != "f":
        raise DMLError(f"{c.layer}: means of {x.desc.dtype} are not supported", HRESULT.DXGI_ERROR_UNSUPPORTED)
    return c.layer.flag("use_init_val", True)


def _reduction(c: IrContext, lacking: str) -> str:
    found = c.layer.text("reduction", "none")
    choices = ["none", *(name for name in REDUCTIONS if name != lacking)]
    c.check(found in choices, f"reduction {found!r} is not one of {', '.join(choices)}")
    return found
