"""How windows are shared: of pooling, of local response normalization, and of regions of interest."""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import max_steps
from dml.compiler.selection.lines import CPU_VECTOR
from dml.compiler.target import Target

#: Invocations that walk a window together where it is large: what every device has.
TOGETHER = 128
#: Windows of more places than this are walked together. On llvmpipe, means over 16 x 16 of four planes of 96 x 96 take
#: 28 ms by invocations alone and 71 together (see selection.lines for how that was timed).
ALONE = 512
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
    """Places of the largest window that the loops of a workgroup hold. cost: loop iterations that a place takes."""
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
        # Larger workgroups with barriers are slow on CPU drivers: means over 32 x 32 of four planes of 96 x 96 take
        # llvmpipe 166, 206 and 463 ms with 8, 32 and 128 invocations.
        workgroup = CPU_VECTOR if target.is_cpu and places <= CPU_VECTOR * (most // cost) else TOGETHER
        return WindowSharing(True, False, workgroup, -(-places // workgroup) * cost)
    whole_words = per_word > 1 and places * cost * per_word <= most
    return WindowSharing(False, whole_words, target.workgroup, places * cost * (per_word if whole_words else 1))


#: Probes in which "pooling/roi_places.comp" finds the next place of a list, on average.
PLACE_SEARCH = 12


def places_at_once(target: Target) -> int:
    """Places that one dispatch adds to each list of ROI_ALIGN's places."""
    return max(1, max_steps(target) // PLACE_SEARCH)


def places_parts(target: Target, rows: int, columns: int, outputs: int) -> tuple[int, int]:
    """Into how many parts to cut the rows and columns of places that an invocation walks for each of its outputs."""
    down = across = 1
    while -(-columns // across) * (-(-rows // down) + 2) * outputs > max_steps(target):
        if -(-columns // across) > -(-rows // down):
            across *= 2
        else:
            down *= 2
    return down, across
