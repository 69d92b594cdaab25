"""Rules of pooling and of region-of-interest operators."""

from __future__ import annotations

from typing import Any

from .. import descriptors as d
from ..enums import DML_REDUCE_FUNCTION
from ..shapes import ones_along, padded_sizes, pooled_sizes, window_reach, with_rank
from .base import Check, rule

_UINT_MAX = 2**32 - 1
#: Maximum number of cells of a region along a dimension: the products that compute their positions must fit 32 bits.
_POOLED_MAX = 65535
_ARRAYS = ("Strides", "WindowSize", "StartPadding", "EndPadding", "Dilations")


def _pooled(desc: Any, check: Check, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Check the window's arrays; return the sizes of the pooled tensor.

    A dilated window spans Dilations * (WindowSize - 1) + 1 elements, which the pages' formula omits.
    """
    spatial = len(sizes) - 2
    for field in _ARRAYS:
        if hasattr(desc, field):
            check.length(field, spatial, why="one per spatial dimension")
            if field not in ("StartPadding", "EndPadding"):
                check.at_least(field, 1)
    dilations = getattr(desc, "Dilations", (1,) * spatial)
    for axis, padded in enumerate(padded_sizes(sizes[2:], desc.StartPadding, desc.EndPadding)):
        reach = window_reach(desc.WindowSize[axis], dilations[axis])
        check.that(padded <= _UINT_MAX, "StartPadding", f"must leave a padded size of at most {_UINT_MAX}", padded)
        check.that(
            reach <= padded, "WindowSize",
            f"must span at most {padded} elements, the padded size of spatial dimension {axis}", reach,
        )  # fmt: skip
    return pooled_sizes(sizes, desc.WindowSize, desc.Strides, dilations, desc.StartPadding, desc.EndPadding)


@rule(d.DML_AVERAGE_POOLING_OPERATOR_DESC)
@rule(d.DML_AVERAGE_POOLING1_OPERATOR_DESC)
@rule(d.DML_MAX_POOLING_OPERATOR_DESC)
def pooling(desc: Any, check: Check) -> None:
    check.sizes("OutputTensor", _pooled(desc, check, desc.InputTensor.Sizes), why="the positions of the window")


@rule(d.DML_LP_POOLING_OPERATOR_DESC)
@rule(d.DML_LP_POOLING1_OPERATOR_DESC)
def lp_pooling(desc: Any, check: Check) -> None:
    pooling(desc, check)
    check.at_least("P", 1)


@rule(d.DML_MAX_POOLING1_OPERATOR_DESC)
@rule(d.DML_MAX_POOLING2_OPERATOR_DESC)
def max_pooling_with_indices(desc: Any, check: Check) -> None:
    pooling(desc, check)
    check.same_sizes("OutputTensor", "OutputIndicesTensor")


@rule(d.DML_MAX_UNPOOLING_OPERATOR_DESC)
def max_unpooling(desc: d.DML_MAX_UNPOOLING_OPERATOR_DESC, check: Check) -> None:
    check.same_sizes("InputTensor", "IndicesTensor")


@rule(d.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC)
@rule(d.DML_MAX_POOLING_GRAD_OPERATOR_DESC)
def pooling_grad(desc: Any, check: Check) -> None:
    pooled = _pooled(desc, check, desc.OutputGradientTensor.Sizes)
    check.sizes("InputGradientTensor", pooled, why="the result of pooling a tensor of OutputGradientTensor's sizes")


@rule(d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC)
def quantized_pooling(desc: d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, check: Check) -> None:
    pooling(desc, check)
    per_channel = ones_along(desc.InputTensor.Sizes, (0, *range(2, desc.InputTensor.rank)))
    for name in ("InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"):
        for field, tensor in check.tensors(name):
            ones = (1,) * tensor.rank
            check.that(
                tensor.Sizes in (ones, per_channel), field,
                f"must have one element, or sizes {per_channel} (one per channel)", tensor.Sizes,
            )  # fmt: skip


@rule(d.DML_ROI_POOLING_OPERATOR_DESC)
def roi_pooling(desc: d.DML_ROI_POOLING_OPERATOR_DESC, check: Check) -> None:
    rois = desc.ROITensor.Sizes[2]
    check.sizes("ROITensor", (1, 1, rois, 5), why="the batch and two corners of each region")
    pooled = (desc.PooledSize.Height, desc.PooledSize.Width)
    for name, size in zip(("Height", "Width"), pooled, strict=True):
        check.that(size <= _POOLED_MAX, f"PooledSize.{name}", f"must be at most {_POOLED_MAX}", size)
    sizes = (rois, desc.InputTensor.Sizes[1], *pooled)
    check.sizes("OutputTensor", sizes, why="regions, channels, PooledSize")


@rule(d.DML_ROI_ALIGN_OPERATOR_DESC)
@rule(d.DML_ROI_ALIGN1_OPERATOR_DESC)
def roi_align(desc: Any, check: Check, pooled: str = "OutputTensor", feature: str = "InputTensor") -> None:
    """Check the rules that sampling and its gradient share.

    pooled, feature: fields of the tensor with one element per sample, and of the sampled image.
    """
    rois = desc.ROITensor.Sizes[-2]
    check.sizes("ROITensor", with_rank((rois, 4), desc.ROITensor.rank), why="two corners of each region")
    check.sizes("BatchIndicesTensor", with_rank((rois,), desc.BatchIndicesTensor.rank), why="a batch per region")
    check.size(pooled, 0, rois, why="the number of regions")
    image = check.tensor(feature)
    if image is not None:
        check.size(pooled, 1, image.Sizes[1], why=f"the channels of {feature}")
    allowed = (DML_REDUCE_FUNCTION.DML_REDUCE_FUNCTION_AVERAGE, DML_REDUCE_FUNCTION.DML_REDUCE_FUNCTION_MAX)
    names = " or ".join(function.name for function in allowed)
    check.that(desc.ReductionFunction in allowed, "ReductionFunction", f"must be {names}")
    check.at_least("MinimumSamplesPerOutput", 1)
    check.at_least("MaximumSamplesPerOutput", desc.MinimumSamplesPerOutput)


@rule(d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC)
def roi_align_grad(desc: d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC, check: Check) -> None:
    check.present("OutputGradientTensor", "OutputROIGradientTensor", at_least=1)
    maximum = desc.ReductionFunction == DML_REDUCE_FUNCTION.DML_REDUCE_FUNCTION_MAX
    if desc.OutputROIGradientTensor is not None or maximum:
        check.present("InputTensor", at_least=1, why="for the gradient of the regions, and of a maximum")
    roi_align(desc, check, "InputGradientTensor", "InputTensor")
    roi_align(desc, check, "InputGradientTensor", "OutputGradientTensor")
    check.same_sizes("InputTensor", "OutputGradientTensor")
    check.same_sizes("ROITensor", "OutputROIGradientTensor")
