"""Operators that move, select or fill elements."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import descriptors as d
from dml import enums
from dml.errors import DMLError
from dml.shapes import (
    broadcast_sizes,
    checked_axis,
    depth_to_space_sizes,
    padded_sizes,
    scaled_sizes,
    space_to_depth_sizes,
    with_axis,
    with_size,
    without_axis,
)
from dml.traced import whole

from ...dtypes import BOOL, INT64, dtype_of
from ...load.loading import array_of
from ...registry import onnx_op
from .. import folds
from ..functions import fill, gather, gather_elements, join, slice_, slices
from ..node import OnnxNode, Unsupported
from ..slicing import taken
from ..value import OnnxValue, applied, cast, expanded, one, reshape, transpose, where


@onnx_op("Identity", fold=folds.IDENTITY)
@onnx_op("MemcpyFromHost", "MemcpyToHost")
def identity(node: OnnxNode) -> list[object]:
    return [node.inputs[0]]


@onnx_op("Dropout")
def dropout(node: OnnxNode) -> list[OnnxValue | None]:
    """Return x unchanged, since inference drops nothing. Training with a ratio above 0 needs ONNX's random numbers."""
    x = node.input(0)
    training, ratio = node.known(2), node.known(1)
    if training is not None and bool(training.reshape(-1)[0]) and (ratio is None or float(ratio.reshape(-1)[0])):
        raise Unsupported("training mode is not mapped")
    mask_type = BOOL if node.version >= 10 else x.dtype
    return [x, fill(node.builder, 1, x.shape, mask_type) if node.wants(1) else None]


@onnx_op("Reshape", fold=folds.RESHAPE)
def reshape_(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    wanted = node.ints("shape", 1) or []
    keep_zero = node.integer("allowzero", 0)
    sizes = [
        x.shape[index] if size == 0 and not keep_zero and index < x.rank else size for index, size in enumerate(wanted)
    ]
    if sizes.count(-1) > 1 or any(size < -1 for size in sizes):
        raise DMLError(f"shape {tuple(wanted)} must have at most one -1")
    if -1 in sizes:
        given, own = [size for size in sizes if size != -1], x.shape
        if not all(given):  # sizes of 0 are ignored, as in onnxruntime
            given, own = [size for size in given if size], tuple(size for size in own if size)
        sizes[sizes.index(-1)] = prod(own) // prod(given)
    return reshape(x, sizes)


@onnx_op("Flatten", fold=folds.REFERENCE)
def flatten(node: OnnxNode) -> OnnxValue:
    x, axis = node.input(0), node.integer("axis", 1)
    node.check(-x.rank <= axis <= x.rank, f"axis must be from -{x.rank} to {x.rank}, found {axis}")
    axis = axis + x.rank if axis < 0 else axis
    return reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))


@onnx_op("Squeeze", fold=folds.SQUEEZE)
def squeeze(node: OnnxNode) -> OnnxValue:
    x, axes = node.input(0), node.ints("axes", 1)
    removed = {dimension for dimension, size in enumerate(x.shape) if size == 1} if axes is None else {
        checked_axis(axis, x.rank) for axis in axes
    }  # fmt: skip
    if any(x.shape[dimension] != 1 for dimension in removed):
        raise DMLError(f"axes {axes} of shape {x.shape} must have size 1")
    return reshape(x, [size for dimension, size in enumerate(x.shape) if dimension not in removed])


@onnx_op("Unsqueeze", fold=folds.UNSQUEEZE)
def unsqueeze(node: OnnxNode) -> OnnxValue:
    x, axes = node.input(0), node.ints("axes", 1) or []
    rank = x.rank + len(axes)
    new = {checked_axis(axis, rank) for axis in axes}
    node.check(len(new) == len(axes), f"axes {axes} must be different")
    sizes = iter(x.shape)
    return reshape(x, [1 if index in new else next(sizes) for index in range(rank)])


@onnx_op("ExpandDims", domain="com.microsoft")
def expand_dimensions(node: OnnxNode) -> OnnxValue:
    """Insert a dimension of size 1 before an axis; a negative axis counts from the end of the result."""
    x = node.input(0)
    axis = checked_axis(whole(node.single(1)), x.rank + 1)
    return reshape(x, with_axis(x.shape, axis))


@onnx_op("Transpose", fold=folds.TRANSPOSE)
def transpose_(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    order = node.ints("perm") or list(range(x.rank))[::-1]
    node.check(sorted(order) == list(range(x.rank)), f"perm {order} must be an order of {x.rank} dimensions")
    return transpose(x, order)


@onnx_op("Expand", since=8, fold=folds.EXPAND)
def expand(node: OnnxNode) -> OnnxValue:
    x, sizes = node.input(0), node.ints("shape", 1) or []
    node.check(all(size >= 0 for size in sizes), f"sizes must not be negative, found {tuple(sizes)}")
    return expanded(x, broadcast_sizes(x.shape, sizes))


@onnx_op("Concat", fold=folds.CONCAT)
def concat(node: OnnxNode) -> OnnxValue:
    values = node.variadic()
    axis = node.axis("axis", 1, values[0].rank)
    check_joins(node, values, axis)
    return join(values, axis)


def check_joins(node: OnnxNode, values: list[OnnxValue], axis: int) -> None:
    """Raise DMLError if values differ in more than the size along the axis."""
    rest = {without_axis(value.shape, axis) for value in values}
    same = len(rest) == 1 and len({value.rank for value in values}) == 1
    node.check(same, f"shapes {[value.shape for value in values]} do not join along axis {axis}")


@onnx_op("Split", fold=folds.REFERENCE)
def split(node: OnnxNode) -> list[OnnxValue]:
    x = node.input(0)
    axis = node.axis("axis", 0, x.rank)
    sizes = node.ints("split", 1)
    if sizes is None:
        outputs = len(node.proto.output)
        count = node.integer("num_outputs", outputs, least=1, most=outputs)
        each = -(-x.shape[axis] // count)
        sizes = [max(0, min(each, x.shape[axis] - each * index)) for index in range(count)]
    return split_sizes(x, axis, sizes)


def split_sizes(x: OnnxValue, axis: int, sizes: list[int]) -> list[OnnxValue]:
    """Split along an axis into parts of these sizes."""
    if sum(sizes) != x.shape[axis] or any(size < 0 for size in sizes):
        raise DMLError(f"the parts' sizes must add up to {x.shape[axis]}, the size of axis {axis}, found {sizes}")
    if not all(sizes) or len(sizes) == 1 or x.array is not None:
        return slices(x, axis, sizes)
    shapes = [with_size(x.shape, axis, size) for size in sizes]
    return [x.with_tensor(tensor, shape) for tensor, shape in zip(op.split(x.tensor, axis, sizes), shapes, strict=True)]


@onnx_op("Slice", fold=folds.SLICE)
def slice_1(node: OnnxNode) -> OnnxValue:
    return sliced(node, node.ints("starts") or [], node.ints("ends") or [], node.ints("axes"), None)


@onnx_op("Slice", since=10)
def slice_10(node: OnnxNode) -> OnnxValue:
    starts, ends = ([whole(item) for item in node.numbers(index)] for index in (1, 2))
    axes, steps = ([whole(item) for item in node.numbers(index)] if node.has(index) else None for index in (3, 4))
    return sliced(node, starts, ends, axes, steps)


def sliced(
    node: OnnxNode, starts: list[int], ends: list[int], axes: list[int] | None, steps: list[int] | None
) -> OnnxValue:
    x = node.input(0)
    lengths = [len(given) for given in (starts, ends, axes, steps) if given is not None]
    node.check(len(set(lengths)) == 1, f"starts, ends, axes and steps must be equally long, found {lengths}")
    begin, counts, by = [0] * x.rank, list(x.shape), [1] * x.rank
    for index, axis in enumerate(range(len(starts)) if axes is None else axes):
        axis = checked_axis(axis, x.rank)
        step = steps[index] if steps else 1
        node.check(bool(step), "steps must not be zero")
        size = x.shape[axis]
        # ONNX clamps a very negative end to before the first element; NumPy would wrap it
        end = None if step < 0 and ends[index] < -size else ends[index]
        begin[axis], counts[axis] = taken(starts[index], end, step, size)
        by[axis] = step
    return slice_(x, begin, counts, by)


@onnx_op("Gather", fold=folds.GATHER)
def gather_(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return gather(x, node.input(1), node.axis("axis", 0, x.rank))


@onnx_op("GatherElements", since=11, fold=folds.REFERENCE)
def gather_elements_(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    return gather_elements(x, node.input(1), node.axis("axis", 0, x.rank))


@onnx_op("GatherND", since=11, fold=folds.REFERENCE)
@onnx_op("GatherND", domain="com.microsoft")
def gather_nd(node: OnnxNode) -> OnnxValue:
    x, indices = node.input(0), node.input(1, least=1)
    batch = node.integer("batch_dims", 0, least=0)
    if indices.shape[-1] == 0 or batch + indices.shape[-1] > x.rank:
        raise DMLError(f"the last size of indices must be from 1 to {x.rank - batch}, found shape {indices.shape}")
    shape = (*indices.shape[:-1], *x.shape[batch + indices.shape[-1] :])
    return applied(op.gather_nd, x, shape, indices, batch)


_PADDING = {
    "constant": enums.DML_PADDING_MODE_CONSTANT,
    "edge": enums.DML_PADDING_MODE_EDGE,
    "reflect": enums.DML_PADDING_MODE_REFLECTION,
    "wrap": enums.DML_PADDING_MODE_WRAP,
}


@onnx_op("Pad")
@onnx_op("Pad", domain="com.microsoft")
def pad(node: OnnxNode) -> OnnxValue:
    """Pad; ``pads`` is an attribute (2) or input (11, com.microsoft), negative ones crop. ``axes`` from 18 on."""
    x = node.input(0)
    pads = node.ints("pads", 1) or node.ints("paddings") or []
    axes = list(range(x.rank))
    if node.version >= 18 and node.has(3):
        axes = [checked_axis(axis, x.rank) for axis in node.ints("axes", 3) or []]
    number = node.attributes.get("value", 0.0)
    if node.version >= 11 or node.domain:
        given = node.known(2)
        number = 0 if given is None else node.single(2)
    mode = node.text("mode", "constant")
    node.check(mode in _PADDING and len(pads) == 2 * len(axes), f"mode {mode!r} with pads {pads} is not an ONNX mode")
    start, end = [0] * x.rank, [0] * x.rank
    for index, axis in enumerate(axes):
        start[axis], end[axis] = pads[index], pads[index + len(axes)]
    return padded(x, start, end, number, _PADDING[mode])


def padded(
    x: OnnxValue,
    start: list[int],
    end: list[int],
    number: Any = 0,
    mode: enums.DML_PADDING_MODE = enums.DML_PADDING_MODE_CONSTANT,
) -> OnnxValue:
    """Pad x; negative paddings crop."""
    shape = padded_sizes(x.shape, start, end)
    if any(size < 0 for size in shape):
        raise DMLError(f"paddings {start} and {end} remove more than a tensor of shape {x.shape} has")
    if any(amount < 0 for amount in (*start, *end)):
        begin = [min(max(0, -s), size) for s, size in zip(start, x.shape, strict=True)]
        counts = [max(0, size - b + min(0, e)) for size, b, e in zip(x.shape, begin, end, strict=True)]
        x = slice_(x, begin, counts)
        start, end = [max(0, s) for s in start], [max(0, e) for e in end]
    if not any(start) and not any(end):
        return x
    if not x.size:
        if mode != enums.DML_PADDING_MODE_CONSTANT and 0 not in shape:
            raise DMLError("only mode 'constant' adds elements to an empty dimension")
        return fill(x.builder, number, shape, x.dtype)
    number = np.asarray(number).item()
    return applied(op.padding, x, shape, start, end, mode, int(number) if isinstance(number, bool) else number)


@onnx_op("Tile", since=6, fold=folds.TILE)
def tile(node: OnnxNode) -> OnnxValue:
    x, repeats = node.input(0), node.ints("repeats", 1) or []
    if len(repeats) != x.rank or any(count < 0 for count in repeats):
        raise DMLError(f"repeats must be {x.rank} counts, found {repeats}")
    if not x.rank:
        return x
    return applied(op.tile, x, scaled_sizes(x.shape, repeats), repeats)


_ORDERS = {"DCR": enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW, "CRD": enums.DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH}


@onnx_op("DepthToSpace")
def depth_to_space(node: OnnxNode) -> OnnxValue:
    x, block = node.input(0, rank=4), node.integer("blocksize", 1, least=1)
    channels = x.shape[1]
    node.check(channels % (block * block) == 0, f"blocks of {block} x {block} do not divide {channels} channels")
    order = node.choice("mode", "DCR", _ORDERS)
    return applied(op.depth_to_space, x, depth_to_space_sizes(x.shape, block), block, order)


@onnx_op("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> OnnxValue:
    x, block = node.input(0, rank=4), node.integer("blocksize", 1, least=1)
    height, width = x.shape[2:]
    node.check(
        height % block == 0 and width % block == 0,
        f"blocks of {block} x {block} do not divide {height} x {width} elements",
    )
    order = node.choice("mode", "DCR", _ORDERS)
    return applied(op.space_to_depth, x, space_to_depth_sizes(x.shape, block), block, order)


@onnx_op("OneHot", since=9)
def one_hot(node: OnnxNode) -> OnnxValue:
    """One-hot encode. Indices from -depth to -1 count from the end; other invalid indices yield only the off value."""
    indices, values = node.input(0), node.input(2)
    depth = whole(node.single(1))
    node.check(values.size == 2, f"values must hold two numbers, found shape {values.shape}")
    axis = checked_axis(node.integer("axis", -1), indices.rank + 1)
    shape = with_axis(indices.shape, axis, depth)
    if not prod(shape):
        return values.filled(0, shape)
    exact = cast(indices, INT64)
    exact = where(exact < 0, exact + depth, exact)
    exact = where(exact < 0, exact.filled(depth), exact)
    column = reshape(exact, with_axis(indices.shape, axis))
    pair = reshape(values, (1,) * (len(shape) - 1) + (2,))
    return one(d.DML_ONE_HOT_OPERATOR_DESC, values, shape, IndicesTensor=column, ValuesTensor=pair, Axis=axis)


@onnx_op("EyeLike", since=9)
def eye_like(node: OnnxNode) -> OnnxValue:
    x = node.input(0, rank=2)
    dtype = dtype_of(node.integer("dtype", 0)) if "dtype" in node.attributes else x.dtype
    return one(d.DML_DIAGONAL_MATRIX_OPERATOR_DESC, x, x.shape, dtype, Offset=node.integer("k", 0), Value=1.0)


@onnx_op("Trilu", since=14, fold=folds.SAME_SHAPE)
@onnx_op("Trilu", domain="com.microsoft")
def trilu(node: OnnxNode) -> OnnxValue:
    """Keep one triangle; the other one is overwritten with zeros."""
    x, k = node.input(0, least=2), whole(node.single(1)) if node.has(1) else 0
    return applied(op.triangular, x, x.shape, upper=bool(node.integer("upper", 1)), diagonal=k)


@onnx_op("ConstantOfShape", since=9, fold=folds.CONSTANT_OF_SHAPE)
def constant_of_shape(node: OnnxNode) -> OnnxValue:
    shape = [whole(size) for size in node.numbers(0)]
    value = array_of(node.attributes["value"]) if "value" in node.attributes else np.zeros(1, np.float32)
    node.check(value.size == 1, f"value must hold one number, found shape {value.shape}")
    node.check(all(size >= 0 for size in shape), f"sizes must not be negative, found {shape}")
    return fill(node.builder, value.reshape(-1)[0], shape, value.dtype)


@onnx_op("Compress", since=9, fold=folds.REFERENCE)
def compress(node: OnnxNode) -> OnnxValue:
    """Select elements; the choice becomes a guard of the compiled graph."""
    x, condition = node.input(0), node.numbers(1)
    if "axis" not in node.attributes:
        x = reshape(x, (x.size,))
    axis = node.axis("axis", 0, x.rank)
    kept = np.flatnonzero(condition[: x.shape[axis]])
    return gather(x, node.constant(kept.astype(np.int64)), axis)


@onnx_op("Col2Im", since=18)
def col2im(node: OnnxNode) -> OnnxValue:
    x = node.input(0, rank=3)
    sizes, window = ([whole(size) for size in node.numbers(index)] for index in (1, 2))
    rank = len(sizes)
    node.check(len(window) == rank, f"block_shape must have {rank} items, found {window}")
    node.check(all(size > 0 for size in window), f"block_shape must be positive, found {window}")
    rule = f"dimension 1 of shape {x.shape} must be a multiple of block_shape's {prod(window)} elements"
    node.check(x.shape[1] % prod(window) == 0, rule)
    pads = node.each("pads", 2 * rank, 0)
    return one(
        d.DML_FOLD_OPERATOR_DESC,
        x,
        (x.shape[0], x.shape[1] // prod(window), *sizes),
        InputTensor=x,
        WindowSizes=window,
        Strides=node.each("strides", rank, 1),
        Dilations=node.each("dilations", rank, 1),
        StartPadding=pads[:rank],
        EndPadding=pads[rank:],
    )
