"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import convolved_sizes, each_dimension, transposed_sizes

from .sizes import given_or, named_by

__all__ = ["convolution", "convolution_integer", "quantized_linear_convolution", "transposed_convolution"]


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
    output_sizes: Sequence[int] | None = None,
    groups: int = 1,
    mode: enums.DML_CONVOLUTION_MODE | str = enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Convolve {N, C, spatial...} with {K, C / groups, window...}; bias is {1, K, 1...} or {K}.

    mode: CONVOLUTION flips the window along every spatial axis. output_sizes: the spatial sizes, which must follow from
    windows and padding (else DMLError).
    """
    w = x.builder.like(weights, x)
    sizes, fields = _forward("convolution", x, w, strides, dilations, start_padding, end_padding)
    if output_sizes is not None and tuple(output_sizes) != sizes[2:]:
        raise DMLError(f"convolution: output_sizes must be {sizes[2:]}, found {tuple(output_sizes)}")
    return x.builder.one(
        d.DML_CONVOLUTION_OPERATOR_DESC,
        sizes,
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=_channels(x, bias),
        Mode=mode,
        Direction=enums.DML_CONVOLUTION_DIRECTION_FORWARD,
        OutputPadding=(0,) * (x.rank - 2),
        GroupCount=groups,
        FusedActivation=activation,
        **fields,
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
    mode: enums.DML_CONVOLUTION_MODE | str = enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Compute the gradient of a convolution, as a layer: {N, C, spatial...} with {C, K / groups, window...}; bias as
    for ``convolution``.

    The padding is cut off the output. output_padding: number of elements after it, fewer than the stride. output_sizes:
    alternatively, the output's spatial sizes, which exceed the smallest possible ones by less than a stride. Raises
    DMLError for other sizes. mode: CONVOLUTION flips the window along every spatial axis.
    """
    w = x.builder.like(weights, x)
    spatial = x.rank - 2
    ones, zeros = (1,) * spatial, (0,) * spatial
    strides, dilations = given_or(strides, ones), given_or(dilations, ones)
    start, end = given_or(start_padding, zeros), given_or(end_padding, zeros)
    beyond = given_or(output_padding, zeros)
    with named_by("transposed_convolution"):
        if output_sizes is not None:
            least = transposed_sizes(x.sizes, w.sizes, strides, dilations, start, end)[2:]
            beyond = tuple(size - inside for size, inside in each_dimension(output_sizes, least))
            if not all(0 <= more < step for more, step in each_dimension(beyond, strides)):
                most = tuple(size + step - 1 for size, step in each_dimension(least, strides))
                raise DMLError(f"output_sizes must be between {least} and {most}, found {tuple(output_sizes)}")
        sizes = transposed_sizes(x.sizes, w.sizes, strides, dilations, start, end, beyond, groups)
    return x.builder.one(
        d.DML_CONVOLUTION_OPERATOR_DESC,
        sizes,
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=_channels(x, bias),
        Mode=mode,
        Direction=enums.DML_CONVOLUTION_DIRECTION_BACKWARD,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=beyond,
        GroupCount=groups,
        FusedActivation=activation,
    )


@checked
def convolution_integer(
    x: Tensor,
    weights: Operand,
    zero_point: Operand | None = None,
    weights_zero_point: Operand | None = None,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    groups: int = 1,
) -> Tensor:
    """Convolve integers after subtracting their zero points; the result is INT32."""
    w = x.builder.like(weights, x)
    sizes, fields = _forward("convolution_integer", x, w, strides, dilations, start_padding, end_padding)
    return x.builder.one(
        d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
        sizes,
        enums.DML_TENSOR_DATA_TYPE_INT32,
        InputTensor=x,
        InputZeroPointTensor=_channels(x, zero_point),
        FilterTensor=w,
        FilterZeroPointTensor=_channels(w, weights_zero_point),
        GroupCount=groups,
        **fields,
    )


@checked
def quantized_linear_convolution(
    x: Tensor,
    scale: Operand,
    weights: Operand,
    weights_scale: Operand,
    output_scale: Operand,
    bias: Operand | None = None,
    *,
    zero_point: Operand | None = None,
    weights_zero_point: Operand | None = None,
    output_zero_point: Operand | None = None,
    data_type: DML_TENSOR_DATA_TYPE | None = None,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    groups: int = 1,
) -> Tensor:
    """Convolve quantized tensors and quantize the result to ``data_type``, by default that of its zero point or of x.

    Scales are FLOAT32, the bias INT32 in steps of scale * weights_scale.
    """
    w = x.builder.like(weights, x)
    sizes, fields = _forward("quantized_linear_convolution", x, w, strides, dilations, start_padding, end_padding)
    if data_type is None:
        data_type = output_zero_point.data_type if isinstance(output_zero_point, Tensor) else x.data_type
    floats = x.builder.constant(np.ones(1, np.float32))
    return x.builder.one(
        d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
        sizes,
        data_type,
        InputTensor=x,
        InputScaleTensor=_channels(x, x.builder.like(scale, floats)),
        InputZeroPointTensor=_channels(x, zero_point),
        FilterTensor=w,
        FilterScaleTensor=_channels(x, x.builder.like(weights_scale, floats)),
        FilterZeroPointTensor=_channels(w, weights_zero_point),
        BiasTensor=_channels(x, bias),
        OutputScaleTensor=_channels(x, x.builder.like(output_scale, floats)),
        OutputZeroPointTensor=_channels(x, output_zero_point),
        GroupCount=groups,
        **fields,
    )


def _forward(
    name: str, x: Tensor, w: Tensor, strides: Sequence[int] | None, dilations: Sequence[int] | None,
    start: Sequence[int] | None, end: Sequence[int] | None,
) -> tuple[tuple[int, ...], dict[str, Any]]:  # fmt: skip
    """Return the output's sizes and the fields that describe the windows."""
    ones, zeros = (1,) * (x.rank - 2), (0,) * (x.rank - 2)
    fields = {
        "Strides": given_or(strides, ones),
        "Dilations": given_or(dilations, ones),
        "StartPadding": given_or(start, zeros),
        "EndPadding": given_or(end, zeros),
    }
    with named_by(name):
        return convolved_sizes(x.sizes, w.sizes, *fields.values()), fields


def _channels(x: Tensor, bias: Operand | None) -> Tensor | None:
    """Reshape {K} to {1, K, 1...}."""
    if bias is None:
        return None
    tensor = x.builder.like(bias, x)
    return tensor.packed().view((1, tensor.desc.element_count, *(1,) * (x.rank - 2)))
