"""Reductions, running sums and products, and the largest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dml import descriptors as d
from dml import enums
from dml.arguments import checked
from dml.capability import short_name
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_REDUCE_FUNCTION
from dml.graph.builder import Tensor
from dml.shapes import checked_axis, ones_along, with_size

__all__ = ["cumulative_product", "cumulative_sum", "reduce", "top_k"]

UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32


@checked
def reduce(
    x: Tensor, function: DML_REDUCE_FUNCTION | str, axes: Sequence[int] | None = None, data_type: Any = None
) -> Tensor:
    """Reduce over axes (by default all); the reduced dimensions remain with size 1."""
    chosen = tuple(range(x.rank)) if axes is None else tuple(checked_axis(axis, x.rank, "reduce") for axis in axes)
    sizes = ones_along(x.sizes, chosen)
    arguments = (enums.DML_REDUCE_FUNCTION_ARGMAX, enums.DML_REDUCE_FUNCTION_ARGMIN)
    kind = data_type or (UINT32 if function in arguments else x.data_type)
    return x.builder.one(d.DML_REDUCE_OPERATOR_DESC, sizes, kind, Function=function, InputTensor=x, Axes=chosen)


@checked
def top_k(
    x: Tensor, k: int, axis: int, direction: enums.DML_AXIS_DIRECTION = enums.DML_AXIS_DIRECTION_DECREASING
) -> tuple[Tensor, Tensor]:
    """Return the k largest (DECREASING) or smallest elements along an axis, in order, and their indices (UINT32)."""
    axis = checked_axis(axis, x.rank, "top_k")
    sizes = with_size(x.sizes, axis, k)
    outputs = x.builder.node(
        d.DML_TOP_K1_OPERATOR_DESC,
        {
            "OutputValueTensor": x.builder.output(x.data_type, sizes),
            "OutputIndexTensor": x.builder.output(UINT32, sizes),
        },
        InputTensor=x,
        Axis=axis,
        K=k,
        AxisDirection=direction,
    )
    return outputs["OutputValueTensor"], outputs["OutputIndexTensor"]


def _running(cls: type[OperatorDesc], exclusive_field: str, doc: str) -> Callable[..., Tensor]:
    """Return the function of a running sum or product along an axis. exclusive_field: the field that excludes the
    element itself."""
    name = short_name(cls.OPERATOR_TYPE).lower()

    def function(
        x: Tensor,
        axis: int,
        direction: enums.DML_AXIS_DIRECTION = enums.DML_AXIS_DIRECTION_INCREASING,
        *,
        exclusive: bool = False,
    ) -> Tensor:
        fields: dict[str, Any] = {
            "Axis": checked_axis(axis, x.rank, name),
            "AxisDirection": direction,
            exclusive_field: exclusive,
        }
        return x.builder.one(cls, x.sizes, InputTensor=x, **fields)

    function.__qualname__, function.__doc__ = name, doc
    return checked(function)


cumulative_sum = _running(
    d.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC,
    "HasExclusiveSum",
    "Return the running sums along the axis. exclusive: without the element itself.",
)
cumulative_product = _running(
    d.DML_CUMULATIVE_PRODUCT_OPERATOR_DESC,
    "HasExclusiveProduct",
    "Return the running products along the axis. exclusive: without the element itself.",
)
