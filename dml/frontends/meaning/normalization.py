"""Normalizations that several formats share, as DirectML's MEAN_VARIANCE_NORMALIZATION of a view."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml.graph.builder import Tensor


def group_normalization(
    x: Tensor, groups: int, scale: Tensor, bias: Tensor, epsilon: float, *, channels_last: bool = False
) -> Tensor:
    """Normalize each group of channels of {N, C, ...}, then scale and shift.

    groups: a divisor of the number of channels. scale, bias: {C}, or {groups}. channels_last: x is {N, ..., C}.
    """
    batch, channels = x.sizes[0], x.sizes[-1 if channels_last else 1]
    each, pixels = channels // groups, prod(x.sizes[1:]) // channels
    own = scale.desc.element_count // groups
    if channels_last:
        view, axes, parameters = (batch, pixels, groups, each), [1, 3], (1, 1, groups, own)
    else:
        view, axes, parameters = (batch, groups, each, pixels), [2, 3], (1, groups, own, 1)
    normalized = op.mean_variance_normalization(
        x.reshape(*view), axes, scale.reshape(*parameters), bias.reshape(*parameters), epsilon=epsilon
    )
    return normalized.reshape(*x.sizes)
