"""Shapes, and layers that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer, sizes_of
from dml.frontends.openvino.sizes import strided_slices, taken
from dml.graph.builder import Tensor
from dml.shapes import broadcast_sizes, with_rank, with_size


@layer("ShapeOf")
def shape_of(c: IrContext) -> IrValue:
    return np.array(sizes_of(c.value(0)), c.dtype)


@layer("Reshape", "Squeeze", "Unsqueeze")
def reshape(c: IrContext) -> IrValue:
    value = c.value(0)
    if isinstance(value, Tensor):
        return value.reshape(*c.sizes)
    return c.on_numbers(np.reshape, value, c.layer.outputs[0].sizes)


@layer("Transpose")
def transpose(c: IrContext) -> IrValue:
    value = c.value(0)
    return value.transpose(*(c.integers(1) or range(len(sizes_of(value)))[::-1]))


@layer("Broadcast")
def broadcast(c: IrContext) -> IrValue:
    x = c.tensor(0)
    if c.layer.text("mode", "numpy") == "explicit":
        axes = c.integers(2)
        x = x.reshape(*(x.sizes[axes.index(d)] if d in axes else 1 for d in range(len(c.sizes))))
    return x.broadcast(broadcast_sizes(x.sizes, c.sizes))


@layer("Tile")
def tile(c: IrContext) -> IrValue:
    x, repeats = c.tensor(0), c.integers(1)
    rank = max(x.rank, len(repeats))
    x = x.reshape(*with_rank(x.sizes, rank))
    return op.tile(x, [1] * (rank - len(repeats)) + repeats)


@layer("Concat")
def concat(c: IrContext) -> IrValue:
    if not any(isinstance(value, Tensor) for value in c.values):
        return c.on_numbers(np.concatenate, [np.asarray(value) for value in c.values], c.layer.integer("axis"))
    parts = [value for value in c.values if 0 not in sizes_of(value)]
    return op.join([c.as_tensor(value) for value in parts], c.layer.integer("axis"))


@layer("Split")
def split(c: IrContext) -> Sequence[IrValue]:
    x, count = c.tensor(0), c.layer.integer("num_splits")
    axis = c.axis(c.integer(1), x.rank)
    if count < 1 or x.sizes[axis] % count:
        raise c.error(f"num_splits {count} does not divide the size {x.sizes[axis]} of axis {axis}")
    return op.split(x, axis, [x.sizes[axis] // count] * count)


@layer("VariadicSplit")
def variadic_split(c: IrContext) -> Sequence[IrValue]:
    x, lengths = c.tensor(0), c.integers(2)
    axis = c.axis(c.integer(1), x.rank)
    rest = x.sizes[axis] - sum(length for length in lengths if length >= 0)
    lengths = [rest if length < 0 else length for length in lengths]
    parts = iter(op.split(x, axis, [length for length in lengths if length]))
    return [next(parts) if length else np.zeros(with_size(x.sizes, axis, 0), c.dtype) for length in lengths]


@layer("Slice")
def slice_(c: IrContext) -> IrValue:
    x = c.tensor(0)
    starts, stops, steps = c.integers(1), c.integers(2), c.integers(3)
    axes = c.integers(4) if len(c.values) > 4 else list(range(len(starts)))
    if not len(starts) == len(stops) == len(steps) == len(axes):
        raise c.error(
            f"starts, stops, steps and axes must be equally long, found {starts}, {stops}, {steps} and {axes}"
        )
    each = zip(axes, starts, stops, steps, strict=True)
    return _window(c, x, {c.axis(axis, x.rank): slice(*bounds) for axis, *bounds in each})


def _window(c: IrContext, x: Tensor, slices: dict[int, slice]) -> Tensor:
    """Return x[slices]."""
    offsets, sizes, strides = [0] * x.rank, list(x.sizes), [1] * x.rank
    for axis, bounds in slices.items():
        chosen = taken(bounds, x.sizes[axis]) if bounds.step != 0 else range(0)
        c.check(bool(chosen), f"{bounds} selects no element of dimension {axis} of sizes {x.sizes}")
        first, last = (chosen[0], chosen[-1]) if chosen.step > 0 else (chosen[-1], chosen[0])
        offsets[axis], sizes[axis], strides[axis] = first, last - first + 1, chosen.step
    return op.slice_(x, offsets, sizes, strides)


@layer("StridedSlice")
def strided_slice(c: IrContext) -> IrValue:
    value = c.value(0)
    x = value if isinstance(value, Tensor) else np.asarray(value)
    sizes = sizes_of(x)
    slices, kept = strided_slices(c, sizes)
    if isinstance(x, Tensor):
        return _window(c, x, slices).reshape(*c.sizes)
    chosen = np.ix_(*(taken(slices.get(axis, slice(None)), size) for axis, size in enumerate(sizes)))
    return c.on_numbers(lambda: x[chosen].reshape(kept))


@layer("Pad")
def pad(c: IrContext) -> IrValue:
    modes = {
        "constant": enums.DML_PADDING_MODE_CONSTANT,
        "edge": enums.DML_PADDING_MODE_EDGE,
        "reflect": enums.DML_PADDING_MODE_REFLECTION,
        "symmetric": enums.DML_PADDING_MODE_SYMMETRIC,
    }
    mode = c.layer.text("pad_mode")
    c.check(mode in modes, f"pad_mode {mode!r} is not one of {', '.join(modes)}")
    x, start, end = c.tensor(0), c.integers(1), c.integers(2)
    if min(start + end, default=0) < 0:  # negative padding crops
        if mode not in ("constant", "edge"):
            raise c.error(f"negative padding is not supported with pad_mode {mode!r}, found {start} and {end}")
        bounds = zip(x.sizes, start, end, strict=True)
        x = _window(c, x, {index: slice(max(0, -s), size + min(0, e)) for index, (size, s, e) in enumerate(bounds)})
        start, end = ([max(0, count) for count in counts] for counts in (start, end))
    value = c.single(3).item() if len(c.values) > 3 else 0
    return op.padding(x, start, end, modes[mode], int(value) if isinstance(value, bool) else value)


@layer("ReverseSequence")
def reverse_sequence(c: IrContext) -> IrValue:
    x = c.tensor(0)
    batch, axis = (c.axis(c.layer.integer(f"{name}_axis", d), x.rank) for name, d in (("batch", 0), ("seq", 1)))
    return reverse_subsequences(c.graph, x, c.value(1), batch, axis)


def reverse_subsequences(graph: Any, x: Tensor, lengths: IrValue, batch: int, axis: int) -> Tensor:
    """Reverse the first lengths[b] elements along ``axis``, for each b along ``batch``."""
    if isinstance(lengths, Tensor):
        signed = (enums.DML_TENSOR_DATA_TYPE_INT32, enums.DML_TENSOR_DATA_TYPE_INT64)
        kind = enums.DML_TENSOR_DATA_TYPE_UINT32
        counts = op.cast(lengths, kind) if lengths.data_type in signed else lengths
    else:
        counts = graph.constant(np.asarray(lengths).astype(np.uint32))
    sizes = with_size(x.sizes, axis, 1)
    strides = tuple(1 if d == batch else 0 for d in range(x.rank))
    counts = counts.packed().view(sizes, strides)
    return op.reverse_subsequences(x, counts, axis)


@layer("Reverse")
def reverse(c: IrContext) -> IrValue:
    """Reverse along axes, given by number or marked in a mask."""
    x, mode = c.tensor(0), c.layer.text("mode")
    c.check(mode in ("index", "mask"), f"mode {mode!r} is not index or mask")
    marks = np.ravel(c.known(1))
    axes = {c.axis(int(axis), x.rank) for axis in (marks if mode == "index" else np.flatnonzero(marks))}
    strides = [-1 if axis in axes else 1 for axis in range(x.rank)]
    return op.slice_(x, [0] * x.rank, list(x.sizes), strides) if axes else x


@layer("Identity")
def identity(c: IrContext) -> IrValue:
    return c.value(0)
