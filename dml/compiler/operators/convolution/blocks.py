"""Convolutions rewritten as forward ones of stride one, with a block of results as output channels: backward
convolutions with long strides, and long filters along rows.

Backward, a block holds a result for each position modulo the strides. All results of a block have the same number of
taps: weights beyond the filter's ends are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.operators.convolution.geometry import Convolution, Geometry, three
from dml.compiler.operators.gemm.matmul import sum_type
from dml.compiler.operators.movement.fold import copy_windows
from dml.compiler.operators.movement.views import window
from dml.compiler.parts import boxes, narrow
from dml.compiler.program import Operand, fast_replace
from dml.compiler.scalar import Expression, Leaf, node, substitute
from dml.compiler.selection.convolution import ROW_BLOCK, Three, goes_by_blocks
from dml.tensors import packed_strides

_ONES = (1, 1, 1)


@dataclass(frozen=True)
class _Axis:
    """One axis: result ``b * stride + k`` is the sum over taps j of ``x[b - j + taps - 1 - padding]`` times weight
    ``k + j * stride - before``."""

    blocks: int
    taps: int
    before: int
    padding: int


def _axis(convolution: Convolution, axis: int) -> _Axis:
    stride, skipped = convolution.geometry.strides[axis], convolution.geometry.padding[axis]
    before = -skipped % stride
    taps = -(-(convolution.weights.sizes[2 + axis] + before) // stride)
    blocks = -(-convolution.result.sizes[2 + axis] // stride)
    return _Axis(blocks, taps, before, taps - 1 - (skipped + before) // stride)


def in_blocks(builder: ProgramBuilder, convolution: Convolution) -> Convolution | None:
    """Return the forward convolution of a backward one, without bias, with results in temporary memory; None if it does
    not pay."""
    geometry, weights, result = convolution.geometry, convolution.weights, convolution.result
    axes = [_axis(convolution, axis) for axis in range(3)]
    taps, padding = three([axis.taps for axis in axes]), three([axis.padding for axis in axes])
    is_dilated = any(dilation > 1 < size for dilation, size in zip(geometry.dilations, weights.sizes[2:], strict=True))
    # Weights of several groups with several channels would not be evenly spaced.
    if is_dilated or min(padding) < 0 or min(geometry.groups, convolution.inputs) > 1:
        return None
    positions = math.prod(geometry.strides)
    sizes = (result.sizes[0], result.sizes[1] * positions, *(axis.blocks for axis in axes))
    laid_out = (result.sizes[1] * positions, convolution.inputs, *taps)
    held = 4 * max(math.prod(sizes), math.prod(laid_out))
    if held > builder.target.max_region or not goes_by_blocks(weights.count, math.prod(laid_out)):
        return None
    copy = _weights_of_blocks(builder, convolution, laid_out, [axis.before for axis in axes])
    sums = builder.temporary(sum_type(result)[1], sizes)
    forward = Geometry(_ONES, _ONES, padding, (0, 0, 0), geometry.groups, flipped=True)
    return Convolution(convolution.x, copy, None, sums, forward)


def _weights_of_blocks(
    builder: ProgramBuilder, convolution: Convolution, sizes: tuple[int, ...], before: list[int]
) -> Operand:
    """Return a copy of the weights, {output channel, position in a block; input channel of a group; taps}."""
    weights, geometry, outputs = _in_correlation(convolution), convolution.geometry, convolution.outputs
    stage = builder.prepare(weights)
    copy = stage.temporary(weights.data_type, sizes)
    inputs, *taps = sizes[1:]
    # Either the input channels are the groups, or there is one group.
    channel, *others = packed_strides((outputs, *geometry.strides, inputs, *taps))
    by_channel = (outputs * channel if inputs == 1 else others[3], channel)
    by_window = copy.view((*weights.sizes[:2], *geometry.strides, *taps), (*by_channel, *others[:3], *others[4:]))
    copy_windows(stage, weights, by_window, geometry.strides, _ONES, before)
    return copy


def _in_correlation(convolution: Convolution) -> Operand:
    """View the weights in the order of a correlation."""
    weights = convolution.weights
    if not convolution.geometry.flipped:
        return weights
    last = [size - 1 for size in weights.sizes[2:]]
    return window(weights, (0, 0, *last), weights.sizes, (1, 1, -1, -1, -1))


def in_blocks_of_rows(builder: ProgramBuilder, convolution: Convolution) -> Convolution:
    """Return a forward convolution of one channel along rows that computes a block of adjacent results as its output
    channels. As rows of a matrix product, the results of a block share the elements that they read.

    The result is without bias, in temporary memory.
    """
    geometry, weights, result = convolution.geometry, convolution.weights, convolution.result
    channels, taps = weights.sizes[0], weights.sizes[4] + ROW_BLOCK - 1
    stage = builder.prepare(weights)
    copy = stage.temporary(weights.data_type, (channels * ROW_BLOCK, 1, 1, 1, taps))
    by_result = (channels, 1, 1, 1, ROW_BLOCK, 1, 1, taps)
    # Weight u of result r in a block is weight u - r of the filter (modulo 2^32), or zero beyond the filter's ends.
    moved = copy.view(by_result, packed_strides(by_result))
    copy_windows(stage, _in_correlation(convolution), moved, _ONES, (1, 1, 2**32 - 1), (0, 0, 0))
    sizes = (result.sizes[0], channels * ROW_BLOCK, *result.sizes[2:4], -(-result.sizes[4] // ROW_BLOCK))
    sums = builder.temporary(sum_type(result)[1], sizes)
    moving = replace(geometry, strides=(*geometry.strides[:2], ROW_BLOCK), flipped=False)
    return Convolution(convolution.x, copy, None, sums, moving)


def from_blocks(
    builder: ProgramBuilder, sums: Operand, convolution: Convolution, strides: Three, finish: Expression
) -> None:
    """Write ``result = finish(sums + bias)`` from the results in blocks of ``strides``."""
    result, bias = convolution.result, convolution.bias
    sizes = (*result.sizes[:2], *strides, *sums.sizes[2:])
    by_position = sums.view(sizes, packed_strides(sizes))
    if bias is not None:
        added = node("$x0 + $x1", Leaf(0), Leaf(1), glsl=sum_type(result)[0])
        finish, bias = substitute(finish, [added]), bias.view((*bias.sizes, *_ONES), (*bias.strides, 0, 0, 0))
    # The last block along an axis may hold fewer results.
    whole = [size - size % step or size for size, step in zip(result.sizes[2:], strides, strict=True)]
    for box in boxes(result.sizes[2:], whole):
        held = [(0, min(size, step)) for (_, size), step in zip(box, strides, strict=True)]
        blocks = [(start // step, -(-size // step)) for (start, size), step in zip(box, strides, strict=True)]
        values = narrow(by_position, range(2, 8), (*held, *blocks))
        own = result.strides[2:]
        steps = (*result.strides[:2], *own, *(stride * step for stride, step in zip(own, strides, strict=True)))
        base = sum(start * stride for (start, _), stride in zip(box, own, strict=True))
        operands = [values] if bias is None else [values, bias]
        apply(builder, finish, fast_replace(result.view(values.sizes, steps, base), followed=True), operands)
