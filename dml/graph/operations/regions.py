"""Regions of images, sampled to equal sizes."""

from __future__ import annotations

from dml import enums
from dml.arguments import checked
from dml.descriptors.pooling import DML_ROI_ALIGN1_OPERATOR_DESC, DML_ROI_ALIGN_GRAD_OPERATOR_DESC
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor

from .sizes import sizes_of

__all__ = ["roi_align", "roi_align_grad"]


@checked
def roi_align(
    x: Tensor,
    roi: Operand,
    batch_indices: Operand,
    height: int,
    width: int,
    *,
    reduction_function: enums.DML_REDUCE_FUNCTION | str = enums.DML_REDUCE_FUNCTION_AVERAGE,
    interpolation_mode: enums.DML_INTERPOLATION_MODE | str = enums.DML_INTERPOLATION_MODE_LINEAR,
    spatial_scale_x: float = 1.0,
    spatial_scale_y: float = 1.0,
    input_pixel_offset: float = 0.5,
    output_pixel_offset: float = -0.5,
    out_of_bounds_input_value: float = 0.0,
    minimum_samples_per_output: int = 1,
    maximum_samples_per_output: int = 128,
    align_regions_to_corners: bool = False,
) -> Tensor:
    """Sample each region {x1, y1, x2, y2}, of the image given by its batch index, to height x width means.

    x: {N, C, H, W}. roi: {regions, 4}. batch_indices: {regions}. Result: {regions, C, height, width}. By default, each
    output is the mean of linearly interpolated samples, one per pixel that it covers and at most 128; pixel centres are
    at halves.
    """
    regions = x.builder.like(roi, x)
    sizes = (regions.sizes[-2] if regions.rank > 1 else 0, sizes_of("roi_align", x, 4)[1], height, width)
    return x.builder.one(
        DML_ROI_ALIGN1_OPERATOR_DESC,
        sizes,
        InputTensor=x,
        ROITensor=regions,
        BatchIndicesTensor=x.builder.like(batch_indices, x),
        ReductionFunction=reduction_function,
        InterpolationMode=interpolation_mode,
        SpatialScaleX=spatial_scale_x,
        SpatialScaleY=spatial_scale_y,
        InputPixelOffset=input_pixel_offset,
        OutputPixelOffset=output_pixel_offset,
        OutOfBoundsInputValue=out_of_bounds_input_value,
        MinimumSamplesPerOutput=minimum_samples_per_output,
        MaximumSamplesPerOutput=maximum_samples_per_output,
        AlignRegionsToCorners=align_regions_to_corners,
    )


@checked
def roi_align_grad(
    gradient: Tensor,
    roi: Operand,
    batch_indices: Operand,
    *,
    batch_size: int,
    image_height: int,
    image_width: int,
    x: Tensor | None = None,
    reduction_function: enums.DML_REDUCE_FUNCTION | str = enums.DML_REDUCE_FUNCTION_AVERAGE,
    interpolation_mode: enums.DML_INTERPOLATION_MODE | str = enums.DML_INTERPOLATION_MODE_LINEAR,
    spatial_scale_x: float = 1.0,
    spatial_scale_y: float = 1.0,
    input_pixel_offset: float = 0.5,
    output_pixel_offset: float = -0.5,
    minimum_samples_per_output: int = 1,
    maximum_samples_per_output: int = 128,
    align_regions_to_corners: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return gradients of ``roi_align`` for its image and, if its input x is given, for its regions (else None)."""
    if gradient.rank != 4:
        raise DMLError(f"roi_align_grad: takes a gradient of 4 dimensions, found sizes {gradient.sizes}")
    regions = gradient.builder.like(roi, gradient)
    image = (batch_size, gradient.sizes[1], image_height, image_width)
    outputs = {"OutputGradientTensor": gradient.builder.output(gradient.data_type, image)}
    if x is not None:
        outputs["OutputROIGradientTensor"] = gradient.builder.output(gradient.data_type, regions.sizes)
    results = gradient.builder.node(
        DML_ROI_ALIGN_GRAD_OPERATOR_DESC,
        outputs,
        InputTensor=x,
        InputGradientTensor=gradient,
        ROITensor=regions,
        BatchIndicesTensor=gradient.builder.like(batch_indices, gradient),
        ReductionFunction=reduction_function,
        InterpolationMode=interpolation_mode,
        SpatialScaleX=spatial_scale_x,
        SpatialScaleY=spatial_scale_y,
        InputPixelOffset=input_pixel_offset,
        OutputPixelOffset=output_pixel_offset,
        MinimumSamplesPerOutput=minimum_samples_per_output,
        MaximumSamplesPerOutput=maximum_samples_per_output,
        AlignRegionsToCorners=align_regions_to_corners,
    )
    return results["OutputGradientTensor"], results.get("OutputROIGradientTensor")
