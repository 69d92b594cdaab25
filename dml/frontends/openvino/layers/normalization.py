"""Normalizations and reductions."""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning import normalization as meaning
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor


@layer("BatchNormInference")
def batch_norm(c: IrContext) -> IrValue:
    x, gamma, beta, mean, variance = c.tensors(5)
    if c.layer.version == "opset1":
        gamma, beta, x = x, gamma, beta
    return op.batch_normalization(x, mean, variance, gamma, beta, epsilon=c.layer.number("epsilon"))


@layer("MVN")
def mvn(c: IrContext) -> IrValue:
    x = c.tensor(0)
    epsilon = c.layer.number("eps", 1e-9)
    if len(c.values) > 1:
        axes = [c.axis(axis, x.rank) for axis in c.integers(1)]
    else:
        axes = list(range(1 if c.layer.flag("across_channels") else 2, x.rank))
    normalize = c.layer.flag("normalize_variance", True)
    if not normalize or c.layer.text("eps_mode", "inside_sqrt").lower() == "inside_sqrt":
        return op.mean_variance_normalization(x, axes, normalize_variance=normalize, epsilon=epsilon)
    centred = x - op.reduce(x, enums.DML_REDUCE_FUNCTION_AVERAGE, axes)
    variance = op.reduce(centred * centred, enums.DML_REDUCE_FUNCTION_AVERAGE, axes)
    return centred / (op.sqrt(variance) + epsilon)


@layer("GroupNormalization")
def group_normalization(c: IrContext) -> IrValue:
    x, scale, bias = c.tensors(3)
    groups, epsilon = c.layer.integer("num_groups"), c.layer.number("epsilon")
    channels = x.sizes[1]
    c.check(groups >= 1 and channels % groups == 0, f"num_groups {groups} does not divide the {channels} channels")
    return meaning.group_normalization(x, groups, scale, bias, epsilon)


@layer("NormalizeL2")
def normalize_l2(c: IrContext) -> IrValue:
    """Divide x by the root of its sum of squares over the axes; without axes, by each element's magnitude."""
    x, epsilon, axes = c.tensor(0), c.layer.number("eps"), c.integers(1)
    mode = c.layer.text("eps_mode", "add")
    c.check(mode in ("add", "max"), f"eps_mode {mode!r} is not add or max")
    squares = x * x
    total = op.reduce(squares, enums.DML_REDUCE_FUNCTION_SUM, axes) if axes else squares
    return x / op.sqrt(total + epsilon if mode == "add" else op.maximum(total, epsilon))


@layer("LRN")
def lrn(c: IrContext) -> IrValue:
    x, axes = c.tensor(0), sorted(axis % c.tensor(0).rank for axis in c.integers(1))
    if axes == [1]:
        x = x.reshape(*x.sizes[:2], prod(x.sizes[2:]), 1)
    elif x.rank != 4 or axes != [2, 3]:
        raise c.error(f"takes axis 1, or axes 2 and 3 of four dimensions, found sizes {x.sizes} and axes {axes}")
    size = c.layer.integer("size")
    c.check(size >= 1, f"size must be at least 1, found {size}")
    # OpenVINO sums (size - 1) // 2 neighbours on each side, and divides by size, or by its square. DirectML sums and
    # divides by LocalSize, of which even ones reach further at the end.
    odd = size - 1 if size % 2 == 0 else size
    alpha = c.layer.number("alpha") * odd / (size if axes == [1] else size**2)
    return op.local_response_normalization(
        x, local_size=odd, alpha=alpha, beta=c.layer.number("beta"),
        bias=c.layer.number("bias"), cross_channel=axes == [1],
    ).reshape(*c.sizes)  # fmt: skip


def _logical(c: IrContext, function: enums.DML_REDUCE_FUNCTION) -> Tensor:
    """Reduce booleans as numbers: "and" is their minimum, "or" their maximum."""
    x = op.cast(op.logical_not(op.equals(c.tensor(0), 0)), enums.DML_TENSOR_DATA_TYPE_UINT32)
    return op.cast(op.reduce(x, function, c.integers(1)), enums.DML_TENSOR_DATA_TYPE_UINT8).reshape(*c.sizes)


layer("ReduceLogicalAnd")(partial(_logical, function=enums.DML_REDUCE_FUNCTION_MIN))
layer("ReduceLogicalOr")(partial(_logical, function=enums.DML_REDUCE_FUNCTION_MAX))


#: Function -> the type in which it is computed for data types that lack it. A result outside the range of a narrow type
#: becomes the nearest number in it.
_WIDER = {
    enums.DML_REDUCE_FUNCTION_SUM: enums.DML_TENSOR_DATA_TYPE_INT32,
    enums.DML_REDUCE_FUNCTION_L1: enums.DML_TENSOR_DATA_TYPE_INT32,
    enums.DML_REDUCE_FUNCTION_MULTIPLY: enums.DML_TENSOR_DATA_TYPE_FLOAT32,
}


def _reduction(c: IrContext, function: enums.DML_REDUCE_FUNCTION) -> Tensor:
    x = c.tensor(0)
    if function in (enums.DML_REDUCE_FUNCTION_L2, enums.DML_REDUCE_FUNCTION_AVERAGE) and x.desc.dtype.kind != "f":
        x = op.cast(x, enums.DML_TENSOR_DATA_TYPE_FLOAT32)
    if x.desc.dtype.kind in "iu" and x.desc.dtype.itemsize < 4 and function in _WIDER:
        limits = np.iinfo(x.desc.dtype)
        wide = op.reduce(op.cast(x, _WIDER[function]), function, c.integers(1)).reshape(*c.sizes)
        return op.cast(op.clip(wide, min=int(limits.min), max=int(limits.max)), c.data_type)
    return c.converted(op.reduce(x, function, c.integers(1)).reshape(*c.sizes))


for _name, _reduce in {
    "ReduceSum": enums.DML_REDUCE_FUNCTION_SUM,
    "ReduceMean": enums.DML_REDUCE_FUNCTION_AVERAGE,
    "ReduceMax": enums.DML_REDUCE_FUNCTION_MAX,
    "ReduceMin": enums.DML_REDUCE_FUNCTION_MIN,
    "ReduceProd": enums.DML_REDUCE_FUNCTION_MULTIPLY,
    "ReduceL1": enums.DML_REDUCE_FUNCTION_L1,
    "ReduceL2": enums.DML_REDUCE_FUNCTION_L2,
}.items():
    layer(_name)(partial(_reduction, function=_reduce))
