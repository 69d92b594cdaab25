"""How invocations share the boxes of a class in non-maximum suppression."""

from __future__ import annotations

from typing import NamedTuple

from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import registers
from dml.compiler.selection.lines import CPU_VECTOR
from dml.compiler.target import Target

#: Boxes that are worth an invocation of a GPU: below, what a round waits for is its barriers.
BOXES_EACH = 8
#: Invocations that share a class on a GPU at most.
MOST_SHARING = 512
#: What a round takes beside the boxes: putting together what the invocations found.
_FINDING = 40


#: Registers that an invocation takes.
_REGISTERS = 64


class SuppressionSharing(NamedTuple):
    """lanes: invocations of a workgroup that share the boxes of a class, a power of two. rounds: of a dispatch, each of
    which keeps a box; steps: what these take."""

    lanes: int
    rounds: int
    steps: int


def suppression_sharing(target: Target, boxes: int, kept: int) -> SuppressionSharing | None:
    """For classes of so many boxes, of which ``kept`` may be kept. None where a round is too long for the device."""
    most = min(MOST_SHARING, target.max_workgroup_invocations)
    lanes = CPU_VECTOR
    while not target.is_cpu and most > lanes and registers(target, most) <= _REGISTERS:
        most //= 2
    while 2 * lanes <= most and boxes > lanes * (max_steps(target) // 2 if target.is_cpu else BOXES_EACH):
        lanes *= 2
    each = -(-boxes // lanes) + _FINDING
    if each > max_steps(target):
        return None
    rounds = min(kept, max_steps(target) // each)
    return SuppressionSharing(lanes, rounds, rounds * each)
