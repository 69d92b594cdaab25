"""Operations that only move elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dml.graph.operations as op
from dml import enums
from dml.arguments import checked
from dml.frontends.webnn.numbers import cast_number
from dml.frontends.webnn.operands import LARGEST_DIMENSION, MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor
from dml.shapes import padded_sizes, with_size, without_axis

PADDING_MODES = {
    "constant": enums.DML_PADDING_MODE_CONSTANT,
    "edge": enums.DML_PADDING_MODE_EDGE,
    "reflection": enums.DML_PADDING_MODE_REFLECTION,
}


class MovementOperations(OperationBuilder):
    """``concat``, ``expand``, ``pad``, ``reshape``, ``reverse``, ``slice``, ``split``, ``tile``, ``transpose`` and
    ``triangular``."""

    @checked
    def concat(self, inputs: Sequence[MLOperand], axis: int, *, label: str = "") -> MLOperand:
        """Concatenate the inputs along the axis."""
        step = self.step("concat", label)
        step.require(len(inputs) > 0, "needs at least one input")
        step.add("inputs", inputs)
        first = inputs[0]
        step.axis(axis, first)
        for item in inputs[1:]:
            step.same_types(inputs=first, other=item)
            step.require(
                item.rank == first.rank and without_axis(item.shape, axis) == without_axis(first.shape, axis),
                f"the shapes {first.shape} and {item.shape} may differ only along axis {axis}",
            )
        shape = with_size(first.shape, axis, sum(item.shape[axis] for item in inputs))
        return step.output(first.data_type, shape, lambda *tensors: op.join(tensors, axis))

    @checked
    def expand(self, input: MLOperand, new_shape: Sequence[int], *, label: str = "") -> MLOperand:
        """Broadcast the input to a shape."""
        step = self.step("expand", label, input=input)
        shape = step.unsigned("new_shape", new_shape, 1)
        step.require_broadcast("input", input.shape, shape)
        return step.output(input.data_type, shape, lambda x: x.broadcast(shape or (1,)))

    @checked
    def pad(
        self,
        input: MLOperand,
        beginning_padding: Sequence[int],
        ending_padding: Sequence[int],
        *,
        mode: str = "constant",
        value: float = 0,
        label: str = "",
    ) -> MLOperand:
        """Pad the input with ``value``, with its edge or with its reflection (mode "constant", "edge" or
        "reflection")."""
        step = self.step("pad", label, input=input)
        step.one_of("mode", mode, tuple(PADDING_MODES))
        start = step.numbers("beginning_padding", beginning_padding, (0,) * input.rank)
        end = step.numbers("ending_padding", ending_padding, (0,) * input.rank)
        for size, before, after in zip(input.shape, start, end, strict=True):
            step.require(
                mode != "reflection" or max(before, after) < size,
                f"reflection padding of {size} elements must be smaller than {size}, found {before} and {after}",
            )
        shape = padded_sizes(input.shape, start, end)
        filled = cast_number(value, input.data_type).item()

        def lower(x: Tensor) -> Tensor:
            return op.padding(x, start, end, PADDING_MODES[mode], filled) if shape else x

        return step.output(input.data_type, shape, lower)

    @checked
    def reshape(self, input: MLOperand, new_shape: Sequence[int], *, label: str = "") -> MLOperand:
        """Return the same elements in another shape."""
        step = self.step("reshape", label, input=input)
        shape = step.unsigned("new_shape", new_shape, 1)
        step.require(
            math.prod(shape) == math.prod(input.shape),
            f"the shapes {input.shape} and {shape} have different numbers of elements",
        )
        return step.output(input.data_type, shape, lambda x: x.reshape(*(shape or (1,))))

    @checked
    def reverse(self, input: MLOperand, *, axes: Sequence[int] | None = None, label: str = "") -> MLOperand:
        """Reverse the elements along the axes, by default all."""
        step = self.step("reverse", label, input=input)
        chosen = step.axes(range(input.rank) if axes is None else axes, input)
        strides = tuple(-1 if index in chosen else 1 for index in range(input.rank))

        def lower(x: Tensor) -> Tensor:
            return op.slice_(x, (0,) * input.rank, input.shape, strides) if chosen else x

        return step.output(input.data_type, input.shape, lower)

    @checked
    def slice(
        self,
        input: MLOperand,
        starts: Sequence[int],
        sizes: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        label: str = "",
    ) -> MLOperand:
        """Take a window of the input that begins at ``starts``; ``strides`` is the step between its elements."""
        step = self.step("slice", label, input=input)
        ones = (1,) * input.rank
        begin = step.numbers("starts", starts, ones)
        window = step.numbers("sizes", sizes, ones, 1)
        steps = step.numbers("strides", strides, ones, 1)
        for size, first, count in zip(input.shape, begin, window, strict=True):
            step.require(first + count <= size, f"{count} elements from {first} on exceed a dimension of {size}")
        shape = tuple(-(-count // by) for count, by in zip(window, steps, strict=True))
        return step.output(input.data_type, shape, lambda x: op.slice_(x, begin, window, steps) if shape else x)

    @checked
    def split(
        self, input: MLOperand, splits: int | Sequence[int], *, axis: int = 0, label: str = ""
    ) -> list[MLOperand]:
        """Split along the axis: into a number of equal chunks, or into chunks of the given sizes."""
        step = self.step("split", label, input=input)
        step.axis(axis, input)
        total = input.shape[axis]
        if isinstance(splits, Sequence):
            sizes = step.unsigned("splits", splits, 1)
            step.require(sum(sizes) == total, f"the splits {sizes} do not add up to {total}")
        else:
            step.unsigned("splits", [splits], 1)
            step.require(total % splits == 0, f"{total} elements do not split into {splits} equal chunks")
            sizes = (total // splits,) * splits
        shapes = [with_size(input.shape, axis, size) for size in sizes]
        return step.outputs(input.data_type, shapes, lambda x: op.split(x, axis, sizes))

    @checked
    def tile(self, input: MLOperand, repetitions: Sequence[int], *, label: str = "") -> MLOperand:
        """Repeat the input along each dimension."""
        step = self.step("tile", label, input=input)
        times = step.numbers("repetitions", repetitions, (1,) * input.rank, 1)
        shape = tuple(size * count for size, count in zip(input.shape, times, strict=True))
        step.require(all(map(is_dimension, shape)), f"a dimension has at most {LARGEST_DIMENSION} elements")
        return step.output(input.data_type, shape, lambda x: op.tile(x, times) if shape else x)

    @checked
    def transpose(self, input: MLOperand, *, permutation: Sequence[int] | None = None, label: str = "") -> MLOperand:
        """Permute the dimensions; the default is the reverse order."""
        step = self.step("transpose", label, input=input)
        order = tuple(range(input.rank))[::-1] if permutation is None else step.axes(permutation, input, "permutation")
        step.require(len(order) == input.rank, f"permutation takes {input.rank} numbers, found {order}")
        return step.output(
            input.data_type, [input.shape[axis] for axis in order], lambda x: x.transpose(*order) if order else x
        )

    @checked
    def triangular(self, input: MLOperand, *, upper: bool = True, diagonal: int = 0, label: str = "") -> MLOperand:
        """Set the elements below the diagonal (with upper=False: above it) to zero in the last two dimensions'
        matrices.

        diagonal: 0 is the main diagonal, positive ones lie to its right.
        """
        step = self.step("triangular", label, input=input)
        step.require(-(2**31) <= diagonal < 2**31, f"diagonal must be a 32-bit integer, found {diagonal}")
        return step.output(
            input.data_type, input.shape, lambda x: op.triangular(x, upper=bool(upper), diagonal=diagonal)
        )
