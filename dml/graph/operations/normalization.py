"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml import descriptors as d
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.graph.builder import Operand, Tensor
from dml.shapes import checked_axis

__all__ = ["batch_normalization", "local_response_normalization", "mean_variance_normalization"]


def along_channels(x: Tensor, value: Operand) -> Tensor:
    """Reshape {C} to {1, C, 1...}; return tensors of x's rank unchanged."""
    tensor = x.builder.like(value, x)
    if tensor.rank == x.rank:
        return tensor
    return tensor.packed().view((1, tensor.desc.element_count, *(1,) * (x.rank - 2)))


@checked
def batch_normalization(
    x: Tensor,
    mean_: Operand,
    variance: Operand,
    scale: Operand,
    bias: Operand,
    *,
    epsilon: float = 1e-5,
    spatial: bool = True,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Return scale * (x - mean) / sqrt(variance + epsilon) + bias, with statistics per channel."""
    return x.builder.one(
        d.DML_BATCH_NORMALIZATION_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        MeanTensor=along_channels(x, mean_),
        VarianceTensor=along_channels(x, variance),
        ScaleTensor=along_channels(x, scale),
        BiasTensor=along_channels(x, bias),
        Spatial=spatial,
        Epsilon=epsilon,
        FusedActivation=activation,
    )


@checked
def mean_variance_normalization(
    x: Tensor,
    axes: Sequence[int],
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    normalize_variance: bool = True,
    normalize_mean: bool = True,
    epsilon: float = 1e-5,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Return x minus its mean over the axes, divided by its standard deviation, then scaled and shifted (both broadcast
    to x).

    normalize_mean: False does not subtract the mean, and divides by the root of the mean square
    (MEAN_VARIANCE_NORMALIZATION2, from feature level 6_3 on).
    """

    def like(value: Operand | None) -> Tensor | None:
        return None if value is None else x.builder.like(value, x).broadcast(x.sizes)

    cls: type[OperatorDesc] = d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC
    chosen: dict[str, Any] = {"NormalizeVariance": normalize_variance}
    if not normalize_mean:
        cls = d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC
        chosen = {"UseMean": False, "UseVariance": normalize_variance}
    return x.builder.one(
        cls,
        x.sizes,
        InputTensor=x,
        ScaleTensor=like(scale),
        BiasTensor=like(bias),
        Axes=tuple(checked_axis(axis, x.rank, "mean_variance_normalization") for axis in axes),
        **chosen,
        Epsilon=epsilon,
        FusedActivation=activation,
    )


@checked
def local_response_normalization(
    x: Tensor,
    *,
    local_size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
    cross_channel: bool = True,
) -> Tensor:
    """Divide x by a power of the sum of squares around it."""
    return x.builder.one(
        d.DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        CrossChannel=cross_channel,
        LocalSize=local_size,
        Alpha=alpha,
        Beta=beta,
        Bias=bias,
    )
