"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor
from dml.shapes import same_padding, window_reach, with_spatial


def _padding(c: IrContext, x: Tensor, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Any:
    """Start and end padding, as given or by auto_pad."""
    start, end = c.layer.integers("pads_begin"), c.layer.integers("pads_end")
    auto = c.layer.text("auto_pad", "explicit")
    if auto == "valid":
        return [0] * len(window), [0] * len(window)
    if auto in ("same_upper", "same_lower"):
        start, end = [], []
        for size, w, s, d in zip(x.sizes[2:], window, strides, dilations, strict=True):
            total = same_padding(size, window_reach(w, d), s)
            small, large = total // 2, total - total // 2
            start.append(small if auto == "same_upper" else large)
            end.append(large if auto == "same_upper" else small)
    return start, end


@layer("Convolution", "GroupConvolution")
def convolution(c: IrContext) -> IrValue:
    x, w = c.tensor(0), c.tensor(1)
    groups = 1
    if c.layer.type == "GroupConvolution":
        groups = w.sizes[0]
        w = w.packed().view((groups * w.sizes[1], *w.sizes[2:]))
    window = w.sizes[2:]
    strides = c.layer.integers("strides") or [1] * len(window)
    dilations = c.layer.integers("dilations") or [1] * len(window)
    start, end = _padding(c, x, window, strides, dilations)
    y = op.convolution(
        *_flat(x, w), strides=_two(strides, 1), dilations=_two(dilations, 1), start_padding=_two(start, 0),
        end_padding=_two(end, 0), groups=groups,
    )  # fmt: skip
    return y.view(c.sizes)


def _flat(*tensors: Tensor) -> list[Tensor]:
    """One spatial dimension becomes two, of which the first has size 1."""
    made = []
    for t in tensors:
        made.append(t if t.rank != 3 else t.view(with_spatial(t.sizes, 2), with_spatial(t.desc.strides, 2, 0)))
    return made


def _two(values: Sequence[int], other: int) -> list[int]:
    return [other, *values] if len(values) == 1 else list(values)


@layer("MaxPool")
def max_pool(c: IrContext) -> IrValue | Sequence[IrValue]:
    x = c.tensor(0)
    window, strides = c.layer.integers("kernel"), c.layer.integers("strides")
    dilations = c.layer.integers("dilations") or [1] * len(window)
    start, end = _pool_padding(c, x, window, strides, dilations)
    (flat,) = _flat(x)
    y = op.max_pooling(
        flat, _two(window, 1), strides=_two(strides, 1), start_padding=_two(start, 0), end_padding=_two(end, 0),
        dilations=_two(dilations, 1),
    )  # fmt: skip
    return y.view(c.sizes)


@layer("AvgPool")
def average_pool(c: IrContext) -> IrValue:
    x = c.tensor(0)
    window, strides = c.layer.integers("kernel"), c.layer.integers("strides")
    start, end = _pool_padding(c, x, window, strides, [1] * len(window))
    (flat,) = _flat(x)
    y = op.average_pooling(
        flat, _two(window, 1), strides=_two(strides, 1), start_padding=_two(start, 0), end_padding=_two(end, 0),
        include_padding=not c.layer.flag("exclude-pad"),
    )  # fmt: skip
    return y.view(c.sizes)


def _pool_padding(
    c: IrContext, x: Tensor, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """As for convolutions; rounding up is more padding at the end, up to the output's own sizes."""
    start, end = _padding(c, x, window, strides, dilations)
    spatial = zip(c.sizes[2:], x.sizes[2:], window, strides, dilations, start, end, strict=True)
    needed = [max(e, (o - 1) * s + (w - 1) * d + 1 - size - b) for o, size, w, s, d, b, e in spatial]
    if needed != list(end) and c.layer.type == "AvgPool" and not c.layer.flag("exclude-pad"):
        raise c.error("rounding up with counted padding is not supported")
    return list(start), needed
