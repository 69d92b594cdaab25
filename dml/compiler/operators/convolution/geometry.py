"""A convolution's tensors in three spatial dimensions, and the geometry of its windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dml.compiler.program import Operand, fast_replace
from dml.compiler.selection.convolution import Three
from dml.enums import DML_CONVOLUTION_DIRECTION_BACKWARD, DML_CONVOLUTION_MODE_CONVOLUTION


def three(values: Iterable[int]) -> Three:
    """Return three values as a tuple of known length for type checkers."""
    z, y, x = values
    return z, y, x


@dataclass(frozen=True)
class Geometry:
    """Window geometry for depth, height and width. output_padding: results beyond those of a forward convolution's
    windows."""

    strides: Three
    dilations: Three
    padding: Three
    output_padding: Three
    groups: int
    backward: bool = False
    flipped: bool = False

    @staticmethod
    def of(desc: Any) -> Geometry:
        """Return the geometry of any convolution descriptor, which has one to three spatial dimensions."""

        def filled(values: tuple[int, ...], missing: int) -> Three:
            return three((missing,) * (3 - len(values)) + values)

        return Geometry(
            filled(desc.Strides, 1),
            filled(desc.Dilations, 1),
            filled(desc.StartPadding, 0),
            filled(getattr(desc, "OutputPadding", ()), 0),
            desc.GroupCount,
            getattr(desc, "Direction", None) == DML_CONVOLUTION_DIRECTION_BACKWARD,
            getattr(desc, "Mode", None) == DML_CONVOLUTION_MODE_CONVOLUTION,
        )


def _exchanged(values: Sequence[int]) -> tuple[int, ...]:
    """Exchange the last two of the values."""
    return (*values[:-2], values[-1], values[-2])


@dataclass(frozen=True)
class Convolution:
    """``result = convolution of x with weights + bias``, with operands of five dimensions:

    x and result {batch, channel, depth, height, width}, weights {output channel, input channel of a group, window} or,
    backward, {input channel, output channel of a group, window}, bias {1, channel, 1, 1, 1}.
    """

    x: Operand
    weights: Operand
    bias: Operand | None
    result: Operand
    geometry: Geometry

    def along_width(self) -> Convolution:
        """Exchange height and width if all tensors have one column: tiles of results and whole vectors lie along the
        width."""
        operands = (self.x, self.weights, self.result)
        geometry = self.geometry
        is_column = all(operand.sizes[4] == 1 for operand in operands) and self.result.sizes[3] > 1
        if not is_column or geometry.padding[2] or geometry.output_padding[2]:
            return self
        x, weights, result = (
            operand.view(_exchanged(operand.sizes), _exchanged(operand.strides)) for operand in operands
        )
        turned = replace(
            geometry,
            strides=three(_exchanged(geometry.strides)),
            dilations=three(_exchanged(geometry.dilations)),
            padding=three(_exchanged(geometry.padding)),
            output_padding=three(_exchanged(geometry.output_padding)),
        )
        return Convolution(x, weights, self.bias, result, turned)

    @property
    def inputs(self) -> int:
        """Input channels per group."""
        return self.x.sizes[1] // self.geometry.groups

    @property
    def outputs(self) -> int:
        """Output channels per group."""
        return self.result.sizes[1] // self.geometry.groups

    @property
    def weights_by_group(self) -> Operand:
        """The weights as {group, output channel, input channel, window}, in either direction."""
        first, second, *window = self.weights.strides
        if self.geometry.backward:
            channels = (self.inputs * first, second, first)
        else:
            channels = (self.outputs * first, first, second)
        sizes = (self.geometry.groups, self.outputs, self.inputs, *self.weights.sizes[2:])
        return self.weights.view(sizes, (*channels, *window))

    def to(self, result: Operand) -> Convolution:
        """Return the convolution with another result tensor."""
        return fast_replace(self, result=result)
