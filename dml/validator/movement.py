"""Rules of the operators that move elements."""

from __future__ import annotations

from collections.abc import Sequence

from .. import descriptors as d
from ..enums import DML_PADDING_MODE, DML_REDUCE_FUNCTION
from ..shapes import (
    depth_to_space_sizes,
    gathered_nd_sizes,
    gathered_sizes,
    padded_sizes,
    scaled_sizes,
    sliced_sizes,
    space_to_depth_sizes,
    unfolded_sizes,
    window_reach,
    with_rank,
    with_size,
)
from ..tensors import DML_BUFFER_TENSOR_DESC
from .base import Check, rule

# --- slices ---------------------------------------------------------------------------------------------


@rule(d.DML_SLICE_OPERATOR_DESC)
def slice_(desc: d.DML_SLICE_OPERATOR_DESC, check: Check) -> None:
    check.length("Offsets", desc.InputTensor.rank, why="one per dimension of InputTensor")
    check.at_least("Strides", 1)
    check.sizes("OutputTensor", desc.Sizes, why="those of the slice")
    last = tuple(o + (n - 1) * s for o, n, s in zip(desc.Offsets, desc.Sizes, desc.Strides, strict=True))
    for axis, (index, size) in enumerate(zip(last, desc.InputTensor.Sizes, strict=True)):
        check.that(index < size, "Offsets", f"the slice must end within dimension {axis} of InputTensor, below {size}",
                   index)  # fmt: skip


@rule(d.DML_SLICE1_OPERATOR_DESC, whole="InputTensor", sliced="OutputTensor")
@rule(d.DML_SLICE_GRAD_OPERATOR_DESC, whole="OutputGradientTensor", sliced="InputGradientTensor")
def slice1(
    desc: d.DML_SLICE1_OPERATOR_DESC | d.DML_SLICE_GRAD_OPERATOR_DESC, check: Check, whole: str, sliced: str
) -> None:
    tensor: DML_BUFFER_TENSOR_DESC = getattr(desc, whole)
    check.length("InputWindowOffsets", tensor.rank, why=f"one per dimension of {whole}")
    check.at_least("InputWindowSizes", 1)
    check.that(0 not in desc.InputWindowStrides, "InputWindowStrides", "must not be 0")
    windows = zip(desc.InputWindowOffsets, desc.InputWindowSizes, tensor.Sizes, strict=True)
    for axis, (offset, window, size) in enumerate(windows):
        check.that(offset + window <= size, "InputWindowSizes",
                   f"with InputWindowOffsets must end within dimension {axis} of {whole}, at most {size}",
                   offset + window)  # fmt: skip
    # The page lets an output copy less than the strides reach. Its formula means the stride's magnitude.
    part = check.tensor(sliced)
    assert part is not None
    most = sliced_sizes(desc.InputWindowSizes, desc.InputWindowStrides)
    if any(size > reached for size, reached in zip(part.Sizes, most, strict=True)):
        check.fail(sliced, f"must have at most sizes {most} (the window's elements that strides reach)", part.Sizes)


# --- split, join, tile, padding -------------------------------------------------------------------------


@rule(d.DML_SPLIT_OPERATOR_DESC, parts="OutputTensors", whole="InputTensor")
@rule(d.DML_JOIN_OPERATOR_DESC, parts="InputTensors", whole="OutputTensor")
def split_or_join(
    desc: d.DML_SPLIT_OPERATOR_DESC | d.DML_JOIN_OPERATOR_DESC, check: Check, parts: str, whole: str
) -> None:
    """Require parts with the whole's sizes, except along the axis, where they must add up to the whole's."""
    check.axis("Axis", of=whole)
    tensor, axis = check.tensor(whole), desc.Axis
    assert tensor is not None
    total = 0
    for field, part in check.tensors(parts):
        check.that(with_size(part.Sizes, axis, 1) == with_size(tensor.Sizes, axis, 1), field,
                   f"must have the sizes of {whole}, {tensor.Sizes}, except along Axis", part.Sizes)  # fmt: skip
        total += part.Sizes[axis]
    check.that(total == tensor.Sizes[axis], parts,
               f"must add up to the size of {whole} along Axis, {tensor.Sizes[axis]}", total)  # fmt: skip


@rule(d.DML_TILE_OPERATOR_DESC)
def tile(desc: d.DML_TILE_OPERATOR_DESC, check: Check) -> None:
    check.length("Repeats", desc.InputTensor.rank, why="one per dimension of InputTensor")
    check.at_least("Repeats", 1)
    sizes = scaled_sizes(desc.InputTensor.Sizes, desc.Repeats)
    check.sizes("OutputTensor", sizes, why="those of InputTensor times Repeats")


@rule(d.DML_PADDING_OPERATOR_DESC)
@rule(d.DML_PADDING1_OPERATOR_DESC)
def padding(desc: d.DML_PADDING_OPERATOR_DESC | d.DML_PADDING1_OPERATOR_DESC, check: Check) -> None:
    if isinstance(desc, d.DML_PADDING1_OPERATOR_DESC):
        _value_type(check, "PaddingValueDataType")
    check.length("StartPadding", desc.InputTensor.rank, why="one per dimension of InputTensor")
    sizes = desc.InputTensor.Sizes
    padded = padded_sizes(sizes, desc.StartPadding, desc.EndPadding)
    check.sizes("OutputTensor", padded, why="InputTensor with its padding")
    if desc.PaddingMode == DML_PADDING_MODE.DML_PADDING_MODE_WRAP:
        for axis, (start, size, end) in enumerate(zip(desc.StartPadding, sizes, desc.EndPadding, strict=True)):
            for field, amount in (("StartPadding", start), ("EndPadding", end)):
                check.that(amount <= size, field, f"must not wrap around more than once: at most {size} in dimension "
                           f"{axis}", amount)  # fmt: skip


def _value_type(check: Check, field: str) -> None:
    """Require a scalar union of the output's data type."""
    tensor = check.tensor("OutputTensor")
    assert tensor is not None
    check.that(getattr(check.desc, field) == tensor.DataType, field,
               f"must be the data type of OutputTensor, {tensor.DataType.name}")  # fmt: skip


# --- depth and space ------------------------------------------------------------------------------------

_DepthSpace = (
    d.DML_DEPTH_TO_SPACE_OPERATOR_DESC
    | d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC
    | d.DML_SPACE_TO_DEPTH_OPERATOR_DESC
    | d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC
)


@rule(d.DML_DEPTH_TO_SPACE_OPERATOR_DESC)
@rule(d.DML_DEPTH_TO_SPACE1_OPERATOR_DESC)
def depth_to_space(desc: _DepthSpace, check: Check) -> None:
    check.at_least("BlockSize", 1)
    sizes, block = desc.InputTensor.Sizes, desc.BlockSize
    check.that(sizes[1] % block**2 == 0, "InputTensor", f"must have a multiple of BlockSize squared, {block**2}, "
               "channels", sizes)  # fmt: skip
    check.sizes("OutputTensor", depth_to_space_sizes(sizes, block))


@rule(d.DML_SPACE_TO_DEPTH_OPERATOR_DESC)
@rule(d.DML_SPACE_TO_DEPTH1_OPERATOR_DESC)
def space_to_depth(desc: _DepthSpace, check: Check) -> None:
    check.at_least("BlockSize", 1)
    sizes, block = desc.InputTensor.Sizes, desc.BlockSize
    check.that(all(size % block == 0 for size in sizes[2:]), "InputTensor",
               f"must have a height and width that are multiples of BlockSize, {block}", sizes)  # fmt: skip
    check.sizes("OutputTensor", space_to_depth_sizes(sizes, block))


# --- values ---------------------------------------------------------------------------------------------


@rule(d.DML_VALUE_SCALE_2D_OPERATOR_DESC)
def value_scale_2d(desc: d.DML_VALUE_SCALE_2D_OPERATOR_DESC, check: Check) -> None:
    check.that(desc.ChannelCount in (1, 3), "ChannelCount", "must be 1 or 3")
    check.size("InputTensor", 1, desc.ChannelCount, why="ChannelCount")


@rule(d.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC)
@rule(d.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC)
def fill_value(desc: d.OperatorDesc, check: Check) -> None:
    _value_type(check, "ValueDataType")


@rule(d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC)
def diagonal_matrix1(desc: d.DML_DIAGONAL_MATRIX1_OPERATOR_DESC, check: Check) -> None:
    _value_type(check, "ValueDataType")
    check.sizes("InputTensor", desc.OutputTensor.Sizes, why="those of OutputTensor")


@rule(d.DML_ONE_HOT_OPERATOR_DESC)
def one_hot(desc: d.DML_ONE_HOT_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="OutputTensor")
    check.sizes("IndicesTensor", with_size(desc.OutputTensor.Sizes, desc.Axis, 1), why="1 along Axis")
    check.that(desc.ValuesTensor.element_count >= 2, "ValuesTensor", "must have at least two elements")


@rule(d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC)
def reverse_subsequences(desc: d.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="InputTensor")
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")
    check.sizes("SequenceLengthsTensor", with_size(desc.InputTensor.Sizes, desc.Axis, 1), why="1 along Axis")


# --- gathers and scatters -------------------------------------------------------------------------------


@rule(d.DML_GATHER_OPERATOR_DESC)
def gather(desc: d.DML_GATHER_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="InputTensor")
    # The page requires IndexDimensions below DimensionCount, but its first example has them equal.
    source, indices = desc.InputTensor, desc.IndicesTensor
    check.in_range("IndexDimensions", 0, indices.rank)
    unused = indices.Sizes[: indices.rank - desc.IndexDimensions]
    check.that(set(unused) <= {1}, "IndicesTensor", f"must have size 1 before its last {desc.IndexDimensions} "
               "(IndexDimensions) dimensions", indices.Sizes)  # fmt: skip
    sizes = gathered_sizes(source.Sizes, indices.Sizes, desc.Axis, desc.IndexDimensions)
    check.that(len(sizes) <= source.rank, "IndexDimensions",
               "must leave the output no more dimensions than DimensionCount", desc.IndexDimensions)  # fmt: skip
    _right_aligned(check, "OutputTensor", sizes)


def _right_aligned(check: Check, name: str, sizes: Sequence[int]) -> None:
    """Require these sizes, preceded by ones up to the dimension count."""
    tensor = check.tensor(name)
    assert tensor is not None
    check.sizes(name, with_rank(sizes, tensor.rank))


@rule(d.DML_GATHER_ELEMENTS_OPERATOR_DESC)
def gather_elements(desc: d.DML_GATHER_ELEMENTS_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="InputTensor")
    size = desc.IndicesTensor.Sizes[desc.Axis]
    check.sizes("IndicesTensor", with_size(desc.InputTensor.Sizes, desc.Axis, size),
                why="those of InputTensor except along Axis")  # fmt: skip
    check.sizes("OutputTensor", desc.IndicesTensor.Sizes, why="those of IndicesTensor")


@rule(d.DML_SCATTER_OPERATOR_DESC)
def scatter(desc: d.DML_SCATTER_OPERATOR_DESC, check: Check) -> None:
    check.axis("Axis", of="OutputTensor")
    size = desc.IndicesTensor.Sizes[desc.Axis]
    check.sizes("IndicesTensor", with_size(desc.InputTensor.Sizes, desc.Axis, size),
                why="those of InputTensor except along Axis")  # fmt: skip
    check.sizes("UpdatesTensor", desc.IndicesTensor.Sizes, why="those of IndicesTensor")
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")


def _tuples(
    desc: d.DML_GATHER_ND_OPERATOR_DESC | d.DML_GATHER_ND1_OPERATOR_DESC | d.DML_SCATTER_ND_OPERATOR_DESC, check: Check
) -> tuple[int, ...]:
    """Return the sizes that all index tuples select together; the pages' examples decide where formulas differ."""
    source, indices, batches = desc.InputTensor, desc.IndicesTensor, getattr(desc, "BatchDimensionCount", 0)
    used = {}
    for name, count, tensor in (
        ("InputTensor", "InputDimensionCount", source),
        ("IndicesTensor", "IndicesDimensionCount", indices),
    ):
        dimensions = getattr(desc, count)
        check.in_range(count, 1, tensor.rank)
        start = tensor.rank - dimensions
        check.that(set(tensor.Sizes[:start]) <= {1}, name,
                   f"must have size 1 before its last {dimensions} ({count}) dimensions", tensor.Sizes)  # fmt: skip
        used[name] = tensor.Sizes[start:]
    sizes, tuples = used["InputTensor"], used["IndicesTensor"]
    if batches:
        check.that(batches < min(len(sizes), len(tuples)), "BatchDimensionCount",
                   "must be below InputDimensionCount and IndicesDimensionCount")  # fmt: skip
        check.that(sizes[:batches] == tuples[:batches], "IndicesTensor",
                   f"must have the batch dimensions of InputTensor, {sizes[:batches]}", indices.Sizes)  # fmt: skip
    check.that(batches + tuples[-1] <= len(sizes), "IndicesTensor",
               f"its last size, the coordinates per tuple, must be at most {len(sizes) - batches}",
               indices.Sizes)  # fmt: skip
    result = gathered_nd_sizes(sizes, tuples, batches)
    check.that(len(result) <= source.rank, "IndicesDimensionCount",
               f"must leave the result no more dimensions than DimensionCount, {source.rank}", len(result))  # fmt: skip
    return result


@rule(d.DML_GATHER_ND_OPERATOR_DESC)
@rule(d.DML_GATHER_ND1_OPERATOR_DESC)
def gather_nd(desc: d.DML_GATHER_ND_OPERATOR_DESC | d.DML_GATHER_ND1_OPERATOR_DESC, check: Check) -> None:
    _right_aligned(check, "OutputTensor", _tuples(desc, check))


@rule(d.DML_SCATTER_ND_OPERATOR_DESC)
def scatter_nd(desc: d.DML_SCATTER_ND_OPERATOR_DESC, check: Check) -> None:
    _right_aligned(check, "UpdatesTensor", _tuples(desc, check))
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")


# --- fold and unfold ------------------------------------------------------------------------------------


@rule(d.DML_UNFOLD_OPERATOR_DESC, whole="InputTensor", columns="OutputTensor")
@rule(d.DML_FOLD_OPERATOR_DESC, whole="OutputTensor", columns="InputTensor")
def fold(desc: d.DML_FOLD_OPERATOR_DESC | d.DML_UNFOLD_OPERATOR_DESC, check: Check, whole: str, columns: str) -> None:
    tensor: DML_BUFFER_TENSOR_DESC = getattr(desc, whole)
    check.in_range("DimensionCount", 1, 6)
    check.length("WindowSizes", tensor.rank - 2, why=f"one per spatial dimension of {whole}")
    for field in ("WindowSizes", "Strides", "Dilations"):
        check.at_least(field, 1)
    for k, size in enumerate(tensor.Sizes[2:]):
        padded = size + desc.StartPadding[k] + desc.EndPadding[k]
        reach = window_reach(desc.WindowSizes[k], desc.Dilations[k])
        check.that(reach <= padded, "WindowSizes",
                   f"with Dilations must fit the padded size of spatial dimension {k}, {padded}", reach)  # fmt: skip
    sizes = unfolded_sizes(
        tensor.Sizes, desc.WindowSizes, desc.Strides, desc.Dilations, desc.StartPadding, desc.EndPadding
    )
    check.sizes(columns, sizes, why="batch, channels * window elements, windows")


@rule(d.OWN_REDUCE_INTO_ROWS_OPERATOR_DESC)
def reduce_into_rows(desc: d.OWN_REDUCE_INTO_ROWS_OPERATOR_DESC, check: Check) -> None:
    updates, columns = desc.UpdatesTensor.Sizes
    check.sizes("InputTensor", (desc.InputTensor.Sizes[0], columns), why="the columns of UpdatesTensor")
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")
    width = 1 if desc.IndicesTensor.Sizes[1] == 1 else columns
    check.sizes("IndicesTensor", (updates, width), why="an index for each update, or for each row of them")
    functions = [DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{name}"] for name in ("SUM", "MULTIPLY", "MAX", "MIN")]
    check.that(desc.Function in functions, "Function", "must be SUM, MULTIPLY, MAX or MIN", desc.Function.name)
