"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import convolved_sizes, each_dimension, transposed_sizes

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
    return x.builder.one(
        DML_CONVOLUTION_OPERATOR_DESC,
        convolved_sizes(x.sizes, w.sizes, strides, dilations, start, end),
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=_channels(x, bias),
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


@checked
def transposed_convolution(
    x: Tensor,
    weights: Operand,
    bias: Operand | None = None,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_sizes: Sequence[int] | None = None,
    groups: int = 1,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """The gradient of a convolution, as a layer: {N, C, spatial...} with {C, K / groups, window...}; bias as there.

    The padding is cut off the output. output_padding: elements behind it, fewer than the stride. output_sizes: the
    spatial sizes instead of that; they must lie less than a stride above the least. Raises DMLError for others.
    Reference: dml_convolution_operator_desc, direction BACKWARD.
    """
    w = x.builder.like(weights, x)
    spatial = x.rank - 2
    ones, zeros = (1,) * spatial, (0,) * spatial
    strides, dilations = given_or(strides, ones), given_or(dilations, ones)
    start, end = given_or(start_padding, zeros), given_or(end_padding, zeros)
    beyond = given_or(output_padding, zeros)
    if output_sizes is not None:
        least = transposed_sizes(x.sizes, w.sizes, strides, dilations, start, end)[2:]
        beyond = tuple(size - inside for size, inside in each_dimension(output_sizes, least))
        if not all(0 <= more < step for more, step in each_dimension(beyond, strides)):
            raise DMLError(
                f"transposed_convolution: output_sizes must be {least}, or more by less than the strides {strides}, "
                f"found {tuple(output_sizes)}"
            )
    return x.builder.one(
        DML_CONVOLUTION_OPERATOR_DESC,
        transposed_sizes(x.sizes, w.sizes, strides, dilations, start, end, beyond, groups),
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=_channels(x, bias),
        Mode=enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=enums.DML_CONVOLUTION_DIRECTION_BACKWARD,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=beyond,
        GroupCount=groups,
        FusedActivation=activation,
    )


def _channels(x: Tensor, bias: Operand | None) -> Tensor | None:
    """{K} as {1, K, 1...}."""
    if bias is None:
        return None
    tensor = x.builder.like(bias, x)
    return tensor.view((1, tensor.desc.element_count, *(1,) * (x.rank - 2)))
