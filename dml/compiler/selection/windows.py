"""How windows are shared: of pooling, of local response normalization, and of regions of interest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dml.compiler.selection import max_steps
from dml.compiler.selection.thresholds import threshold
from dml.compiler.target import Target

#: Invocations that walk a window together where it is large: what every device has.
TOGETHER = 128
#: Invocations that do so on CPU drivers, where larger workgroups with barriers are slow.
CPU_TOGETHER: int = threshold("windows.CPU_TOGETHER")
#: Windows of more places than this are walked together.
ALONE: int = threshold("windows.ALONE")
#: The same where windows are seldom as large as they may be: a cell of ROI_POOLING may hold all of the input.
ALONE_IF_SELDOM_FULL = 60000


@dataclass(frozen=True)
class WindowSharing:
    """How the windows of a pooling kernel are walked, one for each element of the result.

    together: a workgroup shares one; else an invocation has that of an element, or with ``whole_words`` those of all
    elements of a word. steps: of an invocation.
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
    target: Target, places: int, cost: int = 1, per_word: int = 1, *, seldom_full: bool = False
) -> WindowSharing:
    """For windows of so many places, at most ``largest_window``.

    per_word: elements of the result in a word, where an invocation may write all of them. seldom_full: most windows
    have far fewer places.
    """
    most = max_steps(target)
    if places > min(ALONE_IF_SELDOM_FULL if seldom_full else ALONE, most // cost):
        workgroup = CPU_TOGETHER if target.is_cpu and places <= CPU_TOGETHER * (most // cost) else TOGETHER
        return WindowSharing(True, False, workgroup, -(-places // workgroup) * cost)
    whole_words = per_word > 1 and places * cost * per_word <= most
    return WindowSharing(False, whole_words, target.workgroup, places * cost * (per_word if whole_words else 1))


@dataclass(frozen=True)
class LineOfWindows:
    """Windows along one axis of a tensor. length, results: the sizes of source and result there."""

    axis: int
    length: int
    results: int
    window: int
    step: int
    dilation: int
    start: int

    def span(self, unit: int) -> int:
        """Elements that so many neighbouring windows have together."""
        return (unit - 1) * self.step + self.window

    def rounds(self, unit: int) -> int:
        """Return the loop iterations of an invocation with that many windows."""
        return self.span(unit) + unit * self.window


#: Places of a window along an axis for which an invocation holds the elements of several.
MOST_IN_LINE = 32
#: Windows per invocation: usual, long.
LINE_UNIT: int = threshold("windows.LINE_UNIT")
LONG_LINE_UNIT: int = threshold("windows.LONG_LINE_UNIT")
#: Reads that take llvmpipe as long as it takes to store a result.
STORED: int = threshold("windows.STORED")


def lines_of_windows(target: Target, lines: Sequence[LineOfWindows], elements: int) -> list[int] | None:
    """Whether windows are taken axis by axis, in this order: the windows that an invocation has in each; or None.

    elements: of the source. llvmpipe takes as long as it reads.
    """
    if not target.is_cpu or not lines:
        return None
    if any(line.dilation != 1 or line.step > line.window or line.window > MOST_IN_LINE for line in lines):
        return None
    units = [LONG_LINE_UNIT if line.window >= LONG_LINE_UNIT else LINE_UNIT for line in lines]
    if any(line.rounds(unit) > max_steps(target) for line, unit in zip(lines, units, strict=True)):
        return None
    taken, alone = 0, 1
    for line, unit in zip(lines, units, strict=True):
        elements = elements // line.length * line.results
        taken += elements * (line.span(unit) + STORED * unit) // unit
        alone *= line.window
    return units if 3 * elements * (alone + STORED) >= 4 * taken else None


#: Probes in which "pooling/roi_places.comp" finds the next place of a list, on average.
PLACE_SEARCH = 12


def places_at_once(target: Target) -> int:
    """Places that one dispatch adds to each list of ROI_ALIGN's places."""
    return max(1, max_steps(target) // PLACE_SEARCH)


def places_parts(target: Target, rows: int, columns: int, outputs: int) -> tuple[int, int]:
    """Return into how many parts to divide the rows and columns of positions that an invocation reads for each
    output."""
    down = across = 1
    while -(-columns // across) * (-(-rows // down) + 2) * outputs > max_steps(target):
        if -(-columns // across) > -(-rows // down):
            across *= 2
        else:
            down *= 2
    return down, across
