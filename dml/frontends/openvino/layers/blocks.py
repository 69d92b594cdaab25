"""Blocks of elements moved between dimensions: a reshape, a transposition and another reshape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import size_rule
from dml.graph.builder import Tensor
from dml.shapes import padded_sizes


def _depth_first(c: IrContext) -> bool:
    mode = c.layer.text("mode")
    c.check(mode in ("blocks_first", "depth_first"), f"mode {mode!r} is not blocks_first or depth_first")
    return mode == "depth_first"


@layer("DepthToSpace")
def depth_to_space(c: IrContext) -> IrValue:
    x, block = c.tensor(0), c.layer.integer("block_size", 1)
    count = x.rank - 2
    if block < 1 or x.sizes[1] % block**count:
        raise c.error(f"block_size {block} does not divide the {x.sizes[1]} channels into blocks")
    depth, blocks, spatial = x.sizes[1] // block**count, (block,) * count, range(count)
    if _depth_first(c):
        y, first, channels = x.reshape(x.sizes[0], depth, *blocks, *x.sizes[2:]), 2, 1
    else:
        y, first, channels = x.reshape(x.sizes[0], *blocks, depth, *x.sizes[2:]), 1, count + 1
    return y.transpose(0, channels, *(d for k in spatial for d in (count + 2 + k, first + k))).reshape(*c.sizes)


@layer("SpaceToDepth")
def space_to_depth(c: IrContext) -> IrValue:
    x, block = c.tensor(0), c.layer.integer("block_size", 1)
    if block < 1 or any(size % block for size in x.sizes[2:]):
        raise c.error(f"block_size {block} does not divide the sizes {x.sizes[2:]}")
    y = x.reshape(*x.sizes[:2], *(part for size in x.sizes[2:] for part in (size // block, block)))
    inner, outer = range(3, y.rank, 2), range(2, y.rank, 2)
    order = (0, 1, *inner, *outer) if _depth_first(c) else (0, *inner, 1, *outer)
    return y.transpose(*order).reshape(*c.sizes)


@layer("SpaceToBatch")
def space_to_batch(c: IrContext) -> IrValue:
    x, blocks, start, end = c.tensor(0), c.integers(1), c.integers(2), c.integers(3)
    if any(start + end):
        x = op.padding(x, start, end)
    if min(blocks) < 1 or blocks[0] != 1 or any(size % block for size, block in zip(x.sizes, blocks, strict=True)):
        raise c.error(f"block_shape {blocks} does not divide the padded sizes {x.sizes}")
    parts: list[int] = []
    inner, outer = [], []
    for size, block in zip(x.sizes, blocks, strict=True):
        outer.append(len(parts))
        parts.append(size // block)
        if block > 1:  # dimensions with blocks of one are not split: a tensor has eight dimensions at most
            inner.append(len(parts))
            parts.append(block)
    return x.reshape(*parts).transpose(*inner, *outer).reshape(*c.sizes)


@layer("BatchToSpace")
def batch_to_space(c: IrContext) -> IrValue:
    x, blocks, start, end = c.tensor(0), c.integers(1), c.integers(2), c.integers(3)
    if min(blocks) < 1 or blocks[0] != 1 or x.sizes[0] % prod(blocks):
        raise c.error(f"block_shape {blocks} does not divide the batch of {x.sizes[0]}")
    inner = [axis for axis, block in enumerate(blocks) if block > 1]
    sizes = (x.sizes[0] // prod(blocks), *x.sizes[1:])
    order = [d for axis in range(x.rank) for d in (len(inner) + axis, *([inner.index(axis)] if axis in inner else []))]
    whole = [size * block for size, block in zip(sizes, blocks, strict=True)]
    y = x.reshape(*(blocks[axis] for axis in inner), *sizes).transpose(*order).reshape(*whole)
    return op.slice_(y, start, c.sizes) if any(start + end) else y


@size_rule("SpaceToBatch", "BatchToSpace")
def _batch_sizes(c: IrContext, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
    x, blocks, start, end = inputs[0], c.integers(1), c.integers(2), c.integers(3)
    if c.layer.type == "SpaceToBatch":
        padded = padded_sizes(x, start, end)
        _, *spatial = (size // block for size, block in zip(padded, blocks, strict=True))
        return (padded[0] * prod(blocks), *spatial)
    batch, *spatial = (size * block - a - b for size, block, a, b in zip(x, blocks, start, end, strict=True))
    return (batch // prod(blocks), *spatial)


@layer("ShuffleChannels")
def shuffle_channels(c: IrContext) -> IrValue:
    x, groups = c.tensor(0), c.layer.integer("group", 1)
    axis = c.axis(c.layer.integer("axis", 1), x.rank)
    if groups < 1 or x.sizes[axis] % groups:
        raise c.error(f"group {groups} does not divide the size {x.sizes[axis]} of axis {axis}")
    before, after = prod(x.sizes[:axis]), prod(x.sizes[axis + 1 :])
    y = x.reshape(before, groups, x.sizes[axis] // groups, after)
    return y.transpose(0, 2, 1, 3).reshape(*x.sizes)


@layer("Roll")
def roll(c: IrContext) -> IrValue:
    x, shifts, axes = c.tensor(0), c.integers(1), c.integers(2)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    c.check(len(shifts) == len(axes), f"shifts and axes must have equal lengths, found {shifts} and {axes}")
    for shift, number in zip(shifts, axes, strict=True):
        axis = c.axis(number, x.rank)
        x = _rolled(x, shift % x.sizes[axis], axis)
    return x


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    if not shift:
        return x
    parts: Sequence[Tensor] = op.split(x, axis, [x.sizes[axis] - shift, shift])
    return op.join([parts[1], parts[0]], axis)
