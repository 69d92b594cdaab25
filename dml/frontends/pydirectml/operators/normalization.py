"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

import dml.graph.operations as op
from dml import descriptors as d
from dml.frontends.pydirectml.expressions import Expression, unary

from .common import REQUIRED, FusedActivation, fused, need


def mean_variance_normalization(
    input: Expression,
    scale: Expression | None = None,
    bias: Expression | None = None,
    axes: Sequence[int] = (),
    normalize_variance: bool = REQUIRED,
    epsilon: float = REQUIRED,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    need(normalize_variance=normalize_variance, epsilon=epsilon)
    return unary(
        d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
        input,
        ScaleTensor=scale,
        BiasTensor=bias,
        Axes=tuple(axes),
        NormalizeVariance=bool(normalize_variance),
        Epsilon=epsilon,
        FusedActivation=fused(fused_activation),
    )


def batch_normalization(
    input: Expression,
    mean: Expression,
    variance: Expression,
    scale: Expression,
    bias: Expression,
    spatial: bool,
    epsilon: float,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    return unary(
        d.DML_BATCH_NORMALIZATION_OPERATOR_DESC,
        input,
        MeanTensor=mean,
        VarianceTensor=variance,
        ScaleTensor=scale,
        BiasTensor=bias,
        Spatial=bool(spatial),
        Epsilon=epsilon,
        FusedActivation=fused(fused_activation),
    )


def local_response_normalization(
    input: Expression, cross_channel: bool, local_size: int, alpha: float, beta: float, bias: float
) -> Expression:
    return Expression(
        op.local_response_normalization(
            input.tensor, local_size=local_size, alpha=alpha, beta=beta, bias=bias, cross_channel=bool(cross_channel)
        )
    )
