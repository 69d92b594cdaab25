"""Rules of the activations.

Most need none: their tensors' equal sizes and data types are in the capability table's `same`.
"""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_FEATURE_LEVEL
from .base import Check, rule


@rule(d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, fused=True)
def softplus(desc: d.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, check: Check) -> None:
    """Steepness below 1 came with 6_4 (feature level history; the page still forbids it)."""
    if check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4:
        check.that(desc.Steepness >= 1, "Steepness", "must be at least 1 before feature level 6_4")


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
