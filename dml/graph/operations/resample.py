"""Images at other sizes."""

from __future__ import annotations

from collections.abc import Sequence

from dml import enums
from dml.arguments import checked
from dml.descriptors.resample import DML_RESAMPLE1_OPERATOR_DESC, DML_UPSAMPLE_2D_OPERATOR_DESC
from dml.graph.builder import Tensor
from dml.shapes import (
    each_dimension,
    scaled_sizes,
)
from dml.tensors import DML_SIZE_2D

from .sizes import sizes_of


@checked
def upsample_2d(
    x: Tensor,
    width: int,
    height: int,
    mode: enums.DML_INTERPOLATION_MODE = enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
) -> Tensor:
    """{N, C, H, W} enlarged by whole factors."""
    return x.builder.one(
        DML_UPSAMPLE_2D_OPERATOR_DESC,
        scaled_sizes(sizes_of("upsample_2d", x, 4), (1, 1, height, width)),
        InputTensor=x,
        ScaleSize=DML_SIZE_2D(width, height),
        InterpolationMode=mode,
    )


@checked
def resample(
    x: Tensor, sizes: Sequence[int], mode: enums.DML_INTERPOLATION_MODE = enums.DML_INTERPOLATION_MODE_LINEAR
) -> Tensor:
    """x at other sizes, with half-pixel centres."""
    return x.builder.one(
        DML_RESAMPLE1_OPERATOR_DESC,
        sizes,
        InputTensor=x,
        InterpolationMode=mode,
        Scales=tuple(out / size for out, size in each_dimension(sizes, x.sizes)),
        InputPixelOffsets=(0.5,) * x.rank,
        OutputPixelOffsets=(-0.5,) * x.rank,
    )
