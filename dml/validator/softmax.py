"""Rules of softmax, log-softmax and hardmax, over the last dimension and over given axes."""

from __future__ import annotations

from .. import descriptors as d
from .base import Check, rule


@rule(d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, fused=True)
@rule(d.DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC, fused=True)
@rule(d.DML_ACTIVATION_HARDMAX_OPERATOR_DESC, fused=True)
def over_the_last_dimension(desc: d.OperatorDesc, check: Check) -> None:
    tensor = check.tensor("InputTensor")
    if tensor is not None and any(size != 1 for size in tensor.Sizes[:-2]):
        check.fail("InputTensor", "must have an effective rank of at most 2: leading sizes 1", tensor.Sizes)


@rule(d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, fused=True)
@rule(d.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC, fused=True)
@rule(d.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC, fused=True)
def over_axes(desc: d.OperatorDesc, check: Check) -> None:
    check.axes("Axes")
