"""Tensors of given numbers, random words, and coordinates of nonzero elements."""

from __future__ import annotations

from collections.abc import Sequence

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.graph.builder import Builder, Tensor
from dml.shapes import effective_rank

from .attributes import scalar_of

__all__ = ["fill_value_constant", "fill_value_sequence", "nonzero_coordinates", "random_generator"]

UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32


@checked
def fill_value_constant(
    graph: Builder,
    sizes: Sequence[int],
    value: float,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_FLOAT32,
) -> Tensor:
    """Fill a tensor with a value."""
    return graph.one(
        d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC,
        sizes,
        data_type,
        ValueDataType=data_type,
        Value=scalar_of("fill_value_constant: value", value, data_type),
    )


@checked
def fill_value_sequence(
    graph: Builder,
    sizes: Sequence[int],
    start: float,
    delta: float,
    data_type: DML_TENSOR_DATA_TYPE = enums.DML_TENSOR_DATA_TYPE_FLOAT32,
) -> Tensor:
    """Return start, start + delta, start + 2 * delta, ... in row-major order."""
    return graph.one(
        d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC,
        sizes,
        data_type,
        ValueDataType=data_type,
        ValueStart=scalar_of("fill_value_sequence: start", start, data_type),
        ValueDelta=scalar_of("fill_value_sequence: delta", delta, data_type),
    )


@checked
def random_generator(
    state: Tensor,
    sizes: Sequence[int],
    type: enums.DML_RANDOM_GENERATOR_TYPE | str = enums.DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10,
) -> tuple[Tensor, Tensor]:
    """Return random 32-bit words, and the state that continues the sequence. state: {..., 6} words, counter and key."""
    outputs = state.builder.node(
        d.DML_RANDOM_GENERATOR_OPERATOR_DESC,
        {
            "OutputTensor": state.builder.output(UINT32, sizes),
            "OutputStateTensor": state.builder.output(UINT32, state.sizes),
        },
        InputStateTensor=state,
        Type=type,
    )
    return outputs["OutputTensor"], outputs["OutputStateTensor"]


@checked
def nonzero_coordinates(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the number of nonzero elements, and their coordinates, one row each, in row-major order.

    Rows after these are undefined. The count has one element in x's rank; a row has a coordinate for each dimension,
    beginning with the first whose size is not 1.
    """
    outputs = x.builder.node(
        d.DML_NONZERO_COORDINATES_OPERATOR_DESC,
        {
            "OutputCountTensor": x.builder.output(UINT32, (1,)),
            "OutputCoordinatesTensor": x.builder.output(
                UINT32, (x.desc.element_count, max(1, effective_rank(x.sizes)))
            ),
        },
        InputTensor=x,
    )
    return outputs["OutputCountTensor"], outputs["OutputCoordinatesTensor"]
