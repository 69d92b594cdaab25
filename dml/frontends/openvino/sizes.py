"""Output sizes of layers that the file leaves dynamic, inferred from the sizes of the model's parameters.

Reference: OpenVINO's operation specifications, opset1 to opset15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, prod
from typing import Any

import numpy as np

from dml.errors import HRESULT
from dml.frontends.openvino.convert import IrContext
from dml.shapes import (
    joined_sizes,
    ones_along,
    padded_sizes,
    replaced,
    same_paddings,
    scaled_sizes,
    transposed_sizes,
    window_counts,
    window_reach,
    with_axis,
    with_rank,
    with_size,
)

_Sizes = tuple[int, ...]
_Rule = Callable[[IrContext, list[_Sizes]], Any]
#: The rules that are one expression, of a layer's context and its inputs' sizes.
_RULES: dict[str, _Rule] = {
    **dict.fromkeys((
        "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceiling", "Clamp", "Convert",
        "ConvertLike", "Cos", "Cosh", "CumSum", "Elu", "Erf", "Exp", "FakeQuantize", "Floor", "Gelu",
        "GroupNormalization", "HSigmoid", "HSwish", "HardSigmoid", "Identity", "IsFinite", "IsInf", "IsNaN", "LRN",
        "Log", "LogSoftmax", "LogicalNot", "MVN", "Mish", "Negative", "NormalizeL2", "PReLU", "ReLU", "Reverse",
        "ReverseSequence", "Roll", "Round", "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate", "Selu",
        "ShuffleChannels", "Sigmoid", "Sign", "Sin", "Sinh", "SoftMax", "SoftPlus", "SoftSign", "Softmax", "Sqrt",
        "Swish", "Tan", "TanH", "Tanh",
    ), lambda c, inputs: inputs[0]),
    **dict.fromkeys((
        "Add", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Divide", "Equal", "FloorMod", "Greater", "GreaterEqual",
        "Less", "LessEqual", "LogicalAnd", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Mod", "Multiply",
        "NotEqual", "Power", "Select", "SquaredDifference", "Subtract",
    ), lambda c, inputs: np.broadcast_shapes(*inputs)),
    **dict.fromkeys(("GRUCell", "GatherElements", "LSTMCell", "RNNCell"), lambda c, inputs: inputs[1]),
    **dict.fromkeys(("AdaptiveAvgPool", "AdaptiveMaxPool"), lambda c, inputs: (*inputs[0][:2], *c.integers(1))),
    "BatchNormInference": lambda c, inputs: inputs[2 if c.layer.version == "opset1" else 0],
    "Concat": lambda c, inputs: joined_sizes(inputs, c.axis(c.layer.integer("axis"), len(inputs[0]))),
    "Eye": lambda c, inputs: (*(c.integers(3) if len(c.values) > 3 else ()), c.integer(0), c.integer(1)),
    "GridSample": lambda c, inputs: (*inputs[0][:2], *inputs[1][1:3]),
    "OneHot": lambda c, inputs: with_axis(
        inputs[0], c.axis(c.layer.integer("axis", -1), len(inputs[0]) + 1), c.integer(1)
    ),
    "Pad": lambda c, inputs: padded_sizes(inputs[0], c.integers(1), c.integers(2)),
    "ROIAlign": lambda c, inputs: (
        inputs[1][0], inputs[0][1], c.layer.integer("pooled_h"), c.layer.integer("pooled_w")
    ),
    "ShapeOf": lambda c, inputs: (len(inputs[0]),),
    "StridedSlice": lambda c, inputs: strided_slices(c, inputs[0])[1],
    "TopK": lambda c, inputs: with_size(inputs[0], c.axis(c.layer.integer("axis"), len(inputs[0])), c.integer(1)),
    "Transpose": lambda c, inputs: tuple(inputs[0][axis] for axis in c.integers(1) or range(len(inputs[0]))[::-1]),
}  # fmt: skip


def infer_sizes(c: IrContext) -> list[_Sizes]:
    """Infer the sizes of a layer's outputs from those of its inputs and from known numbers.

    Raises DMLError for a layer without a rule, and for sizes that do not fit.
    """
    rule = _RULES.get(c.layer.type)
    if rule is None:
        raise c.error("its sizes must be static: none are inferred for this layer", HRESULT.DXGI_ERROR_UNSUPPORTED)
    inputs = [source.outputs[index].sizes for source, index in c.layer.inputs]
    try:
        found = rule(c, inputs)
    except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
        raise c.error(f"inputs of sizes {', '.join(map(str, inputs))} do not fit: {error}") from None
    outputs = found if isinstance(found, list) else [found] * len(c.layer.outputs)
    return [tuple(int(size) for size in sizes) for sizes in outputs]


def size_rule(*types: str) -> Callable[[_Rule], _Rule]:
    """Register a function of a layer's context and its inputs' sizes that returns the outputs' sizes: one for each
    output, or one for all."""

    def register(function: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(types, function))
        return function

    return register


@size_rule("MatMul")
def _matmul(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    a, b = inputs
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    if c.layer.flag("transpose_a") and len(a) > 1:
        rows = a[-1:]
    if c.layer.flag("transpose_b") and len(b) > 1:
        columns = b[-2:-1]
    return (*np.broadcast_shapes(a[:-2], b[:-2]), *rows, *columns)


@size_rule("ScaledDotProductAttention")
def _attention(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    q, k, v = inputs[:3]
    return (*np.broadcast_shapes(q[:-2], k[:-2], v[:-2]), q[-2], v[-1])


# --- shapes -------------------------------------------------------------------------------------------------------


@size_rule("Reshape")
def _reshape(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, wanted = inputs[0], c.integers(1)
    if c.layer.flag("special_zero"):
        wanted = [x[index] if size == 0 else size for index, size in enumerate(wanted)]
    rest = prod(size for size in wanted if size >= 0)
    return tuple(prod(x) // rest if size < 0 else size for size in wanted)


@size_rule("Squeeze")
def _squeeze(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x = inputs[0]
    if len(c.values) < 2:
        return tuple(size for size in x if size != 1)
    axes = {c.axis(axis, len(x)) for axis in c.integers(1)}
    return tuple(size for index, size in enumerate(x) if index not in axes)


@size_rule("Unsqueeze")
def _unsqueeze(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    axes = c.integers(1)
    rank = len(inputs[0]) + len(axes)
    ones, rest = {c.axis(axis, rank) for axis in axes}, iter(inputs[0])
    return tuple(1 if index in ones else next(rest, 1) for index in range(rank))


@size_rule("Broadcast")
def _broadcast(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    wanted = tuple(c.integers(1))
    return np.broadcast_shapes(inputs[0], wanted) if c.layer.text("mode", "numpy") == "bidirectional" else wanted


@size_rule("Tile")
def _tile(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, repeats = inputs[0], c.integers(1)
    rank = max(len(x), len(repeats))
    return scaled_sizes(with_rank(x, rank), [1] * (rank - len(repeats)) + repeats)


@size_rule("Split")
def _split(c: IrContext, inputs: list[_Sizes]) -> list[_Sizes]:
    axis, count = c.axis(c.integer(1), len(inputs[0])), c.layer.integer("num_splits")
    return [with_size(inputs[0], axis, inputs[0][axis] // count)] * count


@size_rule("VariadicSplit")
def _variadic_split(c: IrContext, inputs: list[_Sizes]) -> list[_Sizes]:
    x, lengths = inputs[0], c.integers(2)
    axis = c.axis(c.integer(1), len(x))
    rest = x[axis] - sum(length for length in lengths if length >= 0)
    return [with_size(x, axis, rest if length < 0 else length) for length in lengths]


@size_rule("Slice")
def _slice(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    sizes = list(inputs[0])
    bounds = [c.integers(index) for index in (1, 2, 3)]
    axes = c.integers(4) if len(c.values) > 4 else range(len(bounds[0]))
    for axis, *each in zip(axes, *bounds, strict=True):
        sizes[axis] = len(taken(slice(*each), sizes[axis]))
    return tuple(sizes)


def taken(bounds: slice, size: int) -> range:
    """Return the positions that a slice selects: NumPy's, but backwards from the first one if the start precedes it."""
    if bounds.start is not None and bounds.step is not None and bounds.step < 0:
        bounds = slice(max(bounds.start, -size), bounds.stop, bounds.step)
    return range(size)[bounds]


def strided_slices(c: IrContext, sizes: _Sizes) -> tuple[dict[int, slice], _Sizes]:
    """Return the slices of StridedSlice by axis, and the sizes of its result. sizes: of its input."""
    begin, end = c.integers(1), c.integers(2)
    step = c.integers(3) if len(c.values) > 3 else [1] * len(begin)

    def mask(name: str) -> list[int]:
        given = c.layer.integers(f"{name}_mask")
        return given + [0] * (len(begin) - len(given))

    masks = [mask(name) for name in ("begin", "end", "new_axis", "shrink_axis", "ellipsis")]
    consumed = sum(not new and not dots for new, dots in zip(masks[2], masks[4], strict=False))
    if any(len(each) != len(begin) for each in (end, step, *masks)) or consumed > len(sizes):
        raise c.error(
            f"begin, end, step and masks must have equal lengths, at most {len(sizes)}, found {begin}, {end}, {step}"
        )
    slices: dict[int, slice] = {}
    result: list[int] = []
    axis = 0
    for first, last, by, no_first, no_last, new, shrink, dots in zip(begin, end, step, *masks, strict=True):
        if dots:  # an ellipsis covers all dimensions without an entry
            covered = len(sizes) - consumed
            result += sizes[axis : axis + covered]
            axis += covered
        elif new:
            result.append(1)
        elif shrink:
            index = 0 if no_first else first
            if not -sizes[axis] <= index < sizes[axis]:
                raise c.error(f"index {index} lies outside dimension {axis} of sizes {sizes}")
            index %= sizes[axis]
            slices[axis] = slice(index, index + 1)
            axis += 1
        elif not by:
            raise c.error("steps must not be zero")
        else:
            slices[axis] = slice(None if no_first else first, None if no_last else last, by)
            result.append(len(taken(slices[axis], sizes[axis])))
            axis += 1
    return slices, (*result, *sizes[axis:])


@size_rule("DepthToSpace")
def _depth_to_space(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    block, (n, channels, *spatial) = c.layer.integer("block_size", 1), inputs[0]
    return (n, channels // block ** len(spatial), *(size * block for size in spatial))


@size_rule("SpaceToDepth")
def _space_to_depth(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    block, (n, channels, *spatial) = c.layer.integer("block_size", 1), inputs[0]
    return (n, channels * block ** len(spatial), *(size // block for size in spatial))


# --- indices ------------------------------------------------------------------------------------------------------


@size_rule("Gather")
def _gather(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, indices = inputs[:2]
    axis = c.axis(c.integer(2), len(x))
    batches = c.layer.integer("batch_dims", 0)
    return replaced(x, axis, indices[batches + len(indices) if batches < 0 else batches :])


@size_rule("GatherND")
def _gather_nd(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, indices = inputs
    batches = c.layer.integer("batch_dims", 0)
    first = (prod(indices[:batches]),) if c.layer.version == "opset5" and batches else indices[:batches]
    return (*first, *indices[batches:-1], *x[batches + indices[-1] :])


@size_rule("Range")
def _range(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    start, stop, step = (c.single(index).item() for index in range(3))
    return (max(0, ceil((stop - start) / step)),)


# --- reductions, windows, images ----------------------------------------------------------------------------------


@size_rule(
    "ReduceL1", "ReduceL2", "ReduceLogicalAnd", "ReduceLogicalOr", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum",
)  # fmt: skip
def _reduced(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x = inputs[0]
    axes = {c.axis(axis, len(x)) for axis in c.integers(1)}
    if c.layer.flag("keep_dims"):
        return ones_along(x, sorted(axes))
    return tuple(size for index, size in enumerate(x) if index not in axes)


def padding(
    c: IrContext, sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """Return start and end padding of the spatial sizes, from attributes or auto_pad."""
    auto = c.layer.text("auto_pad", "explicit")
    if auto == "valid":
        return [0] * len(window), [0] * len(window)
    if auto in ("same_upper", "same_lower"):
        reach = [window_reach(taps, gap) for taps, gap in zip(window, dilations, strict=True)]
        return same_paddings(sizes, reach, strides, more_at_start=auto == "same_lower")
    return c.each("pads_begin", len(window), 0), c.each("pads_end", len(window), 0)


def _windows(c: IrContext, sizes: Sequence[int], window: Sequence[int], rounding: str = "floor") -> _Sizes:
    """Return the number of window positions along each spatial dimension. rounding: rounding_type."""
    strides, gaps = c.each("strides", len(window), 1), c.each("dilations", len(window), 1)
    start, end = padding(c, sizes, window, strides, gaps)
    up = rounding != "floor" and not c.layer.text("auto_pad", "explicit").startswith("same")
    torch = rounding == "ceil_torch"
    return window_counts(sizes, window, strides, gaps, start, end, round_up=up, starts_inside=torch)


@size_rule("Convolution", "GroupConvolution")
def _convolution(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, w = inputs[:2]
    channels, window = (w[0] * w[1], w[3:]) if c.layer.type == "GroupConvolution" else (w[0], w[2:])
    return (x[0], channels, *_windows(c, x[2:], window))


@size_rule("ConvolutionBackpropData", "GroupConvolutionBackpropData")
def _transposed_convolution(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x, w = inputs[:2]
    groups, w = (w[0], w[1:]) if c.layer.type.startswith("Group") else (1, w)
    if len(c.values) > 2:
        return (x[0], w[1] * groups, *c.integers(2))
    explicit = c.layer.text("auto_pad", "explicit") in ("explicit", "notset")
    names = (("strides", 1), ("dilations", 1), ("pads_begin", 0), ("pads_end", 0), ("output_padding", 0))
    strides, gaps, *pads, more = (c.each(name, len(w) - 2, default) for name, default in names)
    start, end = pads if explicit else ([0] * len(more), [0] * len(more))
    return transposed_sizes(x, w, strides, gaps, start, end, more, groups)


@size_rule("AvgPool", "MaxPool")
def _pool(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x = inputs[0]
    return (*x[:2], *_windows(c, x[2:], c.layer.integers("kernel"), c.layer.text("rounding_type", "floor")))


@size_rule("Interpolate")
def _interpolate(c: IrContext, inputs: list[_Sizes]) -> _Sizes:
    x = inputs[0]
    sizes = list(padded_sizes(x, *interpolated_pads(c, len(x))))
    axes, by_scales, given = interpolated_axes(c, len(x))
    for axis, number in zip(axes, np.ravel(c.known(given)), strict=True):
        sizes[axis] = floor(sizes[axis] * float(number) + 1e-5) if by_scales else int(number)
    return tuple(sizes)


def interpolated_pads(c: IrContext, rank: int) -> list[list[int]]:
    """Return Interpolate's start and end padding, which count from the first dimension, for every dimension."""
    return [[*c.layer.integers(name), *[0] * rank][:rank] for name in ("pads_begin", "pads_end")]


def interpolated_axes(c: IrContext, rank: int) -> tuple[list[int], bool, int]:
    """Return Interpolate's axes, whether it takes scales instead of sizes, and the number of the input with these.

    Interpolate-1 has the axes in an attribute and takes sizes; Interpolate-4 takes sizes and scales; Interpolate-11
    takes whichever its mode needs.
    """
    by_scales = c.layer.text("shape_calculation_mode", "sizes") == "scales"
    old = c.layer.version == "opset4"
    last = 3 if old else 2
    axes = c.integers(last) if len(c.values) > last else c.layer.integers("axes") or list(range(rank))
    return axes, by_scales, 2 if old and by_scales else 1


@size_rule("GRUSequence", "LSTMSequence", "RNNSequence")
def _sequence(c: IrContext, inputs: list[_Sizes]) -> list[_Sizes]:
    (batch, length, _), (_, directions, hidden) = inputs[:2]
    return [(batch, directions, length, hidden), *[inputs[1]] * (len(c.layer.outputs) - 1)]
