"""Reductions, scans, sorting and NonZero."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml import descriptors as d
from dml import enums
from dml.enums import DML_REDUCE_FUNCTION
from dml.shapes import checked_axis, with_size, without_axis
from dml.traced import whole

from ...dtypes import FLOAT32, INT64, UINT8, UINT32
from ...registry import onnx_op
from .. import folds
from ..functions import part, reduce, total
from ..node import OnnxNode
from ..value import LateRows, OnnxValue, applied, cast, emit, one, reshape, transpose

_FUNCTIONS: dict[str, DML_REDUCE_FUNCTION] = {
    "ReduceL1": enums.DML_REDUCE_FUNCTION_L1,
    "ReduceL2": enums.DML_REDUCE_FUNCTION_L2,
    "ReduceLogSum": enums.DML_REDUCE_FUNCTION_LOG_SUM,
    "ReduceLogSumExp": enums.DML_REDUCE_FUNCTION_LOG_SUM_EXP,
    "ReduceMax": enums.DML_REDUCE_FUNCTION_MAX,
    "ReduceMean": enums.DML_REDUCE_FUNCTION_AVERAGE,
    "ReduceMin": enums.DML_REDUCE_FUNCTION_MIN,
    "ReduceProd": enums.DML_REDUCE_FUNCTION_MULTIPLY,
    "ReduceSum": enums.DML_REDUCE_FUNCTION_SUM,
    "ReduceSumSquare": enums.DML_REDUCE_FUNCTION_SUM_SQUARE,
}
_FRACTIONS = (
    enums.DML_REDUCE_FUNCTION_AVERAGE,
    enums.DML_REDUCE_FUNCTION_L2,
    enums.DML_REDUCE_FUNCTION_LOG_SUM,
    enums.DML_REDUCE_FUNCTION_LOG_SUM_EXP,
)


@onnx_op("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
@onnx_op("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", fold=folds.REFERENCE)
@onnx_op("ReduceProd", fold=folds.REDUCE_PROD)
def reduction(node: OnnxNode) -> OnnxValue:
    """Reduce; ``axes`` is an attribute, in newer versions an input. With noop_with_empty_axes, empty axes reduce
    nothing."""
    x = node.input(0)
    axes = node.ints("axes", 1)
    function = _FUNCTIONS[node.op]
    if not axes:
        if node.integer("noop_with_empty_axes", 0):
            return _each(x, function)
        axes = list(range(x.rank))
    if not x.rank:
        return _each(x, function)
    return _reduced(x, function, [checked_axis(axis, x.rank) for axis in axes], bool(node.integer("keepdims", 1)))


def _reduced(x: OnnxValue, function: DML_REDUCE_FUNCTION, axes: list[int], keep: bool) -> OnnxValue:
    """Reduce. REDUCE's functions with fractional results do not support integers; ONNX's do, and truncate."""
    if x.dtype.kind not in "iu" or function not in _FRACTIONS:
        return reduce(x, function, axes, keep)
    if function == enums.DML_REDUCE_FUNCTION_AVERAGE:
        return total(x, axes, keep) / prod(x.shape[axis] for axis in set(axes))
    return cast(reduce(cast(x, FLOAT32), function, axes, keep), x.dtype)


def _each(x: OnnxValue, function: DML_REDUCE_FUNCTION) -> OnnxValue:
    """Reduce every element separately, along a trailing axis of size 1."""
    return reshape(_reduced(reshape(x, (*x.shape, 1)), function, [x.rank], True), x.shape)


@onnx_op("ArgMax", "ArgMin", fold=folds.REFERENCE)
def arg_extreme(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    axis = node.axis("axis", 0, x.rank)
    kept = with_size(x.shape, axis, 1)
    last = node.integer("select_last_index", 0)
    direction = enums.DML_AXIS_DIRECTION_DECREASING if last else enums.DML_AXIS_DIRECTION_INCREASING
    cls = d.DML_ARGMAX_OPERATOR_DESC if node.op == "ArgMax" else d.DML_ARGMIN_OPERATOR_DESC
    result = one(cls, x, kept, INT64, InputTensor=x, Axes=(axis,), AxisDirection=direction)
    return result if node.integer("keepdims", 1) else reshape(result, without_axis(x.shape, axis))


@onnx_op("TopK", fold=folds.REFERENCE)
def top_k(node: OnnxNode) -> list[OnnxValue]:
    x = node.input(0)
    axis = node.axis("axis", -1, x.rank)
    k = whole(node.single(1)) if node.version >= 10 else node.integer("k", 1)
    node.check(0 <= k <= x.shape[axis], f"k must be from 0 to {x.shape[axis]}, found {k}")
    shape = with_size(x.shape, axis, k)
    if not k:
        return [x.filled(0, shape), x.filled(0, shape, INT64)]
    largest = node.integer("largest", 1)
    direction = enums.DML_AXIS_DIRECTION_DECREASING if largest else enums.DML_AXIS_DIRECTION_INCREASING
    values, indices = op.top_k(x.tensor, k, axis, direction)
    return [x.with_tensor(values, shape), cast(x.with_tensor(indices, shape, UINT32), INT64)]


@onnx_op("CumSum", since=11, fold=folds.SAME_SHAPE)
@onnx_op("CumProd", since=26)
def cumulative(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    axis, reverse = checked_axis(whole(node.single(1)), x.rank), node.integer("reverse", 0)
    direction = enums.DML_AXIS_DIRECTION_DECREASING if reverse else enums.DML_AXIS_DIRECTION_INCREASING
    function = op.cumulative_product if node.op == "CumProd" else op.cumulative_sum
    return applied(function, x, x.shape, axis, direction, exclusive=bool(node.integer("exclusive", 0)))


@onnx_op("NonZero", since=9, fold=folds.REFERENCE)
def nonzero(node: OnnxNode) -> OnnxValue | LateRows:
    """Return the coordinates, computed on the device; the graph is split where their count is needed.

    If it cannot be split, the count becomes a guard of the compiled graph.
    """
    x = node.input(0)
    late = node.is_late(x)
    if x.dtype.itemsize == 8:
        x = cast(cast(x, bool), UINT8)  # the operator lacks 64-bit types
    flat = reshape(x, x.shape or (1,))
    outputs = {"OutputCountTensor": ((1,), UINT32), "OutputCoordinatesTensor": ((flat.size, flat.rank), UINT32)}
    results = emit(d.DML_NONZERO_COORDINATES_OPERATOR_DESC, outputs, node.builder, InputTensor=flat)
    coordinates, count = results["OutputCoordinatesTensor"], results["OutputCountTensor"]
    if late:
        return LateRows(coordinates, count, INT64, turned=True)
    found = part(coordinates, 0, 0, int(node.trace.known(count)[0]))
    return cast(transpose(found, (1, 0)), INT64)
