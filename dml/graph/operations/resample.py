"""Resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.graph.builder import Tensor
from dml.shapes import each_dimension, scaled_sizes
from dml.tensors import DML_SIZE_2D

from .sizes import sizes_of

__all__ = ["resample", "upsample_2d", "value_scale_2d"]


@checked
def upsample_2d(
    x: Tensor,
    width: int,
    height: int,
    mode: enums.DML_INTERPOLATION_MODE | str = enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
) -> Tensor:
    """Enlarge {N, C, H, W} by integer factors."""
    return x.builder.one(
        d.DML_UPSAMPLE_2D_OPERATOR_DESC,
        scaled_sizes(sizes_of("upsample_2d", x, 4), (1, 1, height, width)),
        InputTensor=x,
        ScaleSize=DML_SIZE_2D(width, height),
        InterpolationMode=mode,
    )


@checked
def resample(
    x: Tensor,
    sizes: Sequence[int],
    mode: enums.DML_INTERPOLATION_MODE | str = enums.DML_INTERPOLATION_MODE_LINEAR,
    *,
    rounding_direction: enums.DML_AXIS_DIRECTION | str | None = None,
    scales: Sequence[float] | None = None,
    input_pixel_offsets: Sequence[float] | None = None,
    output_pixel_offsets: Sequence[float] | None = None,
    antialiased: bool = False,
) -> Tensor:
    """Resample x to other sizes. scales: by default the ratios of the sizes. Without offsets, pixel centres are at
    halves.

    rounding_direction: how the nearest element is chosen halfway between two (RESAMPLE2, from feature level 5_1 on), by
    default INCREASING. antialiased: when shrinking, weight all pixels (RESAMPLE3, from 6_4 on). The oldest operator
    that supports the arguments is used.
    """
    cls: type[OperatorDesc] = d.DML_RESAMPLE1_OPERATOR_DESC
    more: dict[str, Any] = {}
    if rounding_direction is not None or antialiased:
        cls, more = d.DML_RESAMPLE2_OPERATOR_DESC, {"RoundingDirection": rounding_direction}
        if rounding_direction is None:
            more["RoundingDirection"] = enums.DML_AXIS_DIRECTION_INCREASING
    if antialiased:
        cls, more = d.DML_RESAMPLE3_OPERATOR_DESC, {**more, "Antialiased": True}
    return x.builder.one(
        cls,
        sizes,
        InputTensor=x,
        InterpolationMode=mode,
        Scales=tuple(scales or (out / size for out, size in each_dimension(sizes, x.sizes))),
        InputPixelOffsets=tuple(input_pixel_offsets or (0.5,) * x.rank),
        OutputPixelOffsets=tuple(output_pixel_offsets or (-0.5,) * x.rank),
        **more,
    )


@checked
def value_scale_2d(x: Tensor, scale: float, bias: Sequence[float]) -> Tensor:
    """Multiply {N, C, H, W} by scale and add a bias per channel."""
    return x.builder.one(d.DML_VALUE_SCALE_2D_OPERATOR_DESC, x.sizes, InputTensor=x, Scale=scale, Bias=tuple(bias))
