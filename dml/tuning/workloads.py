"""Operators to measure, described by the few numbers that determine their speed. Rows of thresholds refer to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dml import descriptors, enums
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Descriptors, untyped: as in C, the ones below omit counts and the tensors of activations.
d: Any = descriptors


@dataclass(frozen=True)
class Workload:
    """An operator and its constant tensors. scale: factor of the constants' values."""

    desc: OperatorDesc
    weights: tuple[str, ...] = ()
    scale: float = 1.0


def tensor(kind: str, *sizes: int, strides: Sequence[int] | None = None) -> DML_BUFFER_TENSOR_DESC:
    return DML_BUFFER_TENSOR_DESC(enums.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{kind}"], sizes, strides)


def gemm(
    m: int, k: int, n: int, *, batch: int = 1, along: bool = False, left: bool = False, right: bool = False,
    kind: str = "FLOAT32",
) -> Workload:  # fmt: skip
    """Multiply m x k by k x n. along: b is stored transposed. left, right: that operand is constant."""
    desc = d.DML_GEMM_OPERATOR_DESC(
        ATensor=tensor(kind, 1, batch, m, k),
        BTensor=tensor(kind, 1, batch, *((n, k) if along else (k, n))),
        OutputTensor=tensor(kind, 1, batch, m, n),
        TransA=enums.DML_MATRIX_TRANSFORM_NONE,
        TransB=enums.DML_MATRIX_TRANSFORM_TRANSPOSE if along else enums.DML_MATRIX_TRANSFORM_NONE,
        Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    return Workload(desc, ("ATensor",) * left + ("BTensor",) * right)


def integer_product(m: int, k: int, n: int, *, right: bool = False) -> Workload:
    """Multiply INT8 matrices. right: the right one is constant."""
    desc = d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=tensor("INT8", 1, 1, m, k), BTensor=tensor("INT8", 1, 1, k, n), OutputTensor=tensor("INT32", 1, 1, m, n)
    )
    return Workload(desc, ("BTensor",) if right else ())


def convolution(
    inputs: int, outputs: int, side: int | Sequence[int], window: int | Sequence[int], *, batch: int = 1,
    stride: int = 1, dilation: int = 1, groups: int = 1, kind: str = "FLOAT32", integer: bool = False,
) -> Workload:  # fmt: skip
    """Convolve images of ``side`` with odd windows, padded so that the output's size is side / stride, rounded up.
    integer: INT8 tensors."""
    sides, taps = ((x, x) if isinstance(x, int) else tuple(x) for x in (side, window))
    pads = [dilation * (size - 1) // 2 for size in taps]
    ends = [pad - (stride > 1 and size > 1) for pad, size in zip(pads, taps, strict=True)]
    output_sides = [-(-size // stride) for size in sides]
    words = "INT8" if integer else kind
    common = {
        "InputTensor": tensor(words, batch, inputs, *sides),
        "FilterTensor": tensor(words, outputs, inputs // groups, *taps),
        "OutputTensor": tensor("INT32" if integer else kind, batch, outputs, *output_sides),
        "Strides": (stride,) * 2, "Dilations": (dilation,) * 2, "StartPadding": pads, "EndPadding": ends,
        "GroupCount": groups,
    }  # fmt: skip
    if integer:
        return Workload(d.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(**common), ("FilterTensor",))
    desc = d.DML_CONVOLUTION_OPERATOR_DESC(
        **common, BiasTensor=tensor(kind, 1, outputs, 1, 1), OutputPadding=(0, 0),
        Mode=enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION, Direction=enums.DML_CONVOLUTION_DIRECTION_FORWARD,
    )  # fmt: skip
    return Workload(desc, ("FilterTensor", "BiasTensor"))


def transposed_convolution(
    inputs: int, outputs: int, side: tuple[int, int], window: tuple[int, int], stride: int
) -> Workload:
    """Convolve backward along the width, and along the height if ``side`` has more than one row."""
    strides = (stride if side[0] > 1 else 1, stride)
    sides = [(size - 1) * step + taps for size, step, taps in zip(side, strides, window, strict=True)]
    desc = d.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", 1, inputs, *side), FilterTensor=tensor("FLOAT32", inputs, outputs, *window),
        BiasTensor=tensor("FLOAT32", 1, outputs, 1, 1), OutputTensor=tensor("FLOAT32", 1, outputs, *sides),
        Strides=strides, Dilations=(1, 1), StartPadding=(0, 0), EndPadding=(0, 0), OutputPadding=(0, 0), GroupCount=1,
        Mode=enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION, Direction=enums.DML_CONVOLUTION_DIRECTION_BACKWARD,
    )  # fmt: skip
    return Workload(desc, ("FilterTensor", "BiasTensor"))


def attention(heads: int, rows: int, columns: int, *, keys: int = 0, batch: int = 1, kind: str = "FLOAT32") -> Workload:
    """Attend with ``rows`` queries per head over ``keys`` keys (0: as many as queries)."""
    x, y = (tensor(kind, batch, size, heads * columns) for size in (rows, keys or rows))
    desc = d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        QueryTensor=x, KeyTensor=y, ValueTensor=y, OutputTensor=x, Scale=columns**-0.5, MaskFilterValue=-1e4,
        HeadCount=heads, MaskType=enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    return Workload(desc)


def recurrent(gates: int, steps: int, batch: int, hidden: int) -> Workload:
    """Return a GRU (3 gates) or an LSTM (4), forward, with hidden size equal to its input's."""
    sigmoid, tanh = d.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), d.DML_ACTIVATION_TANH_OPERATOR_DESC()
    common: dict[str, Any] = {
        "InputTensor": tensor("FLOAT32", 1, steps, batch, hidden),
        "WeightTensor": tensor("FLOAT32", 1, 1, gates * hidden, hidden),
        "RecurrenceTensor": tensor("FLOAT32", 1, 1, gates * hidden, hidden),
        "BiasTensor": tensor("FLOAT32", 1, 1, 1, 2 * gates * hidden),
        "OutputSequenceTensor": tensor("FLOAT32", steps, 1, batch, hidden),
        "Direction": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    }
    desc: OperatorDesc
    if gates == 3:
        desc = d.DML_GRU_OPERATOR_DESC(**common, ActivationDescs=(sigmoid, tanh), LinearBeforeReset=True)
    else:
        desc = d.DML_LSTM_OPERATOR_DESC(
            **common, ActivationDescs=(sigmoid, tanh, tanh), ClipThreshold=0.0, UseClipThreshold=False,
            CoupleInputForget=False,
        )  # fmt: skip
    # Weights small enough that a rounding difference fades from step to step.
    return Workload(desc, ("WeightTensor", "RecurrenceTensor", "BiasTensor"), 1.0 / math.sqrt(hidden))


def softmax(rows: int, length: int, *, kind: str = "FLOAT32") -> Workload:
    x = tensor(kind, 1, 1, rows, length)
    return Workload(d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=x, OutputTensor=x))


def normalization(sizes: Sequence[int], axes: Sequence[int], *, kind: str = "FLOAT32") -> Workload:
    """Subtract the mean over ``axes`` and divide by the deviation."""
    x = tensor(kind, *sizes)
    desc = d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=x, OutputTensor=x, Axes=axes, NormalizeVariance=True, Epsilon=1e-5
    )
    return Workload(desc)


def reduction(sizes: Sequence[int], axes: Sequence[int], *, function: str = "SUM", kind: str = "FLOAT32") -> Workload:
    reduced = [1 if axis in axes else size for axis, size in enumerate(sizes)]
    desc = d.DML_REDUCE_OPERATOR_DESC(
        Function=enums.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
        InputTensor=tensor(kind, *sizes), OutputTensor=tensor(kind, *reduced), Axes=axes,
    )  # fmt: skip
    return Workload(desc)


def running_sum(sizes: Sequence[int], axis: int) -> Workload:
    x = tensor("FLOAT32", *sizes)
    desc = d.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(
        InputTensor=x, OutputTensor=x, Axis=axis, AxisDirection=enums.DML_AXIS_DIRECTION_INCREASING,
        HasExclusiveSum=False,
    )  # fmt: skip
    return Workload(desc)


def top_k(lines: int, length: int, k: int) -> Workload:
    desc = d.DML_TOP_K_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", 1, 1, lines, length), OutputValueTensor=tensor("FLOAT32", 1, 1, lines, k),
        OutputIndexTensor=tensor("UINT32", 1, 1, lines, k), Axis=3, K=k,
    )  # fmt: skip
    return Workload(desc)


def nonzero(count: int) -> Workload:
    desc = d.DML_NONZERO_COORDINATES_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", 1, 1, 1, count), OutputCountTensor=tensor("UINT32", 1, 1, 1, 1),
        OutputCoordinatesTensor=tensor("UINT32", 1, 1, count, 4),
    )  # fmt: skip
    return Workload(desc)


def pooling(channels: int, side: int, window: int, *, stride: int = 1, maximum: bool = False) -> Workload:
    """Take the means, or maxima, of square windows without padding."""
    output_side = (side - window) // stride + 1
    common: dict[str, Any] = {
        "InputTensor": tensor("FLOAT32", 1, channels, side, side),
        "OutputTensor": tensor("FLOAT32", 1, channels, output_side, output_side),
        "Strides": (stride,) * 2, "WindowSize": (window,) * 2, "StartPadding": (0, 0), "EndPadding": (0, 0),
    }  # fmt: skip
    if maximum:
        return Workload(d.DML_MAX_POOLING_OPERATOR_DESC(**common))
    return Workload(d.DML_AVERAGE_POOLING_OPERATOR_DESC(**common, IncludePadding=False))


def transposition(sizes: Sequence[int], order: Sequence[int], *, kind: str = "FLOAT32") -> Workload:
    """Copy a tensor of ``sizes``, whose axes lie in memory in this order, into row-major order."""
    strides, step = [0] * len(sizes), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= sizes[axis]
    desc = d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
        InputTensor=tensor(kind, *sizes, strides=strides), OutputTensor=tensor(kind, *sizes)
    )
    return Workload(desc)


_MAKERS: Mapping[str, Callable[..., Workload]] = {
    maker.__name__: maker
    for maker in (
        gemm, integer_product, convolution, attention, recurrent, softmax, normalization, reduction, running_sum, top_k,
        nonzero, pooling, transposed_convolution, transposition,
    )
}  # fmt: skip


def workload(row: Mapping[str, Mapping[str, Any]]) -> Workload:
    """Return the workload that a threshold's row names: {function: arguments}."""
    ((name, arguments),) = row.items()
    return _MAKERS[name](**arguments)
