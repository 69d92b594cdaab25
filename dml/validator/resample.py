"""Rules of the resampling operators.

An output may have any sizes: beyond the resampled input, its edge elements repeat.
"""

from __future__ import annotations

from math import isfinite

from .. import descriptors as d
from ..shapes import scaled_sizes, with_rank
from .base import Check, rule


@rule(d.DML_UPSAMPLE_2D_OPERATOR_DESC)
def upsample_2d(desc: d.DML_UPSAMPLE_2D_OPERATOR_DESC, check: Check) -> None:
    scale = desc.ScaleSize
    sizes = scaled_sizes(desc.InputTensor.Sizes, with_rank((scale.Height, scale.Width), desc.InputTensor.rank))
    check.sizes("OutputTensor", sizes, why="height and width times ScaleSize")


def _scales(check: Check, tensor_name: str) -> None:
    tensor = check.tensor(tensor_name)
    assert tensor is not None
    check.length("Scales", tensor.rank, why=f"one per dimension of {tensor_name}")
    scales: tuple[float, ...] = getattr(check.desc, "Scales")  # noqa: B009  each class that comes here has the field
    # The smallest normal float: its reciprocal is finite.
    check.that(all(scale >= 2**-126 and isfinite(scale) for scale in scales), "Scales", "must be positive and finite")


def _offsets(check: Check, tensor_name: str) -> None:
    _scales(check, tensor_name)
    for field in ("InputPixelOffsets", "OutputPixelOffsets"):
        check.that(all(isfinite(offset) for offset in getattr(check.desc, field)), field, "must be finite")


@rule(d.DML_RESAMPLE_OPERATOR_DESC)
def resample(desc: d.DML_RESAMPLE_OPERATOR_DESC, check: Check) -> None:
    _scales(check, "InputTensor")


@rule(d.DML_RESAMPLE1_OPERATOR_DESC)
@rule(d.DML_RESAMPLE2_OPERATOR_DESC)
@rule(d.DML_RESAMPLE3_OPERATOR_DESC)
def resample_with_offsets(desc: d.OperatorDesc, check: Check) -> None:
    _offsets(check, "InputTensor")


@rule(d.DML_RESAMPLE_GRAD_OPERATOR_DESC)
@rule(d.DML_RESAMPLE_GRAD1_OPERATOR_DESC)
def resample_grad(desc: d.OperatorDesc, check: Check) -> None:
    _offsets(check, "InputGradientTensor")
