"""How invocations share the boxes of a class in non-maximum suppression."""

from __future__ import annotations

import math
from typing import NamedTuple

from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import profile, registers
from dml.compiler.selection.lines import CPU_VECTOR
from dml.compiler.target import Target

#: Minimum number of boxes per invocation on a GPU: with fewer, a round mostly waits at its barriers.
BOXES_EACH = 8
#: Maximum number of invocations that share a class on a GPU.
MOST_SHARING = 512
#: Steps of a round in addition to its boxes: combining the invocations' results.
_FINDING = 40


#: Registers that the kernel needs per invocation.
_REGISTERS = 64


class SuppressionSharing(NamedTuple):
    """Division of non-maximum suppression. lanes: invocations of a workgroup, a power of two, that share the boxes of a
    class. rounds: rounds per dispatch, each of which keeps one box. steps: steps of these rounds. shift: if not 0, a
    round visits one box instead, in the order of their ranks, and groups have 2^shift boxes."""

    lanes: int
    rounds: int
    steps: int
    shift: int = 0


def suppression_sharing(target: Target, boxes: int, kept: int) -> SuppressionSharing | None:
    """Return the division for classes of ``boxes`` boxes, of which ``kept`` may be kept; None if a round is too long
    for the device.

    CPU drivers visit boxes. On a GPU a round takes equally long however many boxes it tests, and each box dropped in a
    round saves a later one.
    """
    return (_visits(target, boxes, kept) if profile(target).vector_groups else None) or _rounds(target, boxes, kept)


def _rounds(target: Target, boxes: int, kept: int) -> SuppressionSharing | None:
    """Return the division where each round keeps one box; None if a round is too long for the device."""
    most = min(MOST_SHARING, target.max_workgroup_invocations)
    lanes = CPU_VECTOR
    shares = profile(target).shares_memory
    while shares and most > lanes and registers(target, most) <= _REGISTERS:
        most //= 2
    while 2 * lanes <= most and boxes > lanes * (BOXES_EACH if shares else max_steps(target) // 2):
        lanes *= 2
    each = -(-boxes // lanes) + _FINDING
    if each > max_steps(target):
        return None
    rounds = min(kept, max_steps(target) // each)
    return SuppressionSharing(lanes, rounds, rounds * each)


def _visits(target: Target, boxes: int, kept: int) -> SuppressionSharing | None:
    """Return the division where each round visits one box; None if a round is too long for the device."""
    lanes, shift = CPU_VECTOR, math.isqrt(boxes).bit_length()
    groups = -(-boxes >> shift)
    each = sum(-(-count // lanes) for count in (groups, 1 << shift, kept)) + _FINDING
    rounds = min(boxes, max_steps(target) // each - 1)
    if rounds < 1 or 1 << shift > max_steps(target):
        return None
    return SuppressionSharing(lanes, rounds, (rounds + 1) * each, shift)
