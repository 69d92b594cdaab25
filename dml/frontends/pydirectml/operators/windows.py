"""Convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dml.graph.operations as op
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.errors import DMLError
from dml.frontends.pydirectml.enumerations import ConvolutionDirection, ConvolutionMode
from dml.frontends.pydirectml.expressions import Expression, one
from dml.graph.operations.sizes import named_by
from dml.shapes import convolved_sizes, transposed_sizes

from .common import FusedActivation, each, fused


class MaxPoolingOutputs:
    """Outputs of ``max_pooling``; ``indices`` is empty unless output_indices is set."""

    def __init__(self, values: Expression, indices: Expression) -> None:
        self.values = values
        self.indices = indices


def convolution(
    input: Expression,
    filter: Expression,
    bias: Expression | None = None,
    mode: Any = ConvolutionMode.CROSS_CORRELATION,
    direction: Any = ConvolutionDirection.FORWARD,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    start_padding: Sequence[int] = (),
    end_padding: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    group_count: int = 1,
    fused_activation: FusedActivation | None = None,
    output_sizes: Sequence[int] = (),
) -> Expression:
    """Convolve. A backward convolution needs output_sizes, because DirectMLX does not infer them.

    Its strides leave its output's sizes ambiguous; output_sizes determine OutputPadding if that is not given.
    """
    sizes, window = input.tensor.sizes, filter.tensor.sizes
    count = len(sizes) - 2
    steps, gaps = each(strides, count, 1), each(dilations, count, 1)
    start, end = each(start_padding, count, 0), each(end_padding, count, 0)
    lists = steps, gaps, start, end
    wanted, beyond = tuple(output_sizes), each(output_padding, count, 0)
    if direction != ConvolutionDirection.FORWARD:
        if not wanted:
            raise DMLError("pydirectml.convolution: a backward convolution needs output_sizes")
        if not any(beyond) and len(wanted) == len(sizes):
            beyond = _output_padding(wanted, transposed_sizes(sizes, window, *lists), steps) or beyond
    elif not wanted:
        with named_by("pydirectml.convolution"):
            wanted = convolved_sizes(sizes, window, *lists)
    return one(
        DML_CONVOLUTION_OPERATOR_DESC,
        input,
        wanted,
        InputTensor=input,
        FilterTensor=filter,
        BiasTensor=bias,
        Mode=int(mode),
        Direction=int(direction),
        Strides=steps,
        Dilations=gaps,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=beyond,
        GroupCount=group_count,
        FusedActivation=fused(fused_activation),
    )


def _output_padding(wanted: tuple[int, ...], least: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return wanted - least for each dimension; None if it is not less than the stride."""
    rest = tuple(size - inside for size, inside in zip(wanted[2:], least[2:], strict=True))
    return rest if all(0 <= more < step for more, step in zip(rest, steps, strict=True)) else None


def average_pooling(
    input: Expression,
    strides: Sequence[int],
    window_sizes: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    include_padding: bool,
    dilations: Sequence[int] = (),
    output_sizes: Sequence[int] = (),
) -> Expression:
    """Return the mean of each window. output_sizes: all sizes of the output, which determine the end padding."""
    return Expression(
        op.average_pooling(
            input.tensor,
            window_sizes,
            strides=strides,
            start_padding=start_padding,
            end_padding=end_padding,
            dilations=dilations,
            include_padding=bool(include_padding),
            output_sizes=_spatial("average_pooling", input, output_sizes),
        )
    )


def max_pooling(
    input: Expression,
    window_sizes: Sequence[int],
    strides: Sequence[int] = (),
    start_padding: Sequence[int] = (),
    end_padding: Sequence[int] = (),
    dilations: Sequence[int] = (),
    output_indices: bool = False,
    output_sizes: Sequence[int] = (),
) -> MaxPoolingOutputs:
    """Return the maximum of each window, and with output_indices its position (UINT32).

    output_sizes: all sizes of the output, which determine the end padding.
    """
    count = len(window_sizes)
    given: dict[str, Any] = {
        "strides": each(strides, count, 1),
        "dilations": each(dilations, count, 1),
        "start_padding": each(start_padding, count, 0),
        "end_padding": each(end_padding, count, 0),
    }
    given["output_sizes"] = _spatial("max_pooling", input, output_sizes)
    if not output_indices:
        return MaxPoolingOutputs(Expression(op.max_pooling(input.tensor, window_sizes, **given)), Expression())
    values, indices = op.max_pooling_with_indices(input.tensor, window_sizes, **given)
    return MaxPoolingOutputs(Expression(values), Expression(indices))


def _spatial(name: str, input: Expression, output_sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the output's spatial sizes; None if none are given. Batch and channels must be the input's."""
    if not len(output_sizes):
        return None
    sizes = input.tensor.sizes
    if len(output_sizes) != len(sizes) or tuple(output_sizes[:2]) != sizes[:2]:
        raise DMLError(
            f"pydirectml.{name}: output_sizes must begin with batch and channels {sizes[:2]} and have {len(sizes)} "
            f"entries, found {list(output_sizes)}"
        )
    return tuple(output_sizes[2:])
