"""More operators as functions of graph tensors: elements by their indices, running sums, linear quantization."""

from __future__ import annotations

from typing import Any

from dml import enums
from dml.arguments import checked
from dml.descriptors.activation import DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
from dml.descriptors.base import OperatorDesc
from dml.descriptors.elementwise import (
    DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC,
    DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC,
)
from dml.descriptors.movement import (
    DML_GATHER_ELEMENTS_OPERATOR_DESC,
    DML_GATHER_ND1_OPERATOR_DESC,
    DML_GATHER_OPERATOR_DESC,
    DML_ONE_HOT_OPERATOR_DESC,
    DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
    DML_SCATTER_ND_OPERATOR_DESC,
    DML_SCATTER_OPERATOR_DESC,
)
from dml.descriptors.reduction import DML_CUMULATIVE_PRODUCT_OPERATOR_DESC, DML_CUMULATIVE_SUMMATION_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.shapes import gathered_nd_sizes, replaced, with_rank, with_size


def axis_of(name: str, x: Tensor, axis: int) -> int:
    """The axis, counted from the front."""
    if not -x.rank <= axis < x.rank:
        raise DMLError(f"{name}: a tensor of sizes {x.sizes} has no axis {axis}")
    return axis % x.rank


@checked
def parameterized_relu(x: Tensor, slope: Operand) -> Tensor:
    """x where it is positive, slope * x elsewhere; the slope broadcasts to x."""
    slopes = x.builder.like(slope, x).broadcast(x.sizes)
    return x.builder.one(DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC, x.sizes, InputTensor=x, SlopeTensor=slopes)


@checked
def quantize_linear(
    x: Tensor,
    scale: Operand,
    zero_point: Operand | None = None,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_UINT8,
) -> Tensor:
    """clamp(round(x / scale) + zero_point) in ``data_type``; scale and zero point broadcast to x."""
    return _linear(DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC, x, scale, zero_point, data_type)


@checked
def dequantize_linear(
    x: Tensor,
    scale: Operand,
    zero_point: Operand | None = None,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_FLOAT32,
) -> Tensor:
    """(x - zero_point) * scale in ``data_type``; scale and zero point broadcast to x."""
    return _linear(DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC, x, scale, zero_point, data_type)


def _linear(
    cls: type[OperatorDesc], x: Tensor, scale: Operand, zero_point: Operand | None, data_type: DML_TENSOR_DATA_TYPE
) -> Tensor:
    quantizes = cls is DML_ELEMENT_WISE_QUANTIZE_LINEAR_OPERATOR_DESC
    floats, integers = (x.data_type, data_type) if quantizes else (data_type, x.data_type)

    def like(value: Operand | None, kind: DML_TENSOR_DATA_TYPE) -> Tensor | None:
        if value is None:
            return None
        if isinstance(value, int | float):
            value = x.builder.constant(value, kind)
        return x.builder.like(value, x).broadcast(x.sizes)

    return x.builder.one(
        cls,
        x.sizes,
        data_type,
        InputTensor=x,
        ScaleTensor=like(scale, floats),
        ZeroPointTensor=like(zero_point, integers),
    )


@checked
def gather(x: Tensor, indices: Operand, axis: int) -> Tensor:
    """Slices of x along an axis, picked by indices of any sizes (ONNX Gather).

    The result's sizes are x's with the axis replaced by the indices' sizes.
    """
    indices = x.builder.like(indices, x)
    axis = axis_of("gather", x, axis)
    sizes = replaced(x.sizes, axis, indices.sizes)
    rank = max(x.rank, len(sizes))
    source = x.reshape(*with_rank(x.sizes, rank))
    chosen = indices.reshape(*with_rank(indices.sizes, rank))
    made = source.builder.one(
        DML_GATHER_OPERATOR_DESC,
        with_rank(sizes, rank),
        x.data_type,
        InputTensor=source,
        IndicesTensor=chosen,
        Axis=axis + rank - x.rank,
        IndexDimensions=indices.rank,
    )
    return made.view(sizes)


@checked
def gather_elements(x: Tensor, indices: Operand, axis: int) -> Tensor:
    """For each index, the element of x that lies there along the axis and at the index's own place otherwise."""
    chosen = x.builder.like(indices, x)
    return x.builder.one(
        DML_GATHER_ELEMENTS_OPERATOR_DESC,
        chosen.sizes,
        x.data_type,
        InputTensor=x,
        IndicesTensor=chosen,
        Axis=axis_of("gather_elements", x, axis),
    )


@checked
def gather_nd(x: Tensor, indices: Operand, batch_dimensions: int = 0) -> Tensor:
    """The parts of x whose leading coordinates are the rows of ``indices`` (ONNX GatherND)."""
    chosen = x.builder.like(indices, x)
    sizes = gathered_nd_sizes(x.sizes, chosen.sizes, batch_dimensions) or (1,)
    rank = max(x.rank, chosen.rank, len(sizes))
    made = x.builder.one(
        DML_GATHER_ND1_OPERATOR_DESC,
        with_rank(sizes, rank),
        x.data_type,
        InputTensor=x.reshape(*with_rank(x.sizes, rank)),
        IndicesTensor=chosen.reshape(*with_rank(chosen.sizes, rank)),
        InputDimensionCount=x.rank,
        IndicesDimensionCount=chosen.rank,
        BatchDimensionCount=batch_dimensions,
    )
    return made.view(sizes)


@checked
def scatter_elements(x: Tensor, indices: Operand, updates: Operand, axis: int) -> Tensor:
    """x with each update in the place that its index gives along the axis; of two for one place the last counts."""
    return x.builder.one(
        DML_SCATTER_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        IndicesTensor=x.builder.like(indices, x),
        UpdatesTensor=x.builder.like(updates, x),
        Axis=axis_of("scatter_elements", x, axis),
    )


@checked
def scatter_nd(x: Tensor, indices: Operand, updates: Operand) -> Tensor:
    """x with the parts replaced whose leading coordinates are the rows of ``indices`` (ONNX ScatterND)."""
    chosen, values = x.builder.like(indices, x), x.builder.like(updates, x)
    rank = max(x.rank, chosen.rank, values.rank)
    made = x.builder.one(
        DML_SCATTER_ND_OPERATOR_DESC,
        with_rank(x.sizes, rank),
        x.data_type,
        InputTensor=x.reshape(*with_rank(x.sizes, rank)),
        IndicesTensor=chosen.reshape(*with_rank(chosen.sizes, rank)),
        UpdatesTensor=values.reshape(*with_rank(values.sizes, rank)),
        InputDimensionCount=x.rank,
        IndicesDimensionCount=chosen.rank,
    )
    return made.view(x.sizes)


@checked
def one_hot(indices: Tensor, depth: int, off: float = 0.0, on: float = 1.0, axis: int = -1) -> Tensor:
    """``on`` where an index is the place along ``axis``, whose size of 1 becomes ``depth``; FLOAT32."""
    axis = axis_of("one_hot", indices, axis)
    values = indices.builder.constant([off, on], enums.DML_TENSOR_DATA_TYPE_FLOAT32)
    return indices.builder.one(
        DML_ONE_HOT_OPERATOR_DESC,
        with_size(indices.sizes, axis, depth),
        values.data_type,
        IndicesTensor=indices,
        ValuesTensor=values.view((*(1,) * (indices.rank - 1), 2)),
        Axis=axis,
    )


def _scan(cls: type[OperatorDesc], x: Tensor, axis: int, direction: enums.DML_AXIS_DIRECTION, **flag: Any) -> Tensor:
    return x.builder.one(cls, x.sizes, InputTensor=x, Axis=axis, AxisDirection=direction, **flag)


@checked
def cumulative_sum(
    x: Tensor,
    axis: int,
    direction: enums.DML_AXIS_DIRECTION = enums.DML_AXIS_DIRECTION_INCREASING,
    *,
    exclusive: bool = False,
) -> Tensor:
    """Sums of the elements so far along the axis. exclusive: less the element itself."""
    return _scan(
        DML_CUMULATIVE_SUMMATION_OPERATOR_DESC,
        x,
        axis_of("cumulative_sum", x, axis),
        direction,
        HasExclusiveSum=exclusive,
    )


@checked
def cumulative_product(
    x: Tensor,
    axis: int,
    direction: enums.DML_AXIS_DIRECTION = enums.DML_AXIS_DIRECTION_INCREASING,
    *,
    exclusive: bool = False,
) -> Tensor:
    """Products of the elements so far along the axis. exclusive: without the element itself."""
    return _scan(
        DML_CUMULATIVE_PRODUCT_OPERATOR_DESC,
        x,
        axis_of("cumulative_product", x, axis),
        direction,
        HasExclusiveProduct=exclusive,
    )


@checked
def reverse_subsequences(x: Tensor, lengths: Operand, axis: int) -> Tensor:
    """The first ``lengths`` elements along the axis in reverse; lengths has x's sizes, 1 along the axis."""
    axis = axis_of("reverse_subsequences", x, axis)
    return x.builder.one(
        DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        SequenceLengthsTensor=x.builder.like(lengths, x),
        Axis=axis,
    )
