"""Convolutions in either direction as sums over windows that move forward."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dml.compiler.operators.convolution.geometry import Convolution, Geometry, three
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection.convolution import Three, WindowSizes, goes_by_phases


@dataclass(frozen=True)
class Windows:
    """Movement of windows over x, for depth, height and width.

    Along each axis, tap j of ``taps`` reads x ``dilations * j`` elements further, and is element ``first + step * j``
    of the filter. ``padding`` elements precede x; a negative number skips its beginning.
    """

    taps: Three
    first: Three
    step: Three
    strides: Three
    dilations: Three
    padding: Three

    def taps_in_filter(self, axes: Sequence[int] = (0, 1, 2)) -> dict[str, Constant]:
        """Return ``first`` and ``step`` along these axes as constants FIRST_0, STEP_0 and so on."""
        first: dict[str, Constant] = {f"FIRST_{d}": np.int32(self.first[axis]) for d, axis in enumerate(axes)}
        return first | {f"STEP_{d}": np.int32(self.step[axis]) for d, axis in enumerate(axes)}


@dataclass(frozen=True)
class WindowedSum:
    """``result = sum of the windows of x times weights + bias``: a convolution, or one phase of it.

    weights: {group, output channel, input channel, window}. The other operands are those of Convolution.
    """

    x: Operand
    weights: Operand
    bias: Operand | None
    result: Operand
    windows: Windows

    @cached_property
    def sizes(self) -> WindowSizes:
        """The sizes that determine the choice of a kernel."""
        groups, outputs, inputs = self.weights.sizes[:3]
        windows = self.windows
        return WindowSizes(
            self.result.sizes[0],
            groups,
            inputs,
            outputs,
            three(self.result.sizes[2:]),
            windows.taps,
            windows.strides,
            windows.dilations,
        )


def windowed_sums(convolution: Convolution) -> list[WindowedSum] | None:
    """Return the sums that together make the convolution's result; None if there are too many."""
    geometry, weights, taps = convolution.geometry, convolution.weights_by_group, three(convolution.weights.sizes[2:])
    if not geometry.backward:
        if any(geometry.output_padding):
            return None
        sizes = three(convolution.x.sizes[2:]), three(convolution.result.sizes[2:])
        found = [(_within(_forward(taps, geometry), *sizes), convolution.result)]
    else:
        if not goes_by_phases(geometry.strides):
            return None
        found = _phases(taps, geometry, convolution)
    return [WindowedSum(convolution.x, weights, convolution.bias, result, windows) for windows, result in found]


def _forward(taps: Three, geometry: Geometry) -> Windows:
    first, step = (three([count - 1 for count in taps]), -1) if geometry.flipped else ((0, 0, 0), 1)
    return Windows(taps, first, (step,) * 3, geometry.strides, geometry.dilations, geometry.padding)


def _within(windows: Windows, x: Three, result: Three) -> Windows:
    """Drop the outermost taps that are outside x for every window, as with wide dilations.

    x, result: their sizes. At least one tap remains; a single tap along an axis has no dilation.
    """
    axes = []
    for d in range(3):
        taps, first, dilation, before = windows.taps[d], windows.first[d], windows.dilations[d], windows.padding[d]
        while taps > 1 and (taps - 1) * dilation - before >= x[d]:
            taps -= 1
        while taps > 1 and (result[d] - 1) * windows.strides[d] - before < 0:
            taps, first, before = taps - 1, first + windows.step[d], before - dilation
        axes.append((taps, first, dilation if taps > 1 else 1, before))
    taken, firsts, dilations, padding = (three(values) for values in zip(*axes, strict=True))
    return Windows(taken, firsts, windows.step, windows.strides, dilations, padding)


def _phases(taps: Three, geometry: Geometry, convolution: Convolution) -> list[tuple[Windows, Operand]]:
    """Return the windows of each phase of a backward convolution, with its results.

    Backward, each element of x adds a window to the result. Results at the same position modulo the stride use the same
    taps: they form a forward convolution of stride one, with those taps reversed.
    """
    x, result = convolution.x, convolution.result
    axes = [_phases_of_axis(taps, geometry, x.sizes[2 + axis], result.sizes[2 + axis], axis) for axis in range(3)]
    found = []
    for phase in itertools.product(*axes):
        counts, firsts, steps, dilations, padding = (
            three(values)
            for values in zip(*((p.taps, p.first, p.step, p.dilation, p.padding) for p in phase), strict=True)
        )
        found.append(
            (Windows(counts, firsts, steps, (1, 1, 1), dilations, padding), _results_of(result, geometry, phase))
        )
    return found


@dataclass(frozen=True)
class AxisPhase:
    """Results ``place``, ``place + stride``, ... along one axis, and their windows (see Windows)."""

    place: int
    taps: int
    first: int
    step: int
    dilation: int
    padding: int


def _phases_of_axis(taps: Three, geometry: Geometry, length: int, size: int, axis: int) -> list[AxisPhase]:
    """Return a phase per position modulo the stride. length, size: of x and the result."""
    count, stride, dilation = taps[axis], geometry.strides[axis], geometry.dilations[axis]
    between = stride // math.gcd(stride, dilation)  # distance between adjacent taps of a phase
    found = []
    for place in range(min(stride, size)):
        last_first = reversed(range(count))
        used = [tap for tap in last_first if (place + geometry.padding[axis] - tap * dilation) % stride == 0]
        if not used:  # the sums are zero: a tap beyond the end of x
            found.append(AxisPhase(place, 1, 0, 1, 1, -length))
            continue
        offset = (place + geometry.padding[axis] - used[0] * dilation) // stride
        first, step = (count - 1 - used[0], between) if geometry.flipped else (used[0], -between)
        found.append(AxisPhase(place, len(used), first, step, between * dilation // stride, -offset))
    return found


def _results_of(result: Operand, geometry: Geometry, phase: tuple[AxisPhase, ...]) -> Operand:
    strides, own = geometry.strides, result.strides[2:]
    sizes = tuple(-(-(result.sizes[2 + d] - phase[d].place) // strides[d]) for d in range(3))
    base = sum(own[d] * phase[d].place for d in range(3))
    return result.view(
        (*result.sizes[:2], *sizes), (*result.strides[:2], *(own[d] * strides[d] for d in range(3))), base
    )
