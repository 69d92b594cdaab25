"""Functions that move, repeat or gather elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dml.graph.operations as op
from dml.descriptors.movement import DML_GATHER_OPERATOR_DESC
from dml.descriptors.resample import DML_UPSAMPLE_2D_OPERATOR_DESC
from dml.enums import DML_PADDING_MODE, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.frontends.pydirectml.expressions import Expression, one
from dml.frontends.pydirectml.tensors import Size2D
from dml.graph.builder import Tensor
from dml.shapes import gathered_sizes, trailing
from dml.tensors import DML_BUFFER_TENSOR_DESC


def up_sample_2d(input: Expression, scale_size: Size2D, interpolation_mode: Any) -> Expression:
    """Enlarge the last two dimensions by integer factors."""
    *lead, height, width = input.tensor.sizes
    sizes = (*lead, height * scale_size.height, width * scale_size.width)
    return one(
        DML_UPSAMPLE_2D_OPERATOR_DESC,
        input,
        sizes,
        InputTensor=input,
        ScaleSize=scale_size.desc,
        InterpolationMode=int(interpolation_mode),
    )


def padding(
    input: Expression, padding_mode: Any, padding_value: float, start_padding: Sequence[int], end_padding: Sequence[int]
) -> Expression:
    """Pad the input; lists have an entry per dimension. padding_value: a number of the input's data type."""
    mode = DML_PADDING_MODE(int(padding_mode))
    return Expression(op.padding(input.tensor, start_padding, end_padding, mode, padding_value))


def slice(
    input: Expression,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
) -> Expression:
    """Take a window of the input, with a stride along each axis."""
    return Expression(op.slice_(input.tensor, input_window_offsets, input_window_sizes, input_window_strides))


def reinterpret(
    input: Expression, new_type: Any, new_size: Sequence[int], new_strides: Sequence[int] | None
) -> Expression:
    """View the same bytes as another tensor; nothing is computed."""
    own = input.tensor.desc
    desc = DML_BUFFER_TENSOR_DESC(
        DML_TENSOR_DATA_TYPE(int(new_type)),
        tuple(new_size),
        None if new_strides is None else tuple(new_strides),
        own.TotalTensorSizeInBytes,
        own.GuaranteedBaseOffsetAlignment,
        own.Flags,
    )
    return Expression(Tensor(input.tensor.builder, input.tensor.source, desc), input.written)


def join(input: Sequence[Expression], axis: int) -> Expression:
    """Concatenate tensors along an axis."""
    return Expression(op.join([expression.tensor for expression in input], axis))


def gather(input: Expression, indices: Expression, axis: int, index_dimensions: int) -> Expression:
    """Gather slices of the input along an axis, by the last index_dimensions dimensions of indices."""
    sizes, picked = input.tensor.sizes, indices.tensor.sizes
    rank = len(sizes)
    if len(picked) != rank or not 0 <= axis < rank or not 0 <= index_dimensions <= rank:
        raise DMLError(
            f"pydirectml.gather: axis {axis} and index_dimensions {index_dimensions} do not fit {sizes} and {picked}"
        )
    return one(
        DML_GATHER_OPERATOR_DESC,
        input,
        trailing(gathered_sizes(sizes, picked, axis, index_dimensions), rank),
        InputTensor=input,
        IndicesTensor=indices,
        Axis=axis,
        IndexDimensions=index_dimensions,
    )
