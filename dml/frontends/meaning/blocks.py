"""Numbers of few bits with scales and zero points, one for each block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import dml.graph.operations as op
from dml.enums import DML_QUANTIZATION_TYPE, DML_TENSOR_DATA_TYPE
from dml.graph.builder import Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC


def narrow(x: Tensor, sizes: Sequence[int], data_type: DML_TENSOR_DATA_TYPE) -> Tensor:
    """View bytes as the numbers packed in them, lower bits first, or numbers as bytes; nothing is computed."""
    tensor = x.packed()
    total = tensor.desc.TotalTensorSizeInBytes
    desc = DML_BUFFER_TENSOR_DESC(data_type, tuple(sizes), None, total, Flags=tensor.desc.Flags)
    return Tensor(x.builder, tensor.source, desc)


def dequantized(x: Tensor, scales: Tensor, points: Tensor | None = None) -> Tensor:
    """Return (x - zero point) * scale, per block, in the scales' type.

    The parameters' sizes divide those of x; a single zero point serves all blocks.
    """
    given = [scales] if points is None else [scales, points.broadcast(scales.sizes)]
    return op.dequantize(x, given, DML_QUANTIZATION_TYPE(len(given)))


def reshaped_blocks(sizes: Sequence[int], counts: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Return the sizes of a parameter of blocks after a reshape of the numbers; None if blocks cannot express it.

    counts: the parameter's sizes, which divide ``sizes``. Its elements keep their order.
    """
    result: list[int] = []
    old, new = list(zip(sizes, counts, strict=True)), list(wanted)
    while old or new:
        # the fewest dimensions on both sides with the same number of elements
        group, ends = [old.pop(0)] if old else [], [new.pop(0)] if new else []
        while prod(size for size, _ in group) != prod(ends):
            if prod(size for size, _ in group) < prod(ends):
                group.append(old.pop(0))
            else:
                ends.append(new.pop(0))
        count = _merged(group)
        own = None if count is None else _divided(count, ends)
        if own is None:
            return None
        result += own
    return tuple(result)


def _merged(group: Sequence[tuple[int, int]]) -> int | None:
    """Return the number of blocks along the merged dimensions; None if a block is not contiguous in them: after a
    dimension with blocks of several numbers, all others must have a single block."""
    total, is_inside = 1, False
    for size, count in group:
        if is_inside and count != 1:
            return None
        total *= count
        is_inside = is_inside or count < size
    return total


def _divided(count: int, sizes: Sequence[int]) -> list[int] | None:
    """Divide ``count`` blocks of a dimension among those of ``sizes`` that replace it; None if they do not fit."""
    own = []
    for size in sizes:
        if count % size == 0:
            own.append(size)
        elif size % count == 0:
            own.append(count)
        else:
            return None
        count //= own[-1]
    return own
