"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import padding
from dml.graph.builder import Tensor
from dml.shapes import covered_size, pooled_sizes, replaced, window_reach, with_size, with_spatial


@layer("Convolution", "GroupConvolution")
def convolution(c: IrContext) -> IrValue:
    x, w, groups = _operands(c)
    window = w.sizes[2:]
    strides, dilations = c.each("strides", len(window), 1), c.each("dilations", len(window), 1)
    start, end = padding(c, x.sizes[2:], window, strides, dilations)
    y = op.convolution(
        *_flat(x, w), strides=_two(strides, 1), dilations=_two(dilations, 1), start_padding=_two(start, 0),
        end_padding=_two(end, 0), groups=groups,
    )  # fmt: skip
    return y.view(c.sizes)


def _operands(c: IrContext) -> tuple[Tensor, Tensor, int]:
    """Return a convolution's input, its filter with the groups merged into its first dimension, and the number of
    groups."""
    grouped = c.layer.type.startswith("Group")
    x, w, groups = c.tensor(0), c.tensor(1, least=3 + grouped), 1
    if grouped:
        groups = w.sizes[0]
        w = w.packed().view((groups * w.sizes[1], *w.sizes[2:]))
    if not x.rank == w.rank == len(c.sizes):
        raise c.error(f"sizes {x.sizes} and a filter of {c.tensor(1).sizes} cannot give {c.sizes}")
    return x, w, groups


def _flat(*tensors: Tensor) -> list[Tensor]:
    """Return the tensors with two spatial dimensions; a single one is preceded by one of size 1."""
    return [t if t.rank != 3 else t.view(with_spatial(t.sizes, 2), with_spatial(t.desc.strides, 2, 0)) for t in tensors]


def _two(values: Sequence[int], other: int) -> list[int]:
    return [other, *values] if len(values) == 1 else list(values)


@layer("ConvolutionBackpropData", "GroupConvolutionBackpropData")
def transposed_convolution(c: IrContext) -> IrValue:
    """Crop the full output, as given or by auto_pad; output padding fills up to the output's sizes."""
    x, w, groups = _operands(c)
    window = w.sizes[2:]
    strides, dilations = c.each("strides", len(window), 1), c.each("dilations", len(window), 1)
    auto = c.layer.text("auto_pad", "explicit")
    given = c.each("pads_begin", len(window), 0)
    start, end, more = [], [], []
    for size, wanted, taps, step, gap, pad in zip(
        x.sizes[2:], c.sizes[2:], window, strides, dilations, given, strict=True
    ):
        rest = covered_size(size, window_reach(taps, gap), step) - wanted
        before = pad if auto == "explicit" else 0 if auto == "valid" else max(0, rest) // 2
        if auto == "same_upper":
            before = max(0, rest) - before
        start.append(before)
        end.append(max(0, rest - before))
        more.append(max(0, before - rest))
    y = op.transposed_convolution(
        *_flat(x, w), strides=_two(strides, 1), dilations=_two(dilations, 1), start_padding=_two(start, 0),
        end_padding=_two(end, 0), output_padding=_two(more, 0), groups=groups,
    )  # fmt: skip
    return y.view(c.sizes)


def _pooled(c: IrContext, x: Tensor) -> dict[str, Any]:
    """Return the arguments of every pooling; output_sizes already contain the rounding."""
    window = c.layer.integers("kernel")
    strides, dilations = (c.layer.integers(name) or [1] * len(window) for name in ("strides", "dilations"))
    start, end = padding(c, x.sizes[2:], window, strides, dilations)
    return {
        "window": _two(window, 1), "strides": _two(strides, 1), "dilations": _two(dilations, 1),
        "start_padding": _two(start, 0), "end_padding": _two(end, 0), "output_sizes": _two(c.sizes[2:], 1),
    }  # fmt: skip


@layer("MaxPool")
def max_pool(c: IrContext) -> IrValue | Sequence[IrValue]:
    x = c.tensor(0)
    (flat,) = _flat(x)
    shared = _pooled(c, x)
    indices: Tensor | None = None
    if 1 in c.read:
        values, indices = op.max_pooling_with_indices(flat, **shared)
    else:
        values = op.max_pooling(flat, **shared)
    lasts = zip(shared["output_sizes"], shared["strides"], shared["start_padding"], flat.sizes[2:], strict=True)
    # Rounding up may add windows beyond the input. OpenVINO gives them the lowest finite number; DirectML does so only
    # for integers.
    is_beyond = any((count - 1) * step - pad >= size for count, step, pad, size in lasts)
    if is_beyond and values.desc.dtype.kind == "f":
        values = op.maximum(values, float(np.finfo(values.desc.dtype).min))
    if indices is None:
        return values.view(c.sizes)
    if is_beyond:
        planes = np.arange(prod(flat.sizes[:2]), dtype=np.uint32) * prod(flat.sizes[2:])
        first = c.graph.constant(planes.reshape(*flat.sizes[:2], 1, 1))  # OpenVINO's index where there is no element
        indices = op.if_(op.equals(indices, 2**32 - 1), first, indices)
    axis = c.axis(c.layer.integer("axis", 0), x.rank)
    if axis:  # OpenVINO counts starting at dimension ``axis``, DirectML through the whole input
        indices = op.modulus_truncate(indices, prod(x.sizes[axis:]))
    return [values.view(c.sizes), c.converted(indices.view(c.sizes), 1)]


@layer("AvgPool")
def average_pool(c: IrContext) -> IrValue:
    x = c.tensor(0)
    (flat,) = _flat(x)
    shared, counts = _pooled(c, x), not c.layer.flag("exclude-pad")
    if counts and c.layer.text("rounding_type", "floor") == "ceil":
        names = ("window", "strides", "dilations", "start_padding", "end_padding")
        if pooled_sizes(flat.sizes, *(shared[name] for name in names))[2:] != tuple(shared["output_sizes"]):
            # OpenVINO's kernels disagree about the divisor here; with ceil_torch they divide as PyTorch does
            raise c.error('rounding_type ceil is not supported with exclude-pad="false"')
    return op.average_pooling(flat, **shared, include_padding=counts).view(c.sizes)


@layer("AdaptiveAvgPool", "AdaptiveMaxPool")
def adaptive_pool(c: IrContext) -> IrValue:
    """Compute the average or maximum over ranges that cover each spatial dimension, one dimension at a time."""
    c.check(1 not in c.read, "its output of indices is not supported")
    x = c.tensor(0)
    means = c.layer.type == "AdaptiveAvgPool"
    function = enums.DML_REDUCE_FUNCTION_AVERAGE if means else enums.DML_REDUCE_FUNCTION_MAX
    for axis in range(2, x.rank):
        size, count = x.sizes[axis], c.sizes[axis]
        if count == size:
            continue
        if size % count == 0:
            ranges = x.reshape(*replaced(x.sizes, axis, (count, size // count)))
            x = op.reduce(ranges, function, [axis + 1]).reshape(*with_size(x.sizes, axis, count))
            continue
        parts = []
        for k in range(count):
            first, last = k * size // count, -(-(k + 1) * size // count)
            part = op.slice_(x, with_size([0] * x.rank, axis, first), with_size(x.sizes, axis, last - first))
            parts.append(op.reduce(part, function, [axis]))
        x = op.join(parts, axis)
    return x
