"""Shape arithmetic: each formula shared by validator, compiler, graphs and front ends, once.

Sizes, strides, paddings and the like are sequences of integers with one item per dimension, slowest first ({N, C, H,
W}); results are tuples. Nothing here judges what an operator accepts. A stride or block of 0 counts as 1, so that the
validator can refuse it by name. Sequences for the same dimensions must have equal lengths: DMLError otherwise. Memory
layouts are in `tensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .arguments import checked
from .errors import DMLError
from .traced import whole

Sizes = tuple[int, ...]


def each_dimension(*values: Sequence[int]) -> list[tuple[int, ...]]:
    """Zip per-dimension values. Raises DMLError if their lengths differ."""
    try:
        return list(zip(*values, strict=True))
    except ValueError:
        lengths = ", ".join(str(len(value)) for value in values)
        raise DMLError(f"every argument needs one value for each dimension, found {lengths}") from None


# --- single dimensions --------------------------------------------------------------------------------------------


def checked_axis(axis: int, rank: int, name: str = "") -> int:
    """Return a nonnegative axis; a negative one counts from the end.

    Raises DMLError, starting with ``name``, if a tensor of that rank has no such dimension.
    """
    if not -rank <= axis < rank:
        raise DMLError(f"{name}{name and ': '}axis {axis} is not a dimension of a tensor of rank {rank}")
    return axis % rank


def replaced(sizes: Sequence[int], axis: int, others: Sequence[int]) -> Sizes:
    """Replace the size at ``axis`` (nonnegative) by any number of others."""
    return (*sizes[:axis], *others, *sizes[axis + 1 :])


def with_size(sizes: Sequence[int], axis: int, size: int) -> Sizes:
    """Replace the size at ``axis`` (nonnegative)."""
    return replaced(sizes, axis, (size,))


def without_axis(sizes: Sequence[int], axis: int) -> Sizes:
    """Remove the size at ``axis`` (nonnegative)."""
    return replaced(sizes, axis, ())


def without_ones(sizes: Sequence[int]) -> Sizes:
    """Remove the sizes that are 1."""
    return tuple(size for size in sizes if size != 1)


def with_axis(sizes: Sequence[int], axis: int, size: int = 1) -> Sizes:
    """Insert a size before the one at ``axis`` (nonnegative)."""
    return (*sizes[:axis], size, *sizes[axis:])


def ones_along(sizes: Sequence[int], axes: Sequence[int]) -> Sizes:
    """Set the sizes along the axes to 1, as a reduction that keeps its dimensions does."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(sizes))


def with_rank(sizes: Sequence[int], rank: int, fill: int = 1) -> Sizes:
    """Prepend ``fill`` up to ``rank`` dimensions; longer sequences are unchanged."""
    return (*(fill,) * (rank - len(sizes)), *sizes)


def trailing(sizes: Sequence[int], rank: int, fill: int = 1) -> Sizes:
    """Return the last ``rank`` sizes (or strides), with ``fill`` prepended to shorter sequences."""
    aligned = with_rank(sizes, rank, fill)
    return aligned[len(aligned) - rank :]


def with_spatial(sizes: Sequence[int], spatial: int, fill: int = 1) -> Sizes:
    """Return {N, C, spatial...} with at least ``spatial`` spatial dimensions; ``fill`` is inserted before the first."""
    return (*sizes[:2], *(fill,) * (spatial + 2 - len(sizes)), *sizes[2:])


def effective_rank(sizes: Sequence[int]) -> int:
    """Count the dimensions from the first one whose size is not 1."""
    return next((len(sizes) - axis for axis, size in enumerate(sizes) if size != 1), 0)


@checked
def broadcast_sizes(*sizes: Sequence[int]) -> Sizes:
    """Broadcast the sizes as NumPy does. Raises DMLError if they do not broadcast."""
    rank = max(map(len, sizes), default=0)
    found: list[int] = [1] * rank
    for own in sizes:
        for index, size in enumerate(own, rank - len(own)):
            if size == found[index] or size == 1:
                continue
            if found[index] != 1:
                raise DMLError(f"sizes {', '.join(map(str, sizes))} do not broadcast to each other")
            found[index] = whole(size)
    return tuple(found)


# --- sliding windows ----------------------------------------------------------------------------------------------


def window_reach(taps: int, dilation: int) -> int:
    """Return the elements that a window spans, from its first tap to its last; with ``dilation`` 1 taps are
    adjacent."""
    return (taps - 1) * dilation + 1


def window_count(size: int, reach: int, stride: int) -> int:
    """Count a window's positions in ``size`` elements, padding included; 0 if it does not fit."""
    return 0 if reach > size else (size - reach) // max(1, stride) + 1


def covered_size(count: int, reach: int, stride: int) -> int:
    """Return the smallest size that holds ``count`` windows: from the first one's start to the last one's end."""
    return (count - 1) * stride + reach


def same_padding(size: int, reach: int, stride: int) -> int:
    """Return the total padding that gives one window per ``stride`` elements, rounded up (auto_pad)."""
    step = max(1, stride)
    return max(0, covered_size(-(-size // step), reach, step) - size)


def halves(total: int, *, more_at_start: bool = False) -> tuple[int, int]:
    """Split padding evenly between start and end; an odd element goes to the end, or to the start where asked."""
    small, large = total // 2, total - total // 2
    return (large, small) if more_at_start else (small, large)


def same_paddings(
    sizes: Sequence[int], reach: Sequence[int], strides: Sequence[int], *, more_at_start: bool = False
) -> tuple[Sizes, Sizes]:
    """Return start and end of `same_padding` along each spatial dimension. more_at_start: see `halves`."""
    pairs = [
        halves(same_padding(*dimension), more_at_start=more_at_start)
        for dimension in each_dimension(sizes, reach, strides)
    ]
    return tuple(start for start, _ in pairs), tuple(end for _, end in pairs)


def window_counts(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    start: Sequence[int],
    end: Sequence[int],
    *,
    round_up: bool = False,
    starts_inside: bool = False,
) -> Sizes:
    """Count a window's positions along each spatial dimension.

    sizes: spatial sizes. window: taps per dimension. dilations: None if taps are adjacent. start, end: padding.
    round_up: the last window may reach beyond the end padding. starts_inside: but it starts before that padding.
    """
    gaps = (1,) * len(window) if dilations is None else dilations
    counts = []
    for size, taps, stride, gap, before, after in each_dimension(sizes, window, strides, gaps, start, end):
        beyond = max(1, stride) - 1 if round_up else 0
        count = window_count(size + before + after + beyond, window_reach(taps, gap), stride)
        cut = starts_inside and round_up and count > 1 and (count - 1) * stride >= size + before
        counts.append(count - 1 if cut else count)
    return tuple(counts)


def end_paddings(
    sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int],
    start: Sequence[int], counts: Sequence[int],
) -> Sizes:  # fmt: skip
    """Return the smallest end padding for these numbers of windows: none if elements remain after the last window.

    sizes: the whole tensor's.
    """
    needed = []
    for size, taps, stride, gap, before, count in each_dimension(sizes[2:], window, strides, dilations, start, counts):
        reach = window_reach(taps, gap)
        more = max(0, covered_size(count, reach, stride) - size - before)
        if count < 1 or window_count(size + before + more, reach, stride) != count:
            raise DMLError(f"no end padding gives the output sizes {tuple(counts)} from {sizes}")
        needed.append(more)
    return tuple(needed)


def pooled_sizes(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    start: Sequence[int],
    end: Sequence[int],
) -> Sizes:
    """Return the sizes after pooling {N, C, spatial...}; arguments as for `window_counts`."""
    return (*sizes[:2], *window_counts(sizes[2:], window, strides, dilations, start, end))


def convolved_sizes(
    sizes: Sequence[int],
    weights: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    start: Sequence[int],
    end: Sequence[int],
    output_padding: Sequence[int] | None = None,
) -> Sizes:
    """Return the sizes of a forward convolution of {N, C, spatial...} with {outputs, C / groups, window...}.

    output_padding: elements added after those that windows compute; None for none.
    """
    counts = window_counts(sizes[2:], weights[2:], strides, dilations, start, end)
    more = (0,) * len(counts) if output_padding is None else output_padding
    return (sizes[0], weights[0], *(count + extra for count, extra in each_dimension(counts, more)))


def transposed_sizes(
    sizes: Sequence[int],
    weights: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    start: Sequence[int],
    end: Sequence[int],
    output_padding: Sequence[int] | None = None,
    groups: int = 1,
) -> Sizes:
    """Return the sizes of a backward (transposed) convolution: those whose forward convolution has ``sizes``.

    weights: {C, outputs / groups, window...}. output_padding: selects among several such sizes; None for the smallest.
    """
    more = (0,) * (len(sizes) - 2) if output_padding is None else output_padding
    dimensions = each_dimension(sizes[2:], weights[2:], strides, dilations, start, end, more)
    spatial = (
        covered_size(count, window_reach(taps, gap), stride) - before - after + extra
        for count, taps, stride, gap, before, after, extra in dimensions
    )
    return (sizes[0], weights[1] * groups, *spatial)


def unfolded_sizes(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    start: Sequence[int],
    end: Sequence[int],
) -> Sizes:
    """Return the sizes of {N, C, spatial...} unfolded to columns, {N, C x taps, windows}; arguments as for
    `window_counts`."""
    counts = window_counts(sizes[2:], window, strides, dilations, start, end)
    return (sizes[0], sizes[1] * prod(window), prod(counts))


# --- moving elements ----------------------------------------------------------------------------------------------


def sliced_sizes(window: Sequence[int], strides: Sequence[int]) -> Sizes:
    """Return the sizes of a strided slice of a window. Negative strides start at its end."""
    return tuple(window_count(size, 1, abs(stride)) for size, stride in each_dimension(window, strides))


def padded_sizes(sizes: Sequence[int], start: Sequence[int], end: Sequence[int]) -> Sizes:
    """Add padding before and after each dimension."""
    return tuple(map(sum, each_dimension(sizes, start, end)))


def scaled_sizes(sizes: Sequence[int], factors: Sequence[int]) -> Sizes:
    """Multiply the sizes by whole factors, as tiling and upsampling do."""
    return tuple(map(prod, each_dimension(sizes, factors)))


def joined_sizes(parts: Sequence[Sequence[int]], axis: int) -> Sizes:
    """Join sizes along an axis; the other axes have the first part's sizes."""
    return with_size(parts[0], axis, sum(part[axis] for part in parts))


def _image(sizes: Sequence[int]) -> tuple[int, int, int, int]:
    if len(sizes) != 4:
        raise DMLError(f"blocks of pixels need the dimensions {{N, C, H, W}}, found sizes {tuple(sizes)}")
    batch, channels, height, width = sizes
    return batch, channels, height, width


def depth_to_space_sizes(sizes: Sequence[int], block: int) -> Sizes:
    """Return the sizes of {N, C, H, W} after channels become blocks of ``block`` by ``block`` pixels."""
    batch, channels, height, width = _image(sizes)
    return batch, channels // max(1, block**2), height * block, width * block


def space_to_depth_sizes(sizes: Sequence[int], block: int) -> Sizes:
    """Return the sizes of {N, C, H, W} after blocks of ``block`` by ``block`` pixels become channels."""
    batch, channels, height, width = _image(sizes)
    return batch, channels * block**2, height // max(1, block), width // max(1, block)


def gather_kept(sizes: Sequence[int], indices: Sequence[int], axis: int, index_dimensions: int) -> tuple[int, int]:
    """Return which dimensions of input and indices GATHER's output keeps: (first, count).

    The input's sizes, with the last ``index_dimensions`` sizes of the indices in place of the one at ``axis``, may
    exceed the dimension count. Then leading sizes of 1 are dropped, first of the input, then of the indices (the page's
    example 3). first: first dimension of the input to keep. count: number of trailing dimensions of the indices to
    keep.
    """
    excess = index_dimensions - 1
    first = 0
    while excess > 0 and first < axis and sizes[first] == 1:
        first, excess = first + 1, excess - 1
    count = index_dimensions
    while excess > 0 and count > 0 and indices[len(indices) - count] == 1:
        count, excess = count - 1, excess - 1
    return first, count


def gathered_sizes(sizes: Sequence[int], indices: Sequence[int], axis: int, index_dimensions: int) -> Sizes:
    """Return the sizes of GATHER's output, without leading sizes of 1.

    They exceed the input's rank if too few leading sizes are 1; the validator refuses that.
    """
    first, count = gather_kept(sizes, indices, axis, index_dimensions)
    return replaced(sizes, axis, indices[len(indices) - count :])[first:]


def gathered_nd_sizes(sizes: Sequence[int], indices: Sequence[int], batches: int = 0) -> Sizes:
    """Return the sizes of GATHER_ND's output: per tuple (the last dimension of the indices), the input's remaining
    dimensions.

    batches: leading dimensions shared by input and indices.
    """
    return (*indices[:-1], *sizes[batches + indices[-1] :])
