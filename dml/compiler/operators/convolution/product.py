"""Convolutions with windows of one element, which are matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dml.compiler.apply import copy_each
from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.operators.convolution.windows import WindowedSum, Windows
from dml.compiler.operators.gemm.layout import transposed
from dml.compiler.operators.gemm.matmul import ProductFinish, matmul
from dml.compiler.operators.movement.fold import copy_windows
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression
from dml.tensors import packed_strides


def is_product(sums: WindowedSum) -> bool:
    """Whether each window is the element of x at the result's position, and both merge their positions into one."""
    windows, x, result = sums.windows, sums.x, sums.result
    return (
        windows.taps == windows.strides == (1, 1, 1)
        and windows.padding == (0, 0, 0)
        and x.sizes[2:] == result.sizes[2:]
        and len(_places(sums)[0]) <= 1
    )


def is_strided_product(sums: WindowedSum) -> bool:
    """Whether windows are single elements of x with a stride above one, and the result's positions merge into one
    dimension."""
    windows, result = sums.windows, sums.result
    if windows.taps != (1, 1, 1) or windows.padding != (0, 0, 0) or windows.strides == (1, 1, 1):
        return False
    return _end_within_x(sums) and len(_merged(result.sizes[2:], result.strides[2:])[0]) <= 1


def _end_within_x(sums: WindowedSum) -> bool:
    """Whether the last windows of a sum without padding before x end within x, not in the end padding."""
    windows = sums.windows
    ends = zip(sums.result.sizes[2:], windows.strides, windows.taps, windows.dilations, sums.x.sizes[2:], strict=True)
    return all((count - 1) * step + (taps - 1) * dilation < size for count, step, taps, dilation, size in ends)


def thinned(builder: ProgramBuilder, sums: WindowedSum) -> WindowedSum:
    """Return the same sums over a copy of the elements that windows read. Each channel of the copy starts at a multiple
    of four.

    The copying kernel is the same for every image size: dimensions that merge only for some sizes stay separate.
    """
    x, windows = sums.x, sums.windows
    images, channels = x.sizes[:2]
    places = sums.result.sizes[2:]
    taken = x.view(
        (images, channels, *places),
        (*x.strides[:2], *(stride * step for stride, step in zip(x.strides[2:], windows.strides, strict=True))),
    )
    pitch = -(-math.prod(places) // 4) * 4
    whole = builder.temporary(x.data_type, (images, channels, pitch))
    copy = whole.view(taken.sizes, (channels * pitch, pitch, *packed_strides(places)))
    copy_each(builder, copy, taken)
    return replace(sums, x=copy, windows=replace(windows, strides=(1, 1, 1)))


def with_taps_as_channels(sums: WindowedSum) -> WindowedSum | None:
    """Return the same sums with windows of one element, over a view of x whose channels are the elements of a window.

    None if there is more than one channel or group, if windows extend along several axes or beyond x, or if positions
    are not evenly spaced. A short-time Fourier transform is such a convolution, with windows too wide for the other
    kernels.
    """
    x, windows, places = sums.x, sums.windows, sums.result.sizes[2:]
    groups, _, inputs = sums.weights.sizes[:3]
    long = [axis for axis in range(3) if windows.taps[axis] > 1]
    if groups * inputs > 1 or len(long) != 1 or windows.padding != (0, 0, 0) or windows.step[long[0]] < 0:
        return None
    if not _end_within_x(sums):
        return None
    (axis,) = long
    taps, apart = windows.taps[axis], windows.dilations[axis] * x.strides[2 + axis]
    steps = [stride * step for stride, step in zip(x.strides[2:], windows.strides, strict=True)]
    view = x.view((x.sizes[0], taps, *places), (x.strides[0], apart, *steps))
    line = _of_channels(sums, view, taps, sums.weights.strides[3 + axis] * windows.step[axis])
    return line if is_product(line) else None


def unfolded(builder: ProgramBuilder, sums: WindowedSum) -> WindowedSum | None:
    """Return the same sums with windows of one element, over a copy of x whose channels are the elements of a window.

    None if the weights of an output channel, or the result's positions, are not evenly spaced.
    """
    x, weights, windows, places = sums.x, sums.weights, sums.windows, sums.result.sizes[2:]
    groups, _, inputs = weights.sizes[:3]
    window = [stride * step for stride, step in zip(weights.strides[3:], windows.step, strict=True)]
    lengths, steps = _merged((inputs, *windows.taps), (weights.strides[2], *window))
    if len(lengths) > 1 or len(_merged(places, sums.result.strides[2:])[0]) > 1 or min(steps, default=0) < 0:
        return None
    channels = inputs * math.prod(windows.taps)
    copy = builder.temporary(x.data_type, (x.sizes[0], groups * channels, *places))
    taken = (x.sizes[0], groups * inputs, *windows.taps, *places)
    by_window = copy.view(taken, packed_strides(taken))
    copy_windows(builder, x, by_window, windows.strides, windows.dilations, windows.padding)
    return _of_channels(sums, copy, channels, steps[0] if steps else 0)


def _of_channels(sums: WindowedSum, x: Operand, channels: int, step: int) -> WindowedSum:
    """Return the same sums over an x whose ``channels`` input channels per group are the elements of a window.

    step: stride between the weights of adjacent channels.
    """
    weights, one = sums.weights, (1, 1, 1)
    begin = sum(stride * index for stride, index in zip(weights.strides[3:], sums.windows.first, strict=True))
    sizes, strides = (*weights.sizes[:2], channels, *one), (*weights.strides[:2], step, 0, 0, 0)
    windows = Windows(one, (0, 0, 0), one, one, one, (0, 0, 0))
    return replace(sums, x=x, weights=weights.view(sizes, strides, begin), windows=windows)


def _merged(sizes: Sequence[int], strides: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Merge the dimensions of more than one element."""
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    merged, (steps,) = merge_dimensions([sizes[axis] for axis in axes], [[strides[axis] for axis in axes]])
    return merged, steps


def is_one_matrix(sums: WindowedSum) -> bool:
    """Whether the positions of all images merge into one dimension (channels are innermost, or there is one image)."""
    return len(_places(sums, 0)[0]) <= 1


def _places(sums: WindowedSum, *more: int) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge the spatial dimensions, and those in ``more``; dimensions of size 1 are left out. Return the merged sizes,
    and the strides of x and of the result."""
    axes = [axis for axis in (*more, *range(2, sums.x.rank)) if sums.x.sizes[axis] > 1]
    strides = [[operand.strides[axis] for axis in axes] for operand in (sums.x, sums.result)]
    return merge_dimensions([sums.x.sizes[axis] for axis in axes], strides)


def by_product(builder: ProgramBuilder, sums: WindowedSum, finish: Expression, *, one_by_one: bool = False) -> None:
    """Multiply a matrix of weights by a matrix of x, {input channel, position}, for each group and image, or for all
    images together.

    one_by_one: see ``matmul``.
    """
    images = 1
    places, strides = _places(sums, 0)
    if len(places) > 1:
        images, (places, strides) = sums.x.sizes[0], _places(sums)
    step_x, step_result = (own[0] if own else 1 for own in strides)
    groups, outputs, inputs = sums.weights.sizes[:3]

    def matrices(tensor: Operand, rows: int, step: int) -> Operand:
        batch, channel = tensor.strides[:2]
        sizes = (images, groups, rows, math.prod(places))
        return tensor.view(sizes, (batch, rows * channel, channel, step))

    bias = sums.bias
    tap = sum(step * index for step, index in zip(sums.weights.strides[3:], sums.windows.first, strict=True))
    a = sums.weights.view((groups, outputs, inputs), sums.weights.strides[:3], tap)
    b = matrices(sums.x, inputs, step_x)
    c = bias and bias.view((groups, outputs, 1), (outputs * bias.strides[1], bias.strides[1], 0))
    result = matrices(sums.result, outputs, step_result)
    if b.strides[-2] == result.strides[-2] == 1 < result.strides[-1]:
        # Channels are contiguous, and kernels store along rows.
        a, b, c, result = transposed(b), transposed(a), c and transposed(c), transposed(result)
    matmul(builder, a, b, c, result, ProductFinish(activation=finish), one_by_one=one_by_one)
