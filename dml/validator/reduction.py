"""Rules of the reductions, scans and selections along axes."""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_REDUCE_FUNCTION
from ..shapes import effective_rank, ones_along, with_size
from ..tensors import DML_BUFFER_TENSOR_DESC
from .base import Check, rule


def reduced(check: Check, source: DML_BUFFER_TENSOR_DESC, axes: tuple[int, ...]) -> None:
    check.axes("Axes")
    check.sizes("OutputTensor", ones_along(source.Sizes, axes), why="those of InputTensor, 1 along Axes")


@rule(d.DML_REDUCE_OPERATOR_DESC)
def reduce(desc: d.DML_REDUCE_OPERATOR_DESC, check: Check) -> None:
    reduced(check, desc.InputTensor, desc.Axes)
    function = DML_REDUCE_FUNCTION
    if desc.Function not in (function.DML_REDUCE_FUNCTION_ARGMIN, function.DML_REDUCE_FUNCTION_ARGMAX):
        check.same_data_type("InputTensor", "OutputTensor")


@rule(d.DML_ARGMIN_OPERATOR_DESC)
@rule(d.DML_ARGMAX_OPERATOR_DESC)
def arg_reduce(desc: d.DML_ARGMIN_OPERATOR_DESC | d.DML_ARGMAX_OPERATOR_DESC, check: Check) -> None:
    reduced(check, desc.InputTensor, desc.Axes)


@rule(d.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC)
@rule(d.DML_CUMULATIVE_PRODUCT_OPERATOR_DESC)
def cumulative(desc: d.OperatorDesc, check: Check) -> None:
    check.axis("Axis")


@rule(d.DML_TOP_K_OPERATOR_DESC)
@rule(d.DML_TOP_K1_OPERATOR_DESC)
def top_k(desc: d.DML_TOP_K_OPERATOR_DESC | d.DML_TOP_K1_OPERATOR_DESC, check: Check) -> None:
    """Check TOP_K and TOP_K1.

    The page asks for a K below the size along Axis. A K of that size, with which ONNX and DirectML's users sort, is
    accepted.
    """
    check.axis("Axis")
    length = desc.InputTensor.Sizes[desc.Axis]
    check.that(1 <= desc.K <= length, "K", f"must be from 1 to {length}, the size of InputTensor along Axis")
    for name in ("OutputValueTensor", "OutputIndexTensor"):
        check.sizes(
            name, with_size(desc.InputTensor.Sizes, desc.Axis, desc.K), why="those of InputTensor, K along Axis"
        )


@rule(d.DML_NONZERO_COORDINATES_OPERATOR_DESC)
def nonzero_coordinates(desc: d.DML_NONZERO_COORDINATES_OPERATOR_DESC, check: Check) -> None:
    source, result = desc.InputTensor, desc.OutputCoordinatesTensor
    check.sizes("OutputCountTensor", (1,) * desc.OutputCountTensor.rank, why="a scalar")
    *leading, _, columns = result.Sizes
    check.that(all(size == 1 for size in leading), "OutputCoordinatesTensor", "must have leading sizes 1", result.Sizes)
    check.size("OutputCoordinatesTensor", -2, source.element_count, why="the elements of InputTensor")
    least = max(1, effective_rank(source.Sizes))
    check.that(
        least <= columns <= source.rank,
        "OutputCoordinatesTensor",
        f"must have a size from {least} to {source.rank} in its last dimension (effective rank and dimension count of "
        "InputTensor)",
        result.Sizes,
    )
