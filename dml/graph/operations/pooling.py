"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence

from dml.arguments import checked
from dml.descriptors.pooling import DML_AVERAGE_POOLING_OPERATOR_DESC, DML_MAX_POOLING2_OPERATOR_DESC
from dml.graph.builder import Tensor
from dml.shapes import (
    pooled_sizes,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC

from .sizes import given_or


@checked
def average_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    include_padding: bool = False,
) -> Tensor:
    """The mean over windows of the spatial dimensions of {N, C, spatial...}."""
    zeros, ones = (0,) * len(window), (1,) * len(window)
    strides, start, end = given_or(strides, ones), given_or(start_padding, zeros), given_or(end_padding, zeros)
    return x.builder.one(
        DML_AVERAGE_POOLING_OPERATOR_DESC,
        pooled_sizes(x.sizes, window, strides, None, start, end),
        InputTensor=x,
        Strides=strides,
        WindowSize=tuple(window),
        StartPadding=start,
        EndPadding=end,
        IncludePadding=include_padding,
    )


@checked
def max_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The maximum over windows of the spatial dimensions of {N, C, spatial...}."""
    zeros, ones = (0,) * len(window), (1,) * len(window)
    strides, start, end = given_or(strides, ones), given_or(start_padding, zeros), given_or(end_padding, zeros)
    dilations = given_or(dilations, ones)
    sizes = pooled_sizes(x.sizes, window, strides, dilations, start, end)
    made = x.builder.node(
        DML_MAX_POOLING2_OPERATOR_DESC,
        {"OutputTensor": DML_BUFFER_TENSOR_DESC(x.data_type, sizes)},
        InputTensor=x,
        Strides=strides,
        WindowSize=tuple(window),
        StartPadding=start,
        EndPadding=end,
        Dilations=dilations,
    )
    result = made["OutputTensor"]
    assert isinstance(result, Tensor)
    return result
