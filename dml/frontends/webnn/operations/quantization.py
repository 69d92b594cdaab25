"""Linear quantization with a scale and a zero point for each block of elements."""

from __future__ import annotations

import math

import dml.graph.operations as op
from dml import enums
from dml.arguments import checked
from dml.frontends.webnn.operands import DATA_TYPES, FOUR_BITS, MLOperand
from dml.frontends.webnn.steps import OperationBuilder, OperationStep
from dml.graph.builder import Tensor
from dml.shapes import with_size

#: The operators that support blocks; only they take 4-bit types.
_BLOCKS = enums.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT


class QuantizationOperations(OperationBuilder):
    """``dequantize_linear`` and ``quantize_linear``."""

    @checked
    def dequantize_linear(
        self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """(x - zero_point) * scale, in scale's data type.

        scale, zero_point: the input's rank; each size divides the input's size, and each element applies to a block.
        """
        step = self.step("dequantize_linear", label, input=input, scale=scale, zero_point=zero_point)
        step.same_types(input=input, zero_point=zero_point)
        _check_blocks(step, input, scale, zero_point)
        kind = DATA_TYPES[scale.data_type]

        def lower(x: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
            if input.data_type in FOUR_BITS:
                return op.dequantize(x, [scales, zeros], _BLOCKS, kind)
            return op.dequantize_linear(x, _blocks(scales, x.sizes), _blocks(zeros, x.sizes), kind)

        return step.output(scale.data_type, input.shape, lower)

    @checked
    def quantize_linear(
        self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *, label: str = ""
    ) -> MLOperand:
        """round(x / scale) + zero_point; halves round to even, and the result saturates in zero_point's data type.

        scale, zero_point: the input's rank; each size divides the input's size, and each element applies to a block.
        """
        step = self.step("quantize_linear", label, input=input, scale=scale, zero_point=zero_point)
        step.same_types(input=input, scale=scale)
        _check_blocks(step, input, scale, zero_point)
        kind = DATA_TYPES[zero_point.data_type]

        def lower(x: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
            if zero_point.data_type in FOUR_BITS:
                return op.quantize(x, [scales, zeros], _BLOCKS, kind)
            return op.quantize_linear(x, _blocks(scales, x.sizes), _blocks(zeros, x.sizes), kind)

        return step.output(zero_point.data_type, input.shape, lower)


def _check_blocks(step: OperationStep, input: MLOperand, scale: MLOperand, zero_point: MLOperand) -> None:
    step.require(
        scale.rank == input.rank and all(size % part == 0 for size, part in zip(input.shape, scale.shape, strict=True)),
        f"scale's sizes must divide those of the input, {input.shape}, one by one, found {scale.shape}",
    )
    step.shape_of("zero_point", zero_point, scale.shape)


def _blocks(x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Repeat each element over its block of a tensor of these sizes."""
    for axis, size in enumerate(sizes):
        part = x.sizes[axis]
        if 1 < part < size:
            before, after = math.prod(x.sizes[: axis + 1]), math.prod(x.sizes[axis + 1 :])
            repeated = x.reshape(before, 1, after).broadcast((before, size // part, after))
            x = repeated.reshape(*with_size(x.sizes, axis, size))
    return x.broadcast(sizes)
