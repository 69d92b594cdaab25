"""How windows are shared among invocations: in pooling, local response normalization, and regions of interest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dml.compiler.loops import rounds
from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import profile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.target import Target

#: Invocations that share a large window; every device supports this workgroup size.
TOGETHER = 128
#: Invocations that share a large window on CPU drivers, where larger workgroups with barriers are slow.
CPU_TOGETHER: int = threshold("windows.CPU_TOGETHER")
#: Windows with more positions than this are shared among invocations.
ALONE: int = threshold("windows.ALONE")
#: ALONE for kernels in which most windows are far smaller than the largest: a cell of ROI_POOLING may cover the whole
#: input.
ALONE_IF_SELDOM_FULL = 60000
#: Loop iterations of an invocation for each window, apart from those over its positions: loops over units and words,
#: and LP_POOLING's loops for other powers, which llvmpipe runs for one round even where they are not needed.
_AROUND = 14


@dataclass(frozen=True)
class WindowSharing:
    """Division of a pooling kernel's windows, one per result element.

    together: a workgroup shares a window; else an invocation takes the window of one element or, with ``whole_words``,
    the windows of all elements of a word. steps: per invocation.
    """

    together: bool
    whole_words: bool
    workgroup: int
    steps: int


def largest_window(target: Target, cost: int = 1) -> int:
    """Return the number of positions in the largest window that a workgroup's loops may take. cost: iterations per
    position."""
    return TOGETHER * (max_steps(target) // cost)


def window_sharing(
    target: Target, box: Sequence[int], cost: int = 1, per_word: int = 1, *, seldom_full: bool = False
) -> WindowSharing:
    """Return how windows of at most ``largest_window`` positions are divided among invocations.

    box: sizes of the nested loops over a window's positions, outermost first. cost: iterations per position. per_word:
    result elements per word, where an invocation may write all of them. seldom_full: most windows have far fewer
    positions.
    """
    most, places = max_steps(target), math.prod(box)
    alone = _AROUND + rounds(box) * cost
    if places > (ALONE_IF_SELDOM_FULL if seldom_full else ALONE) or alone > most:
        is_narrow = not profile(target).shares_memory and places <= CPU_TOGETHER * (most // cost)
        workgroup = CPU_TOGETHER if is_narrow else TOGETHER
        return WindowSharing(True, False, workgroup, -(-places // workgroup) * cost)
    whole_words = per_word > 1 and alone * per_word <= most
    return WindowSharing(False, whole_words, target.workgroup, alone * (per_word if whole_words else 1))


@dataclass(frozen=True)
class LineOfWindows:
    """Windows along one axis of a tensor. length, results: sizes of source and result along it."""

    axis: int
    length: int
    results: int
    window: int
    step: int
    dilation: int
    start: int

    def span(self, unit: int) -> int:
        """Return the number of elements that ``unit`` adjacent windows cover."""
        return (unit - 1) * self.step + self.window

    def rounds(self, unit: int) -> int:
        """Return the loop iterations of an invocation with ``unit`` windows."""
        return self.span(unit) + unit * self.window


#: Largest window along an axis for which an invocation holds the elements of several windows.
MOST_IN_LINE = 32
#: Windows per invocation along an axis.
LINE_UNIT: int = threshold("windows.LINE_UNIT")
#: Windows per invocation along an axis, if a window has at least this many elements.
LONG_LINE_UNIT: int = threshold("windows.LONG_LINE_UNIT")
#: Number of reads that take llvmpipe as long as storing a result.
STORED: int = threshold("windows.STORED")


def lines_of_windows(
    target: Target, lines: Sequence[LineOfWindows], elements: int, *, copied: bool = False
) -> list[int] | None:
    """Return the windows per invocation for each axis if windows are reduced axis by axis, in this order; else None.

    elements: number of elements of the source. copied: source and result have copies of another type. llvmpipe's time
    is proportional to its reads.
    """
    if not profile(target).lane_by_lane or not lines:
        return None
    if any(line.dilation != 1 or line.step > line.window or line.window > MOST_IN_LINE for line in lines):
        return None
    units = [LONG_LINE_UNIT if line.window >= LONG_LINE_UNIT else LINE_UNIT for line in lines]
    if any(line.rounds(unit) > max_steps(target) for line, unit in zip(lines, units, strict=True)):
        return None
    taken, alone, source = 0, 1, elements
    for line, unit in zip(lines, units, strict=True):
        elements = elements // line.length * line.results
        taken += elements * (line.span(unit) + STORED * unit) // unit
        alone *= line.window
    if copied:
        taken += (source + elements) * (1 + STORED)
    return units if 3 * elements * (alone + STORED) >= 4 * taken else None


#: Average number of probes with which "pooling/roi_places.comp" finds the next position of a list.
PLACE_SEARCH = 12


def places_at_once(target: Target) -> int:
    """Return how many positions one dispatch may append to each of ROI_ALIGN's lists."""
    return max(1, max_steps(target) // PLACE_SEARCH)


def places_parts(target: Target, rows: int, columns: int, outputs: int) -> tuple[int, int]:
    """Return the numbers of parts into which to divide the rows and columns of positions that an invocation reads for
    each output."""
    down = across = 1
    while -(-columns // across) * (-(-rows // down) + 2) * outputs > max_steps(target):
        if -(-columns // across) > -(-rows // down):
            across *= 2
        else:
            down *= 2
    return down, across
