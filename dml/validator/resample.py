"""Rules of the resampling operators.

An output may have any sizes: beyond the resampled input, its edge elements repeat.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from .. import descriptors as d
from ..shapes import scaled_sizes, with_rank
from .base import Check, rule


@rule(d.DML_UPSAMPLE_2D_OPERATOR_DESC)
def upsample_2d(desc: d.DML_UPSAMPLE_2D_OPERATOR_DESC, check: Check) -> None:
    scale = desc.ScaleSize
    sizes = scaled_sizes(desc.InputTensor.Sizes, with_rank((scale.Height, scale.Width), desc.InputTensor.rank))
    check.sizes("OutputTensor", sizes, why="height and width times ScaleSize")


@rule(d.DML_RESAMPLE_OPERATOR_DESC)
@rule(d.DML_RESAMPLE1_OPERATOR_DESC)
@rule(d.DML_RESAMPLE2_OPERATOR_DESC)
@rule(d.DML_RESAMPLE3_OPERATOR_DESC)
@rule(d.DML_RESAMPLE_GRAD_OPERATOR_DESC, of="InputGradientTensor")
@rule(d.DML_RESAMPLE_GRAD1_OPERATOR_DESC, of="InputGradientTensor")
def resample(desc: Any, check: Check, of: str = "InputTensor") -> None:
    tensor = check.tensor(of)
    assert tensor is not None
    check.length("Scales", tensor.rank, why=f"one per dimension of {of}")
    # The smallest normal float: its reciprocal is finite.
    scales = all(scale >= 2**-126 and isfinite(scale) for scale in desc.Scales)
    check.that(scales, "Scales", "must be positive and finite")
    for field in ("InputPixelOffsets", "OutputPixelOffsets"):
        if hasattr(desc, field):
            check.that(all(isfinite(offset) for offset in getattr(desc, field)), field, "must be finite")
