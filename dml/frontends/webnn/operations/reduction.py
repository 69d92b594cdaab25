"""Reductions, ``arg_min``, ``arg_max`` and cumulative sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import dml.graph.operations as op
from dml import enums
from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.descriptors.reduction import DML_ARGMAX_OPERATOR_DESC, DML_ARGMIN_OPERATOR_DESC
from dml.enums import DML_REDUCE_FUNCTION
from dml.frontends.webnn.operands import DATA_TYPES, MLOperand
from dml.frontends.webnn.steps import OperationBuilder, named
from dml.graph.builder import Tensor
from dml.shapes import ones_along


def reduced(shape: Sequence[int], axes: Sequence[int], keep: bool) -> list[int]:
    """Return the shape after a reduction; keep: the reduced axes remain, with size 1."""
    return [1 if index in axes else size for index, size in enumerate(shape) if keep or index not in axes]


def _reduction(name: str, function: DML_REDUCE_FUNCTION, doc: str) -> Callable[..., MLOperand]:
    def method(
        self: OperationBuilder,
        input: MLOperand,
        *,
        axes: Sequence[int] | None = None,
        keep_dimensions: bool = False,
        label: str = "",
    ) -> MLOperand:
        step = self.step(name, label, input=input)
        chosen = step.axes(range(input.rank) if axes is None else axes, input)

        def lower(x: Tensor) -> Tensor:
            if not chosen:  # without axes, each element is reduced by itself
                return op.reduce(x.reshape(-1, 1), function, [1])
            return op.reduce(x, function, chosen)

        return step.output(input.data_type, reduced(input.shape, chosen, keep_dimensions), lower)

    doc = f"{doc} axes: the axes to reduce, by default all. keep_dimensions: keep them, with size 1."
    return named(method, name, doc)


def _argument(name: str, cls: type[OperatorDesc], doc: str) -> Callable[..., MLOperand]:
    def method(
        self: OperationBuilder,
        input: MLOperand,
        axis: int,
        *,
        keep_dimensions: bool = False,
        output_data_type: str = "int32",
        label: str = "",
    ) -> MLOperand:
        step = self.step(name, label, input=input)
        step.axis(axis, input)
        step.one_of("output_data_type", output_data_type, self.context.limits(name)["output"].data_types)
        step.require(
            output_data_type != "int32" or input.shape[axis] < 2**31, f"int32 cannot index {input.shape[axis]} elements"
        )

        def lower(x: Tensor) -> Tensor:
            return x.builder.one(
                cls, ones_along(x.sizes, (axis,)), DATA_TYPES[output_data_type], InputTensor=x, Axes=(axis,),
                AxisDirection=enums.DML_AXIS_DIRECTION_INCREASING,
            )  # fmt: skip

        return step.output(output_data_type, reduced(input.shape, (axis,), keep_dimensions), lower)

    return named(method, name, doc)


class ReductionOperations(OperationBuilder):
    """The specification's reductions, ``arg_min``, ``arg_max`` and ``cumulative_sum``."""

    reduce_l1 = _reduction("reduce_l1", enums.DML_REDUCE_FUNCTION_L1, "The sum of absolute values.")
    reduce_l2 = _reduction("reduce_l2", enums.DML_REDUCE_FUNCTION_L2, "The square root of the sum of squares.")
    reduce_log_sum = _reduction("reduce_log_sum", enums.DML_REDUCE_FUNCTION_LOG_SUM, "The logarithm of the sum.")
    reduce_log_sum_exp = _reduction(
        "reduce_log_sum_exp", enums.DML_REDUCE_FUNCTION_LOG_SUM_EXP, "The logarithm of the sum of exponentials."
    )
    reduce_max = _reduction("reduce_max", enums.DML_REDUCE_FUNCTION_MAX, "The maximum.")
    reduce_mean = _reduction("reduce_mean", enums.DML_REDUCE_FUNCTION_AVERAGE, "The mean.")
    reduce_min = _reduction("reduce_min", enums.DML_REDUCE_FUNCTION_MIN, "The minimum.")
    reduce_product = _reduction("reduce_product", enums.DML_REDUCE_FUNCTION_MULTIPLY, "The product.")
    reduce_sum = _reduction("reduce_sum", enums.DML_REDUCE_FUNCTION_SUM, "The sum.")
    reduce_sum_square = _reduction("reduce_sum_square", enums.DML_REDUCE_FUNCTION_SUM_SQUARE, "The sum of squares.")
    arg_min = _argument("arg_min", DML_ARGMIN_OPERATOR_DESC, "The index of the first minimum along the axis.")
    arg_max = _argument("arg_max", DML_ARGMAX_OPERATOR_DESC, "The index of the first maximum along the axis.")

    @checked
    def cumulative_sum(
        self, input: MLOperand, axis: int, *, exclusive: bool = False, reversed: bool = False, label: str = ""
    ) -> MLOperand:
        """Cumulative sums along the axis. exclusive: each sum excludes its own element. reversed: from the end of the
        axis."""
        step = self.step("cumulative_sum", label, input=input)
        step.axis(axis, input)
        way = enums.DML_AXIS_DIRECTION_DECREASING if reversed else enums.DML_AXIS_DIRECTION_INCREASING
        return step.output(
            input.data_type, input.shape, lambda x: op.cumulative_sum(x, axis, way, exclusive=bool(exclusive))
        )
