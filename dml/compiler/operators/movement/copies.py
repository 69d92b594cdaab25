"""Operators that move elements without changing them: views of one tensor copied to views of another."""

from __future__ import annotations

from dml import enums
from dml.compiler.apply import copy, raw
from dml.compiler.builder import ProgramBuilder, merge_around
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import fill, parts, split, window
from dml.compiler.program import Operand
from dml.descriptors import movement as d


@lowering(d.DML_SLICE_OPERATOR_DESC)
def slice_(desc: d.DML_SLICE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    copy(builder, builder["OutputTensor"], window(builder["InputTensor"], desc.Offsets, desc.Sizes, desc.Strides))


def _input_window(
    desc: d.DML_SLICE1_OPERATOR_DESC | d.DML_SLICE_GRAD_OPERATOR_DESC, tensor: Operand, sizes: tuple[int, ...]
) -> Operand:
    """View the elements that a slice reads; along a negative stride it starts at the window's end."""
    first = tuple(
        offset + (size - 1 if step < 0 else 0)
        for offset, size, step in zip(
            desc.InputWindowOffsets, desc.InputWindowSizes, desc.InputWindowStrides, strict=True
        )
    )
    return window(tensor, first, sizes, desc.InputWindowStrides)


@lowering(d.DML_SLICE1_OPERATOR_DESC)
def slice1(desc: d.DML_SLICE1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result = builder["OutputTensor"]
    copy(builder, result, _input_window(desc, builder["InputTensor"], result.sizes))


@lowering(d.DML_SLICE_GRAD_OPERATOR_DESC)
def slice_grad(desc: d.DML_SLICE_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputGradientTensor"], builder["OutputGradientTensor"]
    if source.count < result.count:
        fill(builder, result, 0)
    copy(builder, _input_window(desc, result, source.sizes), source)


@lowering(d.DML_SPLIT_OPERATOR_DESC)
def split_tensor(desc: d.DML_SPLIT_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    results = builder.array("OutputTensors")
    sources = parts(builder["InputTensor"], desc.Axis, [result.sizes[desc.Axis] for result in results])
    for result, source in zip(results, sources, strict=True):
        copy(builder, result, source)


@lowering(d.DML_JOIN_OPERATOR_DESC)
def join(desc: d.DML_JOIN_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    sources = builder.array("InputTensors")
    results = parts(builder["OutputTensor"], desc.Axis, [source.sizes[desc.Axis] for source in sources])
    for result, source in zip(results, sources, strict=True):
        copy(builder, result, source)


@lowering(d.DML_TILE_OPERATOR_DESC)
def tile(desc: d.DML_TILE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    sizes: list[int] = []
    strides: list[int] = []
    for axis in reversed(range(source.rank)):
        result = split(result, axis, (desc.Repeats[axis], source.sizes[axis]))
    for size, stride, repeats in zip(source.sizes, source.strides, desc.Repeats, strict=True):
        sizes += [repeats, size]
        strides += [0, stride]
    copy(builder, result, source.view(tuple(sizes), tuple(strides)))


_BlockMove = (
    d.DML_DEPTH_TO_SPACE_OPERATOR_DESC
    | d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC
    | d.DML_SPACE_TO_DEPTH_OPERATOR_DESC
    | d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC
)


def _depth_and_space(desc: _BlockMove, depth: Operand, space: Operand) -> tuple[Operand, Operand]:
    """View both tensors as {N, C, H, BlockHeight, W, BlockWidth}. Without an Order field, the order is the first of its
    values."""
    block, channels = desc.BlockSize, space.sizes[1]
    order = getattr(desc, "Order", enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW)
    if order == enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW:
        depth = split(depth, 1, (block, block, channels)).permuted((0, 3, 4, 1, 5, 2))
    else:
        depth = split(depth, 1, (channels, block, block)).permuted((0, 1, 4, 2, 5, 3))
    _, _, height, width = space.sizes
    return depth, split(split(space, 3, (width // block, block)), 2, (height // block, block))


@lowering(d.DML_DEPTH_TO_SPACE_OPERATOR_DESC, d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC)
def depth_to_space(desc: _BlockMove, builder: ProgramBuilder) -> None:
    depth, space = _depth_and_space(desc, builder["InputTensor"], builder["OutputTensor"])
    copy(builder, space, depth)


@lowering(d.DML_SPACE_TO_DEPTH_OPERATOR_DESC, d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC)
def space_to_depth(desc: _BlockMove, builder: ProgramBuilder) -> None:
    depth, space = _depth_and_space(desc, builder["OutputTensor"], builder["InputTensor"])
    copy(builder, depth, space)


@lowering(d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC)
def reverse_subsequences(desc: d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    reverse(builder, builder["OutputTensor"], builder["InputTensor"], builder["SequenceLengthsTensor"], desc.Axis)


def reverse(builder: ProgramBuilder, result: Operand, source: Operand, lengths: Operand, axis: int) -> None:
    """Reverse the first ``lengths`` elements along an axis, with broadcasting; copy the others."""
    merged_axis, (result, source, lengths) = merge_around(
        axis, raw(result), raw(source), lengths.broadcast(source.sizes)
    )
    builder.for_each(
        "movement/reverse_subsequences.comp",
        result,
        {"source": source, "lengths": lengths},
        constants={"AXIS_SIZE": source.sizes[merged_axis]},
        defines={"AXIS": merged_axis},
        split_axes=[axis for axis in range(result.rank) if axis != merged_axis],
    )


@lowering(d.DML_VALUE_SCALE_2D_OPERATOR_DESC)
def value_scale_2d(desc: d.DML_VALUE_SCALE_2D_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result, source = builder["OutputTensor"], builder["InputTensor"]
    channel, (result, source) = merge_around(1, result, source)
    builder.for_each(
        "movement/value_scale_2d.comp",
        result,
        {"source": source},
        constants={"SCALE": desc.Scale, **{f"BIAS_{c}": desc.Bias[min(c, desc.ChannelCount - 1)] for c in range(3)}},
        defines={"CHANNEL": channel},
        split_axes=[axis for axis in range(result.rank) if axis != channel],
    )
