"""Gradients, for training graphs."""

from __future__ import annotations

from collections.abc import Sequence

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.graph.builder import Operand, Tensor
from dml.shapes import each_dimension

from .normalization import along_channels
from .sizes import given_or

__all__ = [
    "batch_normalization_grad", "batch_normalization_training", "batch_normalization_training_grad", "clip_grad",
    "resample_grad", "slice_grad",
]  # fmt: skip


@checked
def clip_grad(x: Tensor, gradient: Operand, min: float, max: float) -> Tensor:
    """Return the gradient where x is between min and max, zero elsewhere."""
    return x.builder.one(
        d.DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        InputGradientTensor=x.builder.like(gradient, x).broadcast(x.sizes),
        Min=min,
        Max=max,
    )


@checked
def slice_grad(
    gradient: Tensor,
    sizes: Sequence[int],
    offsets: Sequence[int],
    window_sizes: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Return the gradient of ``slice_`` for its input of these sizes: zero outside the window."""
    return gradient.builder.one(
        d.DML_SLICE_GRAD_OPERATOR_DESC,
        sizes,
        InputGradientTensor=gradient,
        InputWindowOffsets=tuple(offsets),
        InputWindowSizes=tuple(window_sizes),
        InputWindowStrides=given_or(strides, (1,) * gradient.rank),
    )


@checked
def resample_grad(
    gradient: Tensor,
    sizes: Sequence[int],
    mode: enums.DML_INTERPOLATION_MODE | str = enums.DML_INTERPOLATION_MODE_LINEAR,
    *,
    scales: Sequence[float] | None = None,
    input_pixel_offsets: Sequence[float] | None = None,
    output_pixel_offsets: Sequence[float] | None = None,
) -> Tensor:
    """Return the gradient of ``resample`` for its input of these sizes; scales and offsets as for ``resample``."""
    return gradient.builder.one(
        d.DML_RESAMPLE_GRAD_OPERATOR_DESC,
        sizes,
        InputGradientTensor=gradient,
        InterpolationMode=mode,
        Scales=tuple(scales or (out / size for out, size in each_dimension(gradient.sizes, sizes))),
        InputPixelOffsets=tuple(input_pixel_offsets or (0.5,) * gradient.rank),
        OutputPixelOffsets=tuple(output_pixel_offsets or (-0.5,) * gradient.rank),
    )


@checked
def batch_normalization_training(
    x: Tensor,
    scale: Operand,
    bias: Operand,
    fused_add: Tensor | None = None,
    *,
    epsilon: float = 1e-5,
    activation: OperatorDesc | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize x by the batch's own mean and variance per channel; return the result, mean and variance.

    fused_add: added before the activation.
    """
    scales = along_channels(x, scale)
    outputs = x.builder.node(
        d.DML_BATCH_NORMALIZATION_TRAINING_OPERATOR_DESC,
        {
            "OutputTensor": x.builder.output(x.data_type, x.sizes),
            "OutputMeanTensor": x.builder.output(x.data_type, scales.sizes),
            "OutputVarianceTensor": x.builder.output(x.data_type, scales.sizes),
        },
        InputTensor=x,
        ScaleTensor=scales,
        BiasTensor=along_channels(x, bias),
        FusedAddTensor=fused_add,
        Epsilon=epsilon,
        FusedActivation=activation,
    )
    return outputs["OutputTensor"], outputs["OutputMeanTensor"], outputs["OutputVarianceTensor"]


@checked
def batch_normalization_grad(
    x: Tensor, gradient: Tensor, mean: Operand, variance: Operand, scale: Operand, *, epsilon: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """Return gradients for x, scale and bias of ``batch_normalization``, whose statistics are fixed."""
    return _normalization_grad(
        d.DML_BATCH_NORMALIZATION_GRAD_OPERATOR_DESC, x, gradient, mean, variance, scale, epsilon
    )


@checked
def batch_normalization_training_grad(
    x: Tensor, gradient: Tensor, mean: Operand, variance: Operand, scale: Operand, *, epsilon: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """Return gradients for x, scale and bias of ``batch_normalization_training``, including those through its
    statistics."""
    cls = d.DML_BATCH_NORMALIZATION_TRAINING_GRAD_OPERATOR_DESC
    return _normalization_grad(cls, x, gradient, mean, variance, scale, epsilon)


def _normalization_grad(
    cls: type[OperatorDesc], x: Tensor, gradient: Tensor, mean: Operand, variance: Operand, scale: Operand,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    scales = along_channels(x, scale)
    outputs = x.builder.node(
        cls,
        {
            "OutputGradientTensor": x.builder.output(x.data_type, x.sizes),
            "OutputScaleGradientTensor": x.builder.output(x.data_type, scales.sizes),
            "OutputBiasGradientTensor": x.builder.output(x.data_type, scales.sizes),
        },
        InputTensor=x,
        InputGradientTensor=gradient,
        MeanTensor=along_channels(x, mean),
        VarianceTensor=along_channels(x, variance),
        ScaleTensor=scales,
        Epsilon=epsilon,
    )
    return outputs["OutputGradientTensor"], outputs["OutputScaleGradientTensor"], outputs["OutputBiasGradientTensor"]
