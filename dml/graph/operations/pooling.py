"""Pooling over windows of the spatial dimensions of {N, C, spatial...}.

All functions have these parameters: strides and dilations, 1 by default, and padding, 0 by default. The output's size
along each dimension is the number of windows that fit; with ``ceil_mode`` one more window may begin inside the input or
its start padding and reach beyond the end (as in ONNX and PyTorch). ``output_sizes`` gives the spatial sizes instead.
In both cases the end padding is adapted to the sizes; means ignore its additional part. Raises DMLError for sizes that
no end padding yields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.graph.builder import Tensor
from dml.shapes import each_dimension, end_paddings, pooled_sizes, window_counts

from .movement import padding
from .sizes import given_or, named_by

__all__ = ["average_pooling", "lp_pooling", "max_pooling", "max_pooling_with_indices"]


@dataclass(frozen=True)
class _Windows:
    """Fields that describe the windows, and the resulting output sizes."""

    sizes: tuple[int, ...]
    dilations: tuple[int, ...]
    fields: dict[str, Any]

    @property
    def dilated(self) -> bool:
        return any(gap != 1 for gap in self.dilations)


def _windows(
    name: str, x: Tensor, window: Sequence[int], strides: Sequence[int] | None, start: Sequence[int] | None,
    end: Sequence[int] | None, dilations: Sequence[int] | None, ceil_mode: bool, output_sizes: Sequence[int] | None,
) -> _Windows:  # fmt: skip
    zeros, ones = (0,) * len(window), (1,) * len(window)
    steps, gaps = given_or(strides, ones), given_or(dilations, ones)
    before, after = given_or(start, zeros), given_or(end, zeros)
    with named_by(name):
        if ceil_mode or output_sizes is not None:
            wanted = output_sizes
            if wanted is None:
                windows = (x.sizes[2:], window, steps, gaps, before, after)
                wanted = window_counts(*windows, round_up=True, starts_inside=True)
            after = end_paddings(x.sizes, window, steps, gaps, before, wanted)
        sizes = pooled_sizes(x.sizes, window, steps, gaps, before, after)
    return _Windows(
        sizes, gaps, {"Strides": steps, "WindowSize": tuple(window), "StartPadding": before, "EndPadding": after}
    )


@checked
def average_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    include_padding: bool = False,
    ceil_mode: bool = False,
    output_sizes: Sequence[int] | None = None,
) -> Tensor:
    """Return the mean over each window. include_padding: padding counts as zeros instead of being ignored."""
    found = _windows("average_pooling", x, window, strides, start_padding, end_padding, dilations, ceil_mode,
                     output_sizes)  # fmt: skip
    given = given_or(end_padding, (0,) * len(window))
    if include_padding and any(more > own for more, own in each_dimension(found.fields["EndPadding"], given)):
        # Replace the counted padding by real zeros, so that the padding after them can be ignored
        x = padding(x, (0, 0, *found.fields["StartPadding"]), (0, 0, *given))
        return average_pooling(x, window, strides=strides, dilations=dilations, output_sizes=found.sizes[2:])
    fields: dict[str, Any] = {**found.fields, "InputTensor": x, "IncludePadding": include_padding}
    if found.dilated:
        return x.builder.one(d.DML_AVERAGE_POOLING1_OPERATOR_DESC, found.sizes, Dilations=found.dilations, **fields)
    return x.builder.one(d.DML_AVERAGE_POOLING_OPERATOR_DESC, found.sizes, **fields)


@checked
def lp_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    p: int = 2,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    output_sizes: Sequence[int] | None = None,
) -> Tensor:
    """Return the p-norm of each window: ``(sum |x|^p)^(1/p)``."""
    found = _windows("lp_pooling", x, window, strides, start_padding, end_padding, dilations, ceil_mode,
                     output_sizes)  # fmt: skip
    if found.dilated:
        return x.builder.one(
            d.DML_LP_POOLING1_OPERATOR_DESC, found.sizes, InputTensor=x, Dilations=found.dilations, P=p, **found.fields
        )
    return x.builder.one(d.DML_LP_POOLING_OPERATOR_DESC, found.sizes, InputTensor=x, P=p, **found.fields)


@checked
def max_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    output_sizes: Sequence[int] | None = None,
) -> Tensor:
    """Return the maximum of each window, without padding."""
    found = _windows("max_pooling", x, window, strides, start_padding, end_padding, dilations, ceil_mode, output_sizes)
    return _max_pooling(x, found, None)[0]


@checked
def max_pooling_with_indices(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    ceil_mode: bool = False,
    output_sizes: Sequence[int] | None = None,
    index_type: enums.DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_UINT32,
) -> tuple[Tensor, Tensor]:
    """Return the maximum of each window, and its row-major index in the whole of x (in ``index_type``)."""
    found = _windows("max_pooling_with_indices", x, window, strides, start_padding, end_padding, dilations, ceil_mode,
                     output_sizes)  # fmt: skip
    values, indices = _max_pooling(x, found, index_type)
    assert indices is not None
    return values, indices


def _max_pooling(
    x: Tensor, found: _Windows, index_type: enums.DML_TENSOR_DATA_TYPE | None
) -> tuple[Tensor, Tensor | None]:
    outputs = {"OutputTensor": x.builder.output(x.data_type, found.sizes)}
    if index_type is not None:
        outputs["OutputIndicesTensor"] = x.builder.output(index_type, found.sizes)
    results = x.builder.node(
        d.DML_MAX_POOLING2_OPERATOR_DESC, outputs, InputTensor=x, Dilations=found.dilations, **found.fields
    )
    return results["OutputTensor"], results.get("OutputIndicesTensor")
