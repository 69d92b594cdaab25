"""The layers around the recurrent ones. Each mapping follows the layer's page in OpenVINO's operation sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors import activation as act
from dml.descriptors import elementwise as ew
from dml.descriptors.movement import DML_PADDING1_OPERATOR_DESC, DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
from dml.frontends.openvino.convert import Context, Value, layer
from dml.frontends.openvino.ir import ELEMENT_TYPES
from dml.graph.builder import Tensor
from dml.shapes import broadcast_sizes, same_padding, window_reach, with_rank, with_size, with_spatial
from dml.tensors import DML_SCALAR_UNION, nearest_float

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8


# Element by element


def _binary(c: Context, cls: Any, data_type: Any = None) -> Tensor:
    a, b = c.tensor(0), c.tensor(1)
    if c.layer.text("auto_broadcast", "numpy") == "none" and a.sizes != b.sizes:
        raise c.error(f"without broadcasting its inputs must agree, found {a.sizes} and {b.sizes}")
    sizes = broadcast_sizes(a.sizes, b.sizes)
    kind = data_type or a.data_type
    return c.graph.one(cls, sizes, kind, ATensor=a.broadcast(sizes), BTensor=b.broadcast(sizes))


def _unary(c: Context, function: Callable[[Tensor], Tensor]) -> Tensor:
    return function(c.tensor(0))


def _reduction(c: Context, function: enums.DML_REDUCE_FUNCTION) -> Tensor:
    return op.reduce(c.tensor(0), function, c.integers(1)).reshape(*c.sizes)


for _name, _cls in {
    "Add": ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC,
    "Subtract": ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC,
    "Multiply": ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC,
    "Divide": ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC,
    "Maximum": ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC,
    "Minimum": ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC,
    "SquaredDifference": ew.DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC,
    "Mod": ew.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC,
    "FloorMod": ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC,
    "LogicalAnd": ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC,
    "LogicalOr": ew.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC,
    "LogicalXor": ew.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC,
}.items():
    layer(_name)(partial(_binary, cls=_cls))

for _name, _cls in {
    "Equal": ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC,
    "Greater": ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC,
    "GreaterEqual": ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC,
    "Less": ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC,
    "LessEqual": ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC,
}.items():
    layer(_name)(partial(_binary, cls=_cls, data_type=UINT8))

for _name, _function in {
    "Abs": op.absolute,
    "Acos": op.acos,
    "Asin": op.asin,
    "Atan": op.atan,
    "Ceiling": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Log": op.log,
    "LogicalNot": op.logical_not,
    "Negative": op.negate,
    "ReLU": op.relu,
    "Sigmoid": op.sigmoid,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "SoftSign": op.softsign,
    "Sqrt": op.sqrt,
    "Tan": op.tan,
    "TanH": op.tanh,
    "Tanh": op.tanh,
}.items():
    layer(_name)(partial(_unary, function=_function))


@layer("NotEqual")
def not_equal(c: Context) -> Value:
    return op.logical_not(_binary(c, ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, UINT8))


@layer("Power")
def power(c: Context) -> Value:
    exponent = c.values[1]
    if not isinstance(exponent, Tensor) and exponent.size == 1:
        return op.pow_(c.tensor(0), float(np.ravel(exponent)[0]))
    return op.pow_(c.tensor(0), c.tensor(1))


@layer("Select")
def select(c: Context) -> Value:
    return op.if_(c.tensor(0), c.tensor(1), c.tensor(2))


@layer("Clamp")
def clamp(c: Context) -> Value:
    # Attributes are doubles; their largest is how models say that there is no limit.
    low, high = (nearest_float(c.layer.number(name)) for name in ("min", "max"))
    return op.clip(c.tensor(0), Min=low, Max=high)


@layer("Elu")
def elu(c: Context) -> Value:
    return op.elu(c.tensor(0), Alpha=c.layer.number("alpha"))


@layer("Selu")
def selu(c: Context) -> Value:
    alpha, gamma = (float(np.ravel(c.known(i))[0]) for i in (1, 2))
    return op.scaled_elu(c.tensor(0), Alpha=alpha, Gamma=gamma)


@layer("HardSigmoid")
def hard_sigmoid(c: Context) -> Value:
    alpha, beta = (float(np.ravel(c.known(i))[0]) for i in (1, 2))
    return op.hard_sigmoid(c.tensor(0), Alpha=alpha, Beta=beta)


@layer("HSigmoid")
def hsigmoid(c: Context) -> Value:
    return op.hard_sigmoid(c.tensor(0), Alpha=1 / 6, Beta=0.5)


@layer("HSwish")
def hswish(c: Context) -> Value:
    return op.hard_swish(c.tensor(0), Alpha=1 / 6, Beta=0.5)


@layer("SoftPlus")
def softplus(c: Context) -> Value:
    return op.softplus(c.tensor(0), Steepness=1.0)


@layer("Mish")
def mish(c: Context) -> Value:
    x = c.tensor(0)
    return x * op.tanh(op.softplus(x, Steepness=1.0))


@layer("Swish")
def swish(c: Context) -> Value:
    beta = float(np.ravel(c.known(1))[0]) if len(c.values) > 1 else 1.0
    return op.swish(c.tensor(0), SigmoidInputScale=beta)


@layer("Gelu")
def gelu(c: Context) -> Value:
    x = c.tensor(0)
    if c.layer.text("approximation_mode", "ERF").upper() == "ERF":
        return op.gelu(x)
    inner = (x + x * x * x * 0.044715) * float(np.sqrt(2 / np.pi))
    return x * (op.tanh(inner) + 1.0) * 0.5


@layer("PReLU")
def prelu(c: Context) -> Value:
    x, slope = c.tensor(0), c.tensor(1)
    if slope.rank == 1 and x.rank > 1 and slope.sizes[0] == x.sizes[1]:
        slope = slope.view((1, slope.sizes[0], *(1,) * (x.rank - 2)))
    cls = act.DML_ACTIVATION_PARAMETERIZED_RELU_OPERATOR_DESC
    return c.graph.one(cls, x.sizes, InputTensor=x, SlopeTensor=slope.broadcast(x.sizes))


@layer("SoftMax", "Softmax")
def softmax(c: Context) -> Value:
    x = c.tensor(0)
    return op.softmax(x, Axes=[c.layer.integer("axis", 1) % x.rank])


@layer("LogSoftmax")
def log_softmax(c: Context) -> Value:
    x = c.tensor(0)
    return op.log_softmax(x, Axes=[c.layer.integer("axis", -1) % x.rank])


@layer("Convert", "ConvertLike")
def convert(c: Context) -> Value:
    value = c.values[0]
    if not isinstance(value, Tensor):
        return value.astype(ELEMENT_TYPES[c.layer.outputs[0].element_type])
    if c.layer.outputs[0].element_type == "boolean":
        return op.logical_not(op.equals(value, 0))
    return value if value.data_type == c.data_type else op.cast(value, c.data_type)


# Shapes and movement


@layer("ShapeOf")
def shape_of(c: Context) -> Value:
    value = c.values[0]
    sizes = value.sizes if isinstance(value, Tensor) else value.shape
    return np.array(sizes, ELEMENT_TYPES[c.layer.outputs[0].element_type])


@layer("Reshape", "Squeeze", "Unsqueeze")
def reshape(c: Context) -> Value:
    value = c.values[0]
    return value.reshape(*c.sizes) if isinstance(value, Tensor) else value.reshape(c.layer.outputs[0].sizes)


@layer("Transpose")
def transpose(c: Context) -> Value:
    value = c.values[0]
    rank = value.rank if isinstance(value, Tensor) else value.ndim
    order = c.integers(1) or list(range(rank))[::-1]
    return value.transpose(*order)


@layer("Broadcast")
def broadcast(c: Context) -> Value:
    x = c.tensor(0)
    if c.layer.text("mode", "numpy") == "explicit":
        axes = c.integers(2)
        x = x.reshape(*(x.sizes[axes.index(d)] if d in axes else 1 for d in range(len(c.sizes))))
    return x.broadcast(broadcast_sizes(x.sizes, c.sizes))


@layer("Tile")
def tile(c: Context) -> Value:
    x, repeats = c.tensor(0), c.integers(1)
    rank = max(x.rank, len(repeats))
    x = x.reshape(*with_rank(x.sizes, rank))
    return op.tile(x, [1] * (rank - len(repeats)) + repeats)


@layer("Concat")
def concat(c: Context) -> Value:
    if not any(isinstance(value, Tensor) for value in c.values):
        return np.concatenate([np.asarray(value) for value in c.values], c.layer.integer("axis"))
    return op.join(c.tensors(), c.layer.integer("axis"))


@layer("Split")
def split(c: Context) -> Sequence[Value]:
    x, axis, count = c.tensor(0), c.integers(1)[0], c.layer.integer("num_splits")
    axis %= x.rank
    if count < 1 or x.sizes[axis] % count:
        raise c.error(f"num_splits {count} does not divide the size {x.sizes[axis]} of axis {axis}")
    return op.split(x, axis, [x.sizes[axis] // count] * count)


@layer("VariadicSplit")
def variadic_split(c: Context) -> Sequence[Value]:
    x, axis, lengths = c.tensor(0), c.integers(1)[0], c.integers(2)
    rest = x.sizes[axis] - sum(length for length in lengths if length >= 0)
    return op.split(x, axis, [rest if length < 0 else length for length in lengths])


@layer("Gather")
def gather(c: Context) -> Value:
    axis = c.integers(2)[0]
    if not any(isinstance(value, Tensor) for value in c.values[:2]):
        return np.take(np.asarray(c.values[0]), np.asarray(c.values[1]), axis)
    x, indices = c.tensor(0), c.tensor(1)
    if c.layer.integer("batch_dims", 0):
        raise c.error("batch_dims other than 0 is not supported")
    return op.gather(x, indices, axis).reshape(*c.sizes)


@layer("Slice")
def slice_(c: Context) -> Value:
    x = c.tensor(0)
    starts, stops, steps = c.integers(1), c.integers(2), c.integers(3)
    axes = c.integers(4) if len(c.values) > 4 else list(range(len(starts)))
    return _window(x, {axis % x.rank: slice(*bounds) for axis, *bounds in zip(axes, starts, stops, steps, strict=True)})


def _window(x: Tensor, slices: dict[int, slice]) -> Tensor:
    """x[slices], with NumPy's meaning of the bounds."""
    offsets, sizes, strides = [0] * x.rank, list(x.sizes), [1] * x.rank
    for axis, bounds in slices.items():
        chosen = range(x.sizes[axis])[bounds]
        first, last = (chosen[0], chosen[-1]) if chosen.step > 0 else (chosen[-1], chosen[0])
        offsets[axis], sizes[axis], strides[axis] = first, last - first + 1, chosen.step
    return op.slice_(x, offsets, sizes, strides)


@layer("StridedSlice")
def strided_slice(c: Context) -> Value:
    value = c.values[0]
    x = value if isinstance(value, Tensor) else np.asarray(value)
    rank = x.rank if isinstance(x, Tensor) else x.ndim
    begin, end = c.integers(1), c.integers(2)
    step = c.integers(3) if len(c.values) > 3 else [1] * len(begin)
    if any(c.layer.integers("ellipsis_mask")):
        raise c.error("ellipsis_mask is not supported")

    def mask(name: str) -> list[int]:
        given = c.layer.integers(name)
        return given + [0] * (len(begin) - len(given))

    masks = [mask(f"{name}_mask") for name in ("begin", "end", "new_axis", "shrink_axis")]
    slices: dict[int, slice] = {}
    axis = 0
    for first, last, by, no_first, no_last, new, shrink in zip(begin, end, step, *masks, strict=True):
        if new:
            continue
        if shrink:
            at = first % (x.sizes if isinstance(x, Tensor) else x.shape)[axis]
            slices[axis] = slice(at, at + 1)
        else:
            slices[axis] = slice(None if no_first else first, None if no_last else last, by)
        axis += 1
    if isinstance(x, Tensor):
        return _window(x, slices).reshape(*c.sizes)
    return x[tuple(slices.get(d, slice(None)) for d in range(rank))].reshape(c.layer.outputs[0].sizes)


@layer("Pad")
def pad(c: Context) -> Value:
    modes = {
        "constant": enums.DML_PADDING_MODE_CONSTANT,
        "edge": enums.DML_PADDING_MODE_EDGE,
        "reflect": enums.DML_PADDING_MODE_REFLECTION,
        "symmetric": enums.DML_PADDING_MODE_SYMMETRIC,
    }
    mode = c.layer.text("pad_mode")
    if mode not in modes:
        raise c.error(f"pad_mode {mode!r} is not one of {', '.join(modes)}")
    x, start, end = c.tensor(0), c.integers(1), c.integers(2)
    if min(start + end, default=0) < 0:
        raise c.error(f"negative padding is not supported, found {start} and {end}")
    value = np.ravel(c.known(3))[0] if len(c.values) > 3 else 0
    name = x.desc.dtype.name
    bits = np.float16(value).view(np.uint16).item() if name == "float16" else np.asarray(value, x.desc.dtype).item()
    return c.graph.one(
        DML_PADDING1_OPERATOR_DESC,
        c.sizes,
        InputTensor=x,
        PaddingMode=modes[mode],
        PaddingValueDataType=x.data_type,
        PaddingValue=DML_SCALAR_UNION(**{_MEMBERS[name]: bits}),
        StartPadding=start,
        EndPadding=end,
    )


_MEMBERS = {
    "float16": "UInt16", "float32": "Float32", "float64": "Float64", "int8": "Int8", "int16": "Int16", "int32": "Int32",
    "int64": "Int64", "uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


@layer("ReverseSequence")
def reverse_sequence(c: Context) -> Value:
    x = c.tensor(0)
    batch, axis = (c.layer.integer(f"{name}_axis", d) % x.rank for name, d in (("batch", 0), ("seq", 1)))
    return reverse_subsequences(c.graph, x, c.values[1], batch, axis)


def reverse_subsequences(graph: Any, x: Tensor, lengths: Value, batch: int, axis: int) -> Tensor:
    """x with the first lengths[b] elements along ``axis`` reversed, for each b along ``batch``."""
    if isinstance(lengths, Tensor):
        signed = (enums.DML_TENSOR_DATA_TYPE_INT32, enums.DML_TENSOR_DATA_TYPE_INT64)
        kind = enums.DML_TENSOR_DATA_TYPE_UINT32
        counts = op.cast(lengths, kind) if lengths.data_type in signed else lengths
    else:
        counts = graph.constant(np.asarray(lengths).astype(np.uint32))
    sizes = with_size(x.sizes, axis, 1)
    strides = tuple(1 if d == batch else 0 for d in range(x.rank))
    counts = counts.packed().view(sizes, strides)
    cls = DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
    made = graph.one(cls, x.sizes, x.data_type, InputTensor=x, SequenceLengthsTensor=counts, Axis=axis)
    assert isinstance(made, Tensor)
    return made


# Products, windows, statistics


@layer("MatMul")
def matmul(c: Context) -> Value:
    a, b = c.tensor(0), c.tensor(1)
    turn_a, turn_b = c.layer.flag("transpose_a"), c.layer.flag("transpose_b")
    if a.rank == 1:
        a, turn_a = a.view((1, a.sizes[0])), False
    if b.rank == 1:
        b, turn_b = b.view((b.sizes[0], 1)), False
    if turn_a:
        a = a.transpose(*range(a.rank - 2), a.rank - 1, a.rank - 2)
    if turn_b:
        b = b.transpose(*range(b.rank - 2), b.rank - 1, b.rank - 2)
    batch = broadcast_sizes(a.sizes[:-2], b.sizes[:-2]) if a.rank > 2 or b.rank > 2 else ()
    a, b = a.broadcast((*batch, *a.sizes[-2:])), b.broadcast((*batch, *b.sizes[-2:]))
    if len(batch) > 2:
        a, b = (t.packed().view((1, prod(batch), *t.sizes[-2:])) for t in (a, b))
    elif len(batch) < 2:
        a, b = (t.view(with_rank(t.sizes, 4), with_rank(t.desc.strides, 4, 0)) for t in (a, b))
    return op.gemm(a, b).view(c.sizes)


def _padding(c: Context, x: Tensor, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Any:
    """Start and end padding, as given or by auto_pad."""
    start, end = c.layer.integers("pads_begin"), c.layer.integers("pads_end")
    auto = c.layer.text("auto_pad", "explicit")
    if auto == "valid":
        return [0] * len(window), [0] * len(window)
    if auto in ("same_upper", "same_lower"):
        start, end = [], []
        for size, w, s, d in zip(x.sizes[2:], window, strides, dilations, strict=True):
            total = same_padding(size, window_reach(w, d), s)
            small, large = total // 2, total - total // 2
            start.append(small if auto == "same_upper" else large)
            end.append(large if auto == "same_upper" else small)
    return start, end


@layer("Convolution", "GroupConvolution")
def convolution(c: Context) -> Value:
    x, w = c.tensor(0), c.tensor(1)
    groups = 1
    if c.layer.type == "GroupConvolution":
        groups = w.sizes[0]
        w = w.packed().view((groups * w.sizes[1], *w.sizes[2:]))
    window = w.sizes[2:]
    strides = c.layer.integers("strides") or [1] * len(window)
    dilations = c.layer.integers("dilations") or [1] * len(window)
    start, end = _padding(c, x, window, strides, dilations)
    y = op.convolution(
        *_flat(x, w), strides=_two(strides, 1), dilations=_two(dilations, 1), start_padding=_two(start, 0),
        end_padding=_two(end, 0), groups=groups,
    )  # fmt: skip
    return y.view(c.sizes)


def _flat(*tensors: Tensor) -> list[Tensor]:
    """One spatial dimension becomes two, of which the first has size 1."""
    made = []
    for t in tensors:
        made.append(t if t.rank != 3 else t.view(with_spatial(t.sizes, 2), with_spatial(t.desc.strides, 2, 0)))
    return made


def _two(values: Sequence[int], other: int) -> list[int]:
    return [other, *values] if len(values) == 1 else list(values)


@layer("MaxPool")
def max_pool(c: Context) -> Value | Sequence[Value]:
    x = c.tensor(0)
    window, strides = c.layer.integers("kernel"), c.layer.integers("strides")
    dilations = c.layer.integers("dilations") or [1] * len(window)
    start, end = _pool_padding(c, x, window, strides, dilations)
    (flat,) = _flat(x)
    y = op.max_pooling(
        flat, _two(window, 1), strides=_two(strides, 1), start_padding=_two(start, 0), end_padding=_two(end, 0),
        dilations=_two(dilations, 1),
    )  # fmt: skip
    return y.view(c.sizes)


@layer("AvgPool")
def average_pool(c: Context) -> Value:
    x = c.tensor(0)
    window, strides = c.layer.integers("kernel"), c.layer.integers("strides")
    start, end = _pool_padding(c, x, window, strides, [1] * len(window))
    (flat,) = _flat(x)
    y = op.average_pooling(
        flat, _two(window, 1), strides=_two(strides, 1), start_padding=_two(start, 0), end_padding=_two(end, 0),
        include_padding=not c.layer.flag("exclude-pad"),
    )  # fmt: skip
    return y.view(c.sizes)


def _pool_padding(
    c: Context, x: Tensor, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[list[int], list[int]]:
    """As for convolutions; rounding up is more padding at the end, up to the output's own sizes."""
    start, end = _padding(c, x, window, strides, dilations)
    spatial = zip(c.sizes[2:], x.sizes[2:], window, strides, dilations, start, end, strict=True)
    needed = [max(e, (o - 1) * s + (w - 1) * d + 1 - size - b) for o, size, w, s, d, b, e in spatial]
    if needed != list(end) and c.layer.type == "AvgPool" and not c.layer.flag("exclude-pad"):
        raise c.error("rounding up with counted padding is not supported")
    return list(start), needed


@layer("BatchNormInference")
def batch_norm(c: Context) -> Value:
    x, gamma, beta, mean, variance = c.tensors()
    return op.batch_normalization(x, mean, variance, gamma, beta, epsilon=c.layer.number("epsilon"))


@layer("MVN")
def mvn(c: Context) -> Value:
    x = c.tensor(0)
    epsilon = c.layer.number("eps", 1e-9)
    if len(c.values) > 1:
        axes = [axis % x.rank for axis in c.integers(1)]
    else:
        axes = list(range(1 if c.layer.flag("across_channels") else 2, x.rank))
    normalize = c.layer.flag("normalize_variance", True)
    if not normalize or c.layer.text("eps_mode", "inside_sqrt").lower() == "inside_sqrt":
        return op.mean_variance_normalization(x, axes, normalize_variance=normalize, epsilon=epsilon)
    centred = x - op.reduce(x, enums.DML_REDUCE_FUNCTION_AVERAGE, axes)
    variance = op.reduce(centred * centred, enums.DML_REDUCE_FUNCTION_AVERAGE, axes)
    return centred / (op.sqrt(variance) + epsilon)


@layer("GroupNormalization")
def group_normalization(c: Context) -> Value:
    x, scale, bias = c.tensors()
    groups, epsilon = c.layer.integer("num_groups"), c.layer.number("epsilon")
    batch, channels = x.sizes[:2]
    if groups < 1 or channels % groups:
        raise c.error(f"num_groups {groups} does not divide the {channels} channels")
    each = channels // groups
    sizes = (batch, groups, each, prod(x.sizes[2:]))
    strides = (0, each, 1, 0)
    y = op.mean_variance_normalization(
        x.packed().view(sizes), [2, 3], scale.view(sizes, strides), bias.view(sizes, strides), epsilon=epsilon
    )
    return y.view(x.sizes)


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
