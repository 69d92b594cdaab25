"""Rules of the convolutions."""

from __future__ import annotations

from typing import Any

from ..descriptors import (
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
    DML_CONVOLUTION_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
)
from ..enums import DML_CONVOLUTION_DIRECTION
from .base import Check, rule


def _geometry(desc: Any, check: Check, *, backward: bool = False) -> int:
    """What all convolutions share: windows, channels, groups and the output's sizes. Returns the output channels."""
    spatial = desc.InputTensor.rank - 2
    padded: tuple[int, ...] = getattr(desc, "OutputPadding", (0,) * spatial)
    for field in ("Strides", "Dilations", "StartPadding", "EndPadding", "OutputPadding"):
        if hasattr(desc, field):
            check.length(field, spatial, "the spatial dimensions of InputTensor")
    for field in ("Strides", "Dilations", "GroupCount"):
        check.at_least(field, 1)
    batch, channels, *sizes = desc.InputTensor.Sizes
    first, second, *window = desc.FilterTensor.Sizes
    groups = desc.GroupCount
    check.that(channels % groups == 0, "GroupCount", f"must divide the {channels} channels of InputTensor")
    if backward:
        check.that(first == channels, "FilterTensor",
                   f"must have size {channels} in dimension 0 (InputTensor's channels: backward)",
                   desc.FilterTensor.Sizes)  # fmt: skip
        outputs = second * groups
    else:
        check.that(second == channels // groups, "FilterTensor",
                   f"must have size {channels // groups} in dimension 1 (InputTensor's channels / GroupCount)",
                   desc.FilterTensor.Sizes)  # fmt: skip
        check.that(first % groups == 0, "GroupCount", f"must divide the {first} output channels of FilterTensor")
        outputs = first
    expected = []
    for axis, (size, taps) in enumerate(zip(sizes, window, strict=True)):
        reach = (taps - 1) * desc.Dilations[axis] + 1
        padding = desc.StartPadding[axis] + desc.EndPadding[axis]
        more = padded[axis]
        if backward:
            result = (size - 1) * desc.Strides[axis] + reach - padding + more
            check.that(result >= 1, "OutputTensor", f"would have size {result} in dimension {axis + 2}")
        else:
            check.that(reach <= size + padding, "FilterTensor",
                       f"must not reach {reach} elements over the {size + padding} of the padded InputTensor in "
                       f"dimension {axis + 2}", desc.FilterTensor.Sizes)  # fmt: skip
            result = (size + padding - reach) // desc.Strides[axis] + 1 + more
        expected.append(result)
    check.sizes("OutputTensor", (batch, outputs, *expected), why="batch, output channels, positions of the window")
    if hasattr(desc, "BiasTensor"):
        check.sizes("BiasTensor", (1, outputs, *(1,) * spatial), why="one for each output channel")
    return int(outputs)


def _parameter(check: Check, name: str, channels: int) -> None:
    """A scale or zero point has one element, or one for each output channel, in dimension 1 (0 where it has one)."""
    for field, tensor in check.tensors(name):
        at = min(1, tensor.rank - 1)
        others = tensor.Sizes[:at] + tensor.Sizes[at + 1 :]
        rest = "" if channels == 1 else f", or {channels} in dimension {at}"
        check.that(
            tensor.Sizes[at] in (1, channels) and all(size == 1 for size in others),
            field, f"must have size 1 in every dimension{rest}", tensor.Sizes,
        )  # fmt: skip


@rule(DML_CONVOLUTION_OPERATOR_DESC)
def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, check: Check) -> None:
    """Filter: {outputs, inputs / groups, window} channels forward, {inputs, outputs / groups, window} backward."""
    _geometry(desc, check, backward=desc.Direction == DML_CONVOLUTION_DIRECTION.DML_CONVOLUTION_DIRECTION_BACKWARD)
    check.fused_activation()


@rule(DML_CONVOLUTION_INTEGER_OPERATOR_DESC)
def convolution_integer(desc: DML_CONVOLUTION_INTEGER_OPERATOR_DESC, check: Check) -> None:
    outputs = _geometry(desc, check)
    _parameter(check, "InputZeroPointTensor", 1)
    _parameter(check, "FilterZeroPointTensor", outputs)


@rule(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC)
def quantized_linear_convolution(desc: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, check: Check) -> None:
    outputs = _geometry(desc, check)
    for name in ("InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"):
        _parameter(check, name, 1)
    for name in ("FilterScaleTensor", "FilterZeroPointTensor"):
        _parameter(check, name, outputs)
