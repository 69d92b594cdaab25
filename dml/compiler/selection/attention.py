"""Attention: who makes the softmax of the masked scores."""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import max_steps
from dml.compiler.target import Target

#: Invocations of a workgroup on a CPU, which runs it on one core: those of llvmpipe's vectors.
_VECTOR = 8


@dataclass(frozen=True)
class AttentionSoftmax:
    """What attention/softmax.comp does with a row of scores. workgroup: its invocations; steps: of each of them.

    masks_alone: it adds the mask and no more, and the softmax operator's kernels, which split rows, do the rest.
    """

    workgroup: int
    steps: int
    masks_alone: bool


def attention_softmax(target: Target, keys: int) -> AttentionSoftmax:
    """A workgroup goes through its row three times, four scores at a time, and puts its sums together by halves.

    Where that takes too long for an invocation, each masks four scores.
    """
    workgroup = _VECTOR if target.is_cpu else target.workgroup
    steps = 3 * -(-keys // (4 * workgroup)) + workgroup.bit_length()
    masks_alone = steps > max_steps(target)
    return AttentionSoftmax(workgroup, 1 if masks_alone else steps, masks_alone)
