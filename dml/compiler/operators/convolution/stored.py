"""Convolutions with filters of 4 and 8 bits as stored: the filter is dequantized for a range of output channels at a
time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dml.compiler.builder import ProgramBuilder
from dml.compiler.operators.convolution.convolve import convolve
from dml.compiler.operators.convolution.geometry import Convolution
from dml.compiler.operators.gemm.blocks import rows_of_blocks
from dml.compiler.operators.movement.views import part
from dml.compiler.operators.quantization import dequantize_blocks
from dml.compiler.program import Operand
from dml.compiler.scalar import Expression
from dml.compiler.selection.stored_weights import columns_in_part
from dml.enums import DML_TENSOR_DATA_TYPE


def convolve_stored(
    builder: ProgramBuilder,
    convolution: Convolution,
    per_block: Sequence[Operand],
    data_type: DML_TENSOR_DATA_TYPE,
    finish: Expression,
) -> None:
    """Like ``convolve``, without groups. per_block: scales and optionally zero points of the filter. data_type: the
    type of the dequantized filter."""
    numbers, result, bias = convolution.weights, convolution.result, convolution.bias
    channels, *rest = numbers.sizes
    step = columns_in_part(builder.target, 4 * math.prod(rest))
    for start in range(0, channels, step):
        count = min(step, channels - start)
        stored, *own = rows_of_blocks(numbers, per_block, start, count)
        wide = builder.temporary(data_type, stored.sizes)
        dequantize_blocks(builder, wide, stored, own)
        some = replace(
            convolution, weights=wide, bias=bias and part(bias, 1, start, count), result=part(result, 1, start, count)
        )
        convolve(builder, some, finish)
