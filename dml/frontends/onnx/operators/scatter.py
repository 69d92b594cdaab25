"""Scatters. DirectML's write; those that reduce are made of comparisons and reductions."""

from __future__ import annotations

from math import prod

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.movement import DML_SCATTER_ND_OPERATOR_DESC, DML_SCATTER_OPERATOR_DESC
from dml.shapes import with_rank, with_size

from ..dtypes import INT32, DType
from ..functions import part, reduce, resized, total
from ..node import OnnxNode, Unsupported
from ..registry import onnx_op
from ..value import OnnxValue, binary, cast, expanded, maximum, minimum, one, reshape, transpose, where

_FUNCTIONS = {
    "add": enums.DML_REDUCE_FUNCTION_SUM,
    "mul": enums.DML_REDUCE_FUNCTION_MULTIPLY,
    "max": enums.DML_REDUCE_FUNCTION_MAX,
    "min": enums.DML_REDUCE_FUNCTION_MIN,
}
#: A reduction compares every update with every row, in tensors of _PAIRS elements; more than _PARTS are too many.
_PAIRS, _PARTS = 2**24, 256


@onnx_op("Scatter", "ScatterElements")
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
        return one(
            DML_SCATTER_OPERATOR_DESC, x, x.shape,
            InputTensor=x, IndicesTensor=indices, UpdatesTensor=updates, Axis=axis,
        )  # fmt: skip
    order = (axis, *(at for at in range(x.rank) if at != axis))
    x, indices, updates = (transpose(value, order) for value in (x, indices, updates))
    indices = _counted_from_zero(cast(indices, INT32), x.shape[0])
    for at in range(1, x.rank):  # filled up with index -1, which is no row's
        indices, updates = resized(indices, at, x.shape[at], -1), resized(updates, at, x.shape[at])
    rows, columns = indices.shape[0], prod(x.shape[1:])
    made = _reduced(
        node, reshape(x, (x.shape[0], columns)), reshape(indices, (rows, columns)), reshape(updates, (rows, columns))
    )
    return transpose(reshape(made, x.shape), np.argsort(order).tolist())


@onnx_op("ScatterND", since=11)
def scatter_nd(node: OnnxNode) -> OnnxValue:
    x, indices, updates = node.input(0), node.input(1, least=1), node.input(2)
    if not indices.size or not x.size:
        return x
    depth = indices.shape[-1]
    node.check(depth <= x.rank, f"indices of shape {indices.shape} do not point into a tensor of shape {x.shape}")
    wanted = (*indices.shape[:-1], *x.shape[depth:])
    node.check(updates.shape == wanted, f"updates must have shape {wanted}, found {updates.shape}")
    if _reduction(node) != "none":
        rows, each = indices.size // depth, prod(x.shape[depth:])
        sizes = node.constant(np.array(x.shape[:depth], np.int32))
        steps = node.constant(np.array([prod(x.shape[at + 1 : depth]) for at in range(depth)], np.int32))
        first = _counted_from_zero(reshape(cast(indices, INT32), (rows, depth)), sizes)
        made = _reduced(
            node, reshape(x, (prod(x.shape[:depth]), each)), total(first * steps, [1]), reshape(updates, (rows, each))
        )
        return reshape(made, x.shape)
    rank = max(x.rank, indices.rank, updates.rank)
    made = one(
        DML_SCATTER_ND_OPERATOR_DESC,
        x,
        with_rank(x.shape, rank),
        InputTensor=reshape(x, with_rank(x.shape, rank)),
        IndicesTensor=reshape(indices, with_rank(indices.shape, rank)),
        UpdatesTensor=reshape(updates, with_rank(updates.shape, rank)),
        InputDimensionCount=x.rank,
        IndicesDimensionCount=indices.rank,
    )
    return reshape(made, x.shape)


@onnx_op("TensorScatter", since=24)
def tensor_scatter(node: OnnxNode) -> OnnxValue:
    """Steps put into a cache along an axis, those of each batch from an index of its own on."""
    x, updates, first = node.input(0, least=2), node.input(1), node.optional(2)
    axis = node.axis("axis", -2, x.rank)
    length = x.shape[axis]
    circular = node.one_of("mode", "linear", ("linear", "circular")) == "circular"
    node.check(axis > 0, "axis 0 is that of the batches")
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
        node.check(first.shape == x.shape[:1], f"write_indices must be one for each batch, found {first.shape}")
        places = places + reshape(cast(first, INT32), with_size(ones, 0, x.shape[0]))
    if circular:
        places = binary(op.modulus_floor, places, places.filled(length))
    return one(
        DML_SCATTER_OPERATOR_DESC, x, x.shape,
        InputTensor=x, IndicesTensor=expanded(places, updates.shape), UpdatesTensor=updates, Axis=axis,
    )  # fmt: skip


def _reduction(node: OnnxNode) -> str:
    return node.one_of("reduction", "none", ("none", *_FUNCTIONS))


def _counted_from_zero(indices: OnnxValue, size: OnnxValue | int) -> OnnxValue:
    return where(indices < 0, indices + size, indices)


def _reduced(node: OnnxNode, x: OnnxValue, indices: OnnxValue, updates: OnnxValue) -> OnnxValue:
    """x {D, C}, with each of the updates {K, C} reduced into the row that its index {K, C or 1} says.

    Every row is compared with every index, so that equal indices need no order; as many at a time as there is room for.
    """
    reduction = node.text("reduction", "none")
    rows, columns = x.shape
    none = x.filled(_neutral(reduction, x.dtype))
    own = node.constant(np.arange(rows, dtype=np.int32).reshape(rows, 1, 1))
    count = max(1, _PAIRS // (rows * columns))
    if -(-indices.shape[0] // count) > _PARTS:
        raise Unsupported(f"{node}: reduction {reduction!r} of {updates.shape} updates into {x.shape} is too large")
    for first in range(0, indices.shape[0], count):
        some = min(count, indices.shape[0] - first)
        here = part(indices, 0, first, some)
        hit = own.equals(reshape(here, (1, *here.shape)))
        new = reshape(part(updates, 0, first, some), (1, some, columns))
        found = where(expanded(hit, (rows, some, columns)), new, none)
        gathered = reduce(found, _FUNCTIONS[reduction], [1], keep=False)
        x = {"add": OnnxValue.__add__, "mul": OnnxValue.__mul__, "max": maximum, "min": minimum}[reduction](x, gathered)
    return x


def _neutral(reduction: str, dtype: DType) -> float:
    if reduction in ("add", "mul"):
        return float(reduction == "mul")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduction == "max" else limits.max
    return -np.inf if reduction == "max" else np.inf
