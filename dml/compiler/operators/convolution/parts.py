"""How a convolution whose tensors one binding does not hold is cut: by batch, groups, output and input channels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.tensors import packed_strides


@dataclass(frozen=True)
class Convolved:
    """The tensors of a convolution: {batch, channel, ...}, weights {output channel, input channel, ...} by group, or,
    backward, {input channel, output channel, ...}, bias {1, channel, 1, 1, 1}.
    """

    x: Operand
    weights: Operand
    bias: Operand | None
    result: Operand
    groups: int
    backward: bool

    def parts(self, most: int, padded: tuple[int, ...]) -> Iterator[list[Convolved]]:
        """Parts of the result, each as the convolutions along input channels whose sum it is (with the bias in each).

        most: bytes of a binding. padded: the spatial sizes of x with its padding, of which kernels make a copy.
        """
        tensors = [operand for operand in (self.x, self.weights, self.bias, self.result) if operand is not None]
        inputs, outputs = self.x.sizes[1] // self.groups, self.result.sizes[1] // self.groups
        space = (self.x.sizes[0], self.groups, outputs, inputs)
        if all(operand.region.size <= most for operand in tensors):
            yield [self]
            return
        # Kernels keep the sums, and a copy of x with its padding, in 32 bits.
        copies = [words(sizes, packed_strides(sizes)) for sizes in ((*self.x.sizes[:2], *padded), self.result.sizes)]
        views = list(map(self._by_channel, tensors, self._names()))
        spare = list(map(self._by_channel, copies, ("x", "result")))
        extents = cut([*views, *spare], most, range(4)) or cut(views, most, range(4)) or space
        if extents[2:] != space[2:]:
            extents = (extents[0], 1, *extents[2:])  # channels of several groups would no longer be evenly apart
        along_inputs = list(boxes(space[3:], extents[3:]))
        for box in boxes(space[:3], extents[:3]):
            yield [self._part((*box, *channels)) for channels in along_inputs]

    def _names(self) -> tuple[str, ...]:
        return ("x", "weights", *(() if self.bias is None else ("bias",)), "result")

    def _by_channel(self, operand: Operand, name: str) -> Operand:
        """Over (batch, group, output channel, input channel, ...), still where it does not vary."""
        inputs, outputs = self.x.sizes[1] // self.groups, self.result.sizes[1] // self.groups
        space = (self.x.sizes[0], self.groups, outputs, inputs)
        first, second, *rest = operand.strides
        steps = {
            "x": (first, inputs * second, 0, second),
            "weights": (0, inputs * first, second, first) if self.backward else (0, outputs * first, first, second),
            "bias": (0, outputs * second, second, 0),
            "result": (first, outputs * second, second, 0),
        }[name]
        return operand.view((*space, *operand.sizes[2:]), (*steps, *rest))

    def _part(self, box: Box) -> Convolved:
        batch, groups, outputs, inputs = (size for _, size in box)
        sizes = {
            "x": (batch, groups * inputs),
            "weights": (groups * inputs, outputs) if self.backward else (groups * outputs, inputs),
            "bias": (1, groups * outputs),
            "result": (batch, groups * outputs),
        }

        def part(operand: Operand, name: str) -> Operand:
            base = narrow(self._by_channel(operand, name), range(4), box).base
            return replace(operand, sizes=(*sizes[name], *operand.sizes[2:]), base=base)

        return Convolved(
            part(self.x, "x"),
            part(self.weights, "weights"),
            None if self.bias is None else part(self.bias, "bias"),
            part(self.result, "result"),
            groups,
            self.backward,
        )
