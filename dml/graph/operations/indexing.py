"""Gathers and scatters of elements by index."""

from __future__ import annotations

from dml import descriptors as d
from dml.arguments import checked
from dml.graph.builder import Operand, Tensor
from dml.shapes import checked_axis, gathered_nd_sizes, replaced, with_rank

__all__ = ["gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd"]


@checked
def gather(x: Tensor, indices: Operand, axis: int) -> Tensor:
    """Return slices of x along an axis, selected by indices of any sizes (ONNX Gather).

    The result's sizes are x's with the axis replaced by the indices' sizes.
    """
    indices = x.builder.like(indices, x)
    axis = checked_axis(axis, x.rank, "gather")
    sizes = replaced(x.sizes, axis, indices.sizes)
    rank = max(x.rank, len(sizes))
    source = x.reshape(*with_rank(x.sizes, rank))
    chosen = indices.reshape(*with_rank(indices.sizes, rank))
    result = source.builder.one(
        d.DML_GATHER_OPERATOR_DESC,
        with_rank(sizes, rank),
        x.data_type,
        InputTensor=source,
        IndicesTensor=chosen,
        Axis=axis + rank - x.rank,
        IndexDimensions=indices.rank,
    )
    return result.packed().view(sizes)


@checked
def gather_elements(x: Tensor, indices: Operand, axis: int) -> Tensor:
    """Return, for each index, the element of x at that index along the axis, and at the index's own coordinates
    otherwise."""
    chosen = x.builder.like(indices, x)
    return x.builder.one(
        d.DML_GATHER_ELEMENTS_OPERATOR_DESC,
        chosen.sizes,
        x.data_type,
        InputTensor=x,
        IndicesTensor=chosen,
        Axis=checked_axis(axis, x.rank, "gather_elements"),
    )


@checked
def gather_nd(x: Tensor, indices: Operand, batch_dimensions: int = 0) -> Tensor:
    """Return the parts of x whose leading coordinates are the rows of ``indices`` (ONNX GatherND)."""
    chosen = x.builder.like(indices, x)
    sizes = gathered_nd_sizes(x.sizes, chosen.sizes, batch_dimensions) or (1,)
    rank = max(x.rank, chosen.rank, len(sizes))
    result = x.builder.one(
        d.DML_GATHER_ND1_OPERATOR_DESC,
        with_rank(sizes, rank),
        x.data_type,
        InputTensor=x.reshape(*with_rank(x.sizes, rank)),
        IndicesTensor=chosen.reshape(*with_rank(chosen.sizes, rank)),
        InputDimensionCount=x.rank,
        IndicesDimensionCount=chosen.rank,
        BatchDimensionCount=batch_dimensions,
    )
    return result.packed().view(sizes)


@checked
def scatter_elements(x: Tensor, indices: Operand, updates: Operand, axis: int) -> Tensor:
    """Return x with each update written at its index along the axis; of several updates of one element the last
    wins."""
    return x.builder.one(
        d.DML_SCATTER_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        IndicesTensor=x.builder.like(indices, x),
        UpdatesTensor=x.builder.like(updates, x),
        Axis=checked_axis(axis, x.rank, "scatter_elements"),
    )


@checked
def scatter_nd(x: Tensor, indices: Operand, updates: Operand) -> Tensor:
    """Return x after replacing the parts whose leading coordinates are the rows of ``indices`` (ONNX ScatterND)."""
    chosen, values = x.builder.like(indices, x), x.builder.like(updates, x)
    rank = max(x.rank, chosen.rank, values.rank)
    result = x.builder.one(
        d.DML_SCATTER_ND_OPERATOR_DESC,
        with_rank(x.sizes, rank),
        x.data_type,
        InputTensor=x.reshape(*with_rank(x.sizes, rank)),
        IndicesTensor=chosen.reshape(*with_rank(chosen.sizes, rank)),
        UpdatesTensor=values.reshape(*with_rank(values.sizes, rank)),
        InputDimensionCount=x.rank,
        IndicesDimensionCount=chosen.rank,
    )
    return result.packed().view(x.sizes)
