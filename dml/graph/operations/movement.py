"""Operators that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import (
    checked_axis,
    depth_to_space_sizes,
    joined_sizes,
    padded_sizes,
    scaled_sizes,
    sliced_sizes,
    space_to_depth_sizes,
    with_size,
)

from .attributes import scalar_of
from .sizes import given_or, named_by, sizes_of

__all__ = [
    "depth_to_space", "join", "one_hot", "padding", "reverse_subsequences", "slice_", "space_to_depth", "split",
    "tile", "triangular",
]  # fmt: skip


@checked
def slice_(x: Tensor, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int] | None = None) -> Tensor:
    """Return every ``strides``-th element of a window of ``sizes`` elements that begins at ``offsets``; negative
    strides go backwards from the window's end."""
    steps = given_or(strides, (1,) * x.rank)
    with named_by("slice_"):
        sliced = sliced_sizes(sizes, steps)
    return x.builder.one(
        d.DML_SLICE1_OPERATOR_DESC,
        sliced,
        InputTensor=x,
        InputWindowOffsets=tuple(offsets),
        InputWindowSizes=tuple(sizes),
        InputWindowStrides=steps,
    )


@checked
def split(x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Split x into parts of these sizes along an axis."""
    axis = checked_axis(axis, x.rank, "split")
    parts = [x.builder.output(x.data_type, with_size(x.sizes, axis, size)) for size in sizes]
    outputs = x.builder.node(d.DML_SPLIT_OPERATOR_DESC, {"OutputTensors": parts}, InputTensor=x, Axis=axis)
    return list(outputs["OutputTensors"])


@checked
def join(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Concatenate the tensors along an axis."""
    if len(tensors) == 0:
        raise DMLError("join: needs at least one tensor")
    first = tensors[0]
    axis = checked_axis(axis, first.rank, "join")
    sizes = joined_sizes([tensor.sizes for tensor in tensors], axis)
    return first.builder.one(d.DML_JOIN_OPERATOR_DESC, sizes, InputTensors=list(tensors), Axis=axis)


@checked
def padding(
    x: Tensor,
    start: Sequence[int],
    end: Sequence[int],
    mode: enums.DML_PADDING_MODE | str = enums.DML_PADDING_MODE_CONSTANT,
    value: float = 0.0,
) -> Tensor:
    """Pad x. value: the padding of CONSTANT, in x's own data type.

    Raises DMLError for a value that the data type cannot represent.
    """
    if x.data_type in (enums.DML_TENSOR_DATA_TYPE_FLOAT32, enums.DML_TENSOR_DATA_TYPE_FLOAT16):
        cls: type[OperatorDesc] = d.DML_PADDING_OPERATOR_DESC
        fields: dict[str, Any] = {"PaddingValue": value}
    else:
        cls = d.DML_PADDING1_OPERATOR_DESC
        number = scalar_of("padding: value", value, x.data_type)
        fields = {"PaddingValue": number, "PaddingValueDataType": x.data_type}
    with named_by("padding"):
        sizes = padded_sizes(x.sizes, start, end)
    return x.builder.one(
        cls, sizes, InputTensor=x, PaddingMode=mode, **fields, StartPadding=tuple(start), EndPadding=tuple(end)
    )


@checked
def tile(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """Repeat x along each dimension."""
    with named_by("tile"):
        sizes = scaled_sizes(x.sizes, repeats)
    return x.builder.one(d.DML_TILE_OPERATOR_DESC, sizes, InputTensor=x, Repeats=tuple(repeats))


@checked
def depth_to_space(
    x: Tensor, block: int, order: enums.DML_DEPTH_SPACE_ORDER = enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW
) -> Tensor:
    """Unfold channels of {N, C, H, W} into blocks of pixels."""
    sizes = depth_to_space_sizes(sizes_of("depth_to_space", x, 4), block)
    return x.builder.one(d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC, sizes, InputTensor=x, BlockSize=block, Order=order)


@checked
def space_to_depth(
    x: Tensor, block: int, order: enums.DML_DEPTH_SPACE_ORDER = enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW
) -> Tensor:
    """Fold blocks of pixels of {N, C, H, W} into channels."""
    sizes = space_to_depth_sizes(sizes_of("space_to_depth", x, 4), block)
    return x.builder.one(d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC, sizes, InputTensor=x, BlockSize=block, Order=order)


@checked
def one_hot(indices: Tensor, depth: int, off: float = 0.0, on: float = 1.0, axis: int = -1) -> Tensor:
    """Return ``on`` where the coordinate along ``axis`` equals the index, else ``off``, in FLOAT32; ``axis`` grows from
    1 to ``depth``."""
    axis = checked_axis(axis, indices.rank, "one_hot")
    values = indices.builder.constant([off, on], enums.DML_TENSOR_DATA_TYPE_FLOAT32)
    return indices.builder.one(
        d.DML_ONE_HOT_OPERATOR_DESC,
        with_size(indices.sizes, axis, depth),
        values.data_type,
        IndicesTensor=indices,
        ValuesTensor=values.packed().view((*(1,) * (indices.rank - 1), 2)),
        Axis=axis,
    )


@checked
def reverse_subsequences(x: Tensor, lengths: Operand, axis: int) -> Tensor:
    """Reverse the first ``lengths`` elements along the axis; lengths has x's sizes, 1 along the axis."""
    axis = checked_axis(axis, x.rank, "reverse_subsequences")
    return x.builder.one(
        d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        SequenceLengthsTensor=x.builder.like(lengths, x),
        Axis=axis,
    )


@checked
def triangular(x: Tensor, *, upper: bool = True, diagonal: int = 0) -> Tensor:
    """Return the matrices of the last two dimensions with zeros below ``diagonal`` (above it if not ``upper``).

    diagonal: 0 is the main one, positive ones are to its right.
    """
    if x.rank < 2:
        raise DMLError(f"triangular: takes matrices, found sizes {x.sizes}")
    rows, columns = x.sizes[-2:]
    begin, end = (-rows, min(diagonal, columns)) if upper else (max(diagonal + 1, -rows), columns)
    if begin >= end:
        return x
    flat = x if x.rank <= 4 else x.reshape(prod(x.sizes[:-2]), rows, columns)
    result = x.builder.one(
        d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC,
        flat.sizes,
        InputTensor=flat,
        ValueDataType=x.data_type,
        Value=scalar_of("triangular: zero", 0, x.data_type),
        DiagonalFillBegin=begin,
        DiagonalFillEnd=end,
    )
    return result.packed().view(x.sizes)
