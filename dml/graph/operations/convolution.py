"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.graph.builder import Operand, Tensor
from dml.shapes import (
    convolved_sizes,
)

from .sizes import given_or


@checked
def convolution(
    x: Tensor,
    weights: Operand,
    bias: Operand | None = None,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    groups: int = 1,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Cross-correlation of {N, C, spatial...} with {K, C / groups, window...}; bias {1, K, 1...} or {K}."""
    w = x.builder.like(weights, x)
    spatial = x.rank - 2
    ones, zeros = (1,) * spatial, (0,) * spatial
    strides, dilations = given_or(strides, ones), given_or(dilations, ones)
    start, end = given_or(start_padding, zeros), given_or(end_padding, zeros)
    if bias is not None:
        bias = x.builder.like(bias, x)
        bias = bias.view((1, bias.desc.element_count, *ones))
    return x.builder.one(
        DML_CONVOLUTION_OPERATOR_DESC,
        convolved_sizes(x.sizes, w.sizes, strides, dilations, start, end),
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=bias,
        Mode=enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=enums.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=zeros,
        GroupCount=groups,
        FusedActivation=activation,
    )
