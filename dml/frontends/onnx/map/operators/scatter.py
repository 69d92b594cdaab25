"""Scatters: DirectML's, which replace elements, and those that reduce (``dml.frontends.meaning.scatter``)."""

from __future__ import annotations

import numpy as np

import dml.graph.operations as op
from dml.frontends.meaning.scatter import reduced_elements, reduced_parts, replaced_elements
from dml.shapes import with_size

from ...dtypes import INT32
from ...registry import onnx_op
from .. import folds
from ..node import OnnxNode
from ..value import OnnxValue, applied, binary, cast, expanded, reshape

#: ONNX's name of a reduction -> that of ``dml.frontends.meaning.scatter``.
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


@onnx_op("Scatter")
@onnx_op("ScatterElements", fold=folds.REFERENCE)
def scatter_elements(node: OnnxNode) -> OnnxValue:
    x, indices, updates = node.input(0), node.input(1), node.input(2)
    axis = node.axis("axis", 0, x.rank)
    node.check(
        x.rank == indices.rank and indices.shape == updates.shape,
        f"data, indices and updates must have one rank, indices and updates one shape, found {x.shape}, "
        f"{indices.shape} and {updates.shape}",
    )
    if not indices.size or not x.size:
        return x
    if _reduction(node) == "none":
        return applied(replaced_elements, x, x.shape, indices, updates, axis)
    reduction = _REDUCTIONS[_reduction(node)]
    return x.with_tensor(reduced_elements(x.tensor, cast(indices, INT32).tensor, updates.tensor, axis, reduction))


@onnx_op("ScatterND", since=11, fold=folds.REFERENCE)
def scatter_nd(node: OnnxNode) -> OnnxValue:
    x, indices, updates = node.input(0), node.input(1, least=1), node.input(2)
    if not indices.size or not x.size:
        return x
    depth = indices.shape[-1]
    node.check(depth <= x.rank, f"the last size of indices must be at most {x.rank}, found shape {indices.shape}")
    wanted = (*indices.shape[:-1], *x.shape[depth:])
    node.check(updates.shape == wanted, f"updates must have shape {wanted}, found {updates.shape}")
    if _reduction(node) != "none":
        reduction = _REDUCTIONS[_reduction(node)]
        return x.with_tensor(reduced_parts(x.tensor, cast(indices, INT32).tensor, updates.tensor, reduction))
    return applied(op.scatter_nd, x, x.shape, indices, updates)


@onnx_op("TensorScatter", since=24)
def tensor_scatter(node: OnnxNode) -> OnnxValue:
    """Write steps into a cache along an axis, beginning at each batch element's own index."""
    x, updates, first = node.input(0, least=2), node.input(1), node.optional(2)
    axis = node.axis("axis", -2, x.rank)
    length = x.shape[axis]
    circular = node.one_of("mode", "linear", ("linear", "circular")) == "circular"
    node.check(axis > 0, "axis must not be 0, the batch axis")
    fits = updates.rank == x.rank and updates.shape[axis] <= length
    node.check(
        fits and with_size(updates.shape, axis, length) == x.shape,
        f"an update of shape {updates.shape} does not fit a cache of shape {x.shape}",
    )
    if not updates.size:
        return x
    ones = [1] * x.rank
    places = node.constant(np.arange(updates.shape[axis], dtype=np.int32).reshape(with_size(ones, axis, -1)))
    if first is not None:
        node.check(
            first.shape == x.shape[:1],
            f"write_indices must have one number for each batch element, found shape {first.shape}",
        )
        places = places + reshape(cast(first, INT32), with_size(ones, 0, x.shape[0]))
    if circular:
        places = binary(op.modulus_floor, places, places.filled(length))
    return applied(op.scatter_elements, x, x.shape, expanded(places, updates.shape), updates, axis)


def _reduction(node: OnnxNode) -> str:
    return node.one_of("reduction", "none", ("none", *_REDUCTIONS))
