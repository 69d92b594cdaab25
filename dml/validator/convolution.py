"""Rules of the convolutions."""

from __future__ import annotations

from typing import Any

from .. import descriptors as d
from ..enums import DML_CONVOLUTION_DIRECTION
from ..shapes import convolved_sizes, padded_sizes, transposed_sizes, window_reach
from .base import Check, rule

#: The dimension along which a scale or zero point may have an element for each output channel.
_CHANNELS = 1


def _geometry(desc: Any, check: Check, *, backward: bool = False) -> int:
    """Check windows, channels, groups and output sizes of any convolution; return the output channels."""
    spatial = desc.InputTensor.rank - 2
    for field in ("Strides", "Dilations", "StartPadding", "EndPadding", "OutputPadding"):
        if hasattr(desc, field):
            check.length(field, spatial, "the spatial dimensions of InputTensor")
    for field in ("Strides", "Dilations", "GroupCount"):
        check.at_least(field, 1)
    channels, groups = desc.InputTensor.Sizes[1], desc.GroupCount
    first, second = desc.FilterTensor.Sizes[:2]
    check.that(channels % groups == 0, "GroupCount", f"must divide the {channels} channels of InputTensor")
    if backward:
        check.that(first == channels, "FilterTensor",
                   f"must have size {channels} in dimension 0 (InputTensor's channels: backward)",
                   desc.FilterTensor.Sizes)  # fmt: skip
    else:
        check.that(second == channels // groups, "FilterTensor",
                   f"must have size {channels // groups} in dimension 1 (InputTensor's channels / GroupCount)",
                   desc.FilterTensor.Sizes)  # fmt: skip
        check.that(first % groups == 0, "GroupCount", f"must divide the {first} output channels of FilterTensor")
    expected = _output_sizes(desc, check, backward)
    check.sizes("OutputTensor", expected, why="batch, output channels, positions of the window")
    outputs = expected[1]
    if hasattr(desc, "BiasTensor"):
        check.sizes("BiasTensor", (1, outputs, *(1,) * spatial), why="one for each output channel")
    return outputs


def _output_sizes(desc: Any, check: Check, backward: bool) -> tuple[int, ...]:
    """Return the output's sizes; refuse windows that do not fit."""
    sizes, weights = desc.InputTensor.Sizes, desc.FilterTensor.Sizes
    how = (desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding, getattr(desc, "OutputPadding", None))
    if backward:
        expected = transposed_sizes(sizes, weights, *how, groups=desc.GroupCount)
        paddings = zip(desc.StartPadding, desc.EndPadding, strict=True)
        for axis, (size, (start, end)) in enumerate(zip(expected[2:], paddings, strict=True)):
            check.that(size >= 1, "StartPadding" if start >= end else "EndPadding",
                       f"must leave at least one of the {size + start + end} elements that the window covers in "
                       f"dimension {axis + 2}: StartPadding and EndPadding take {start} and {end}")  # fmt: skip
        return expected
    for axis, padded in enumerate(padded_sizes(sizes[2:], desc.StartPadding, desc.EndPadding)):
        reach = window_reach(weights[2 + axis], desc.Dilations[axis])
        check.that(reach <= padded, "FilterTensor",
                   f"with Dilations must fit the padded size of InputTensor in dimension {axis + 2}, {padded}",
                   reach)  # fmt: skip
    return convolved_sizes(sizes, weights, *how)


@rule(d.DML_CONVOLUTION_OPERATOR_DESC)
def convolution(desc: d.DML_CONVOLUTION_OPERATOR_DESC, check: Check) -> None:
    """Filter: {outputs, inputs / groups, window} channels forward, {inputs, outputs / groups, window} backward."""
    _geometry(desc, check, backward=desc.Direction == DML_CONVOLUTION_DIRECTION.DML_CONVOLUTION_DIRECTION_BACKWARD)
    check.fused_activation()


@rule(d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC)
def convolution_integer(desc: d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC, check: Check) -> None:
    outputs = _geometry(desc, check)
    check.one_or_along("InputZeroPointTensor", _CHANNELS, 1)
    check.one_or_along("FilterZeroPointTensor", _CHANNELS, outputs)


@rule(d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC)
def quantized_linear_convolution(desc: d.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, check: Check) -> None:
    outputs = _geometry(desc, check)
    for name in ("InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"):
        check.one_or_along(name, _CHANNELS, 1)
    for name in ("FilterScaleTensor", "FilterZeroPointTensor"):
        check.one_or_along(name, _CHANNELS, outputs)
