"""Rules of the normalizations."""

from __future__ import annotations

from typing import Any

from .. import descriptors as d
from ..enums import DML_FEATURE_LEVEL
from .base import Check, rule

_BROADCAST = "each dimension that of InputTensor or 1"


@rule(d.DML_BATCH_NORMALIZATION_OPERATOR_DESC)
def batch(desc: d.DML_BATCH_NORMALIZATION_OPERATOR_DESC, check: Check) -> None:
    for name in ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor"):
        check.broadcastable(name, desc.InputTensor.Sizes, why=_BROADCAST)
    if not desc.Spatial and check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_4_0:
        for name in ("MeanTensor", "VarianceTensor"):
            for axis in range(2, len(desc.InputTensor.Sizes)):
                check.size(name, axis, desc.InputTensor.Sizes[axis], why="Spatial is false, below feature level 4_0")
    check.fused_activation()


@rule(d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC)
def batch_training(desc: d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC, check: Check) -> None:
    check.broadcastable("ScaleTensor", desc.InputTensor.Sizes, why=_BROADCAST)
    check.fused_activation()


@rule(d.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC)
@rule(d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC)
def batch_grad(desc: Any, check: Check) -> None:
    check.broadcastable("MeanTensor", desc.InputTensor.Sizes, why=_BROADCAST)


@rule(d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC)
def mean_variance(desc: Any, check: Check) -> None:
    """Require scale and bias that broadcast; below 4_0 not along the channels, and below 5_2 only both or neither."""
    check.same_sizes("InputTensor", "OutputTensor")
    sizes = desc.InputTensor.Sizes
    for name in ("ScaleTensor", "BiasTensor"):
        check.broadcastable(name, sizes, why=_BROADCAST)
    if check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_5_2:
        given = [name for name in ("ScaleTensor", "BiasTensor") if getattr(desc, name) is not None]
        if len(given) == 1:
            check.fail(given[0], "ScaleTensor and BiasTensor must both be given or neither, below feature level 5_2")
    check.fused_activation()


@rule(d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC)
@rule(d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC)
def mean_variance_axes(desc: Any, check: Check) -> None:
    mean_variance(desc, check)
    check.axes()
    if check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_4_0 and desc.InputTensor.rank > 1:
        for name in ("ScaleTensor", "BiasTensor"):
            check.size(name, 1, desc.InputTensor.Sizes[1], why="ChannelCount, below feature level 4_0")


@rule(d.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC)
@rule(d.DML_LOCAL_RESPONSE_NORMALIZATION_GRAD_OPERATOR_DESC)
def local_response(desc: Any, check: Check) -> None:
    check.at_least("LocalSize", 1)


@rule(d.DML_LP_NORMALIZATION_OPERATOR_DESC)
def lp(desc: d.DML_LP_NORMALIZATION_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="InputTensor")
    check.in_range("P", 1, 2)
