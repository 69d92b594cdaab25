"""Arithmetic of sizes: each formula that validator, compiler, graphs and front ends must agree on, written once.

Sizes, strides, paddings and the like are sequences of integers with one item per dimension, slowest first
({N, C, H, W}); results are tuples. Nothing here judges what an operator accepts. A stride or block of 0 counts as 1, so
that a wrong one reaches the validator, which refuses it by its name. Sequences that describe the same dimensions must
have the same length: DMLError otherwise. How tensors lie in memory is the business of `tensors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .arguments import checked
from .errors import DMLError
from .traced import whole

Sizes = tuple[int, ...]


def each_dimension(*values: Sequence[int]) -> list[tuple[int, ...]]:
    """What several sequences say of each dimension. Raises DMLError where they differ in length."""
    try:
        return list(zip(*values, strict=True))
    except ValueError:
        lengths = ", ".join(str(len(one)) for one in values)
        raise DMLError(f"as many sizes, offsets, steps as dimensions are needed, found {lengths} of them") from None


# --- single dimensions --------------------------------------------------------------------------------------------


def checked_axis(axis: int, rank: int, name: str = "") -> int:
    """An axis counted from the front; a negative one counts from behind the last.

    Raises DMLError, which begins with ``name``, where a tensor of that rank has no such dimension.
    """
    if not -rank <= axis < rank:
        raise DMLError(f"{name}{name and ': '}axis {axis} is no dimension of a tensor of rank {rank}")
    return axis % rank


def replaced(sizes: Sequence[int], axis: int, others: Sequence[int]) -> Sizes:
    """The sizes with any number of others in place of the one at ``axis`` (counted from the front)."""
    return (*sizes[:axis], *others, *sizes[axis + 1 :])


def with_size(sizes: Sequence[int], axis: int, size: int) -> Sizes:
    """The sizes with another size along one axis (counted from the front)."""
    return replaced(sizes, axis, (size,))


def without_axis(sizes: Sequence[int], axis: int) -> Sizes:
    """The sizes without the one at ``axis`` (counted from the front)."""
    return replaced(sizes, axis, ())


def with_axis(sizes: Sequence[int], axis: int, size: int = 1) -> Sizes:
    """The sizes with a new dimension in front of the one at ``axis`` (counted from the front)."""
    return (*sizes[:axis], size, *sizes[axis:])


def ones_along(sizes: Sequence[int], axes: Sequence[int]) -> Sizes:
    """The sizes, 1 along the axes: those of a reduction that keeps its dimensions."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(sizes))


def with_rank(sizes: Sequence[int], rank: int, fill: int = 1) -> Sizes:
    """The sizes (or strides) with ``fill`` in front up to ``rank`` dimensions; none go where there are more."""
    return (*(fill,) * (rank - len(sizes)), *sizes)


def trailing(sizes: Sequence[int], rank: int, fill: int = 1) -> Sizes:
    """The last ``rank`` sizes (or strides), with ``fill`` in front where there are fewer."""
    aligned = with_rank(sizes, rank, fill)
    return aligned[len(aligned) - rank :]


def with_spatial(sizes: Sequence[int], spatial: int, fill: int = 1) -> Sizes:
    """{N, C, spatial...} with at least ``spatial`` spatial dimensions; ``fill`` in front of the first of them."""
    return (*sizes[:2], *(fill,) * (spatial + 2 - len(sizes)), *sizes[2:])


def effective_rank(sizes: Sequence[int]) -> int:
    """The number of dimensions from the first on whose size is not 1."""
    return next((len(sizes) - axis for axis, size in enumerate(sizes) if size != 1), 0)


@checked
def broadcast_sizes(*sizes: Sequence[int]) -> Sizes:
    """The sizes that all broadcast to, as in NumPy. Raises DMLError where there are none."""
    rank = max(map(len, sizes), default=0)
    found: list[int] = [1] * rank
    for own in sizes:
        for at, size in enumerate(own, rank - len(own)):
            if size == found[at] or size == 1:
                continue
            if found[at] != 1:
                raise DMLError(f"sizes {', '.join(map(str, sizes))} do not broadcast to each other")
            found[at] = whole(size)
    return tuple(found)


# --- sliding windows ----------------------------------------------------------------------------------------------


def window_reach(taps: int, dilation: int = 1) -> int:
    """The elements from a window's first tap to its last, both counted; ``dilation`` of 1: taps are neighbours."""
    return (taps - 1) * dilation + 1


def window_count(size: int, reach: int, stride: int) -> int:
    """How many positions a window has in ``size`` elements, padding included; 0 where it does not fit."""
    return 0 if reach > size else (size - reach) // max(1, stride) + 1


def covered_size(count: int, reach: int, stride: int) -> int:
    """The elements from the first of ``count`` windows to the last one's end: the least size that has them."""
    return (count - 1) * stride + reach


def same_padding(size: int, reach: int, stride: int) -> int:
    """The padding, both ends together, with which there is a window for each ``stride`` elements begun (auto_pad)."""
    step = max(1, stride)
    return max(0, covered_size(-(-size // step), reach, step) - size)


def window_counts(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    start: Sequence[int],
    end: Sequence[int],
) -> Sizes:
    """How many positions a window has along each spatial dimension.

    sizes: of the spatial dimensions. window: taps in each. dilations: None where taps are neighbours. start, end:
    padding.
    """
    gaps = (1,) * len(window) if dilations is None else dilations
    dimensions = each_dimension(sizes, window, strides, gaps, start, end)
    return tuple(
        window_count(size + before + after, window_reach(taps, gap), stride)
        for size, taps, stride, gap, before, after in dimensions
    )


def pooled_sizes(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int] | None,
    start: Sequence[int],
    end: Sequence[int],
) -> Sizes:
    """The sizes that pooling {N, C, spatial...} gives; arguments as for `window_counts`."""
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
    """The sizes that a forward convolution of {N, C, spatial...} with {outputs, C / groups, window...} gives.

    output_padding: elements behind those that windows make; None for none.
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
    """The sizes that a backward (transposed) convolution gives: those whose forward convolution has ``sizes``.

    weights: {C, outputs / groups, window...}. output_padding: which of the several sizes that is; None for the least.
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
    """The sizes of the columns of {N, C, spatial...}: {N, C x taps, windows}; arguments as for `window_counts`."""
    counts = window_counts(sizes[2:], window, strides, dilations, start, end)
    return (sizes[0], sizes[1] * prod(window), prod(counts))


# --- moving elements ----------------------------------------------------------------------------------------------


def sliced_sizes(window: Sequence[int], strides: Sequence[int]) -> Sizes:
    """How many elements every ``strides``-th of a window of these sizes is. Negative strides run from its end."""
    return tuple(window_count(size, 1, abs(stride)) for size, stride in each_dimension(window, strides))


def padded_sizes(sizes: Sequence[int], start: Sequence[int], end: Sequence[int]) -> Sizes:
    """The sizes with padding before and behind each dimension."""
    return tuple(map(sum, each_dimension(sizes, start, end)))


def scaled_sizes(sizes: Sequence[int], factors: Sequence[int]) -> Sizes:
    """The sizes times whole factors, as tiling and upsampling give them."""
    return tuple(map(prod, each_dimension(sizes, factors)))


def joined_sizes(parts: Sequence[Sequence[int]], axis: int) -> Sizes:
    """The sizes of parts one after another along an axis; those of the first decide along all others."""
    return with_size(parts[0], axis, sum(part[axis] for part in parts))


def _image(sizes: Sequence[int]) -> tuple[int, int, int, int]:
    if len(sizes) != 4:
        raise DMLError(f"blocks of pixels need the dimensions {{N, C, H, W}}, found sizes {tuple(sizes)}")
    batch, channels, height, width = sizes
    return batch, channels, height, width


def depth_to_space_sizes(sizes: Sequence[int], block: int) -> Sizes:
    """The sizes of {N, C, H, W} whose channels become blocks of ``block`` by ``block`` pixels."""
    batch, channels, height, width = _image(sizes)
    return batch, channels // max(1, block**2), height * block, width * block


def space_to_depth_sizes(sizes: Sequence[int], block: int) -> Sizes:
    """The sizes of {N, C, H, W} whose blocks of ``block`` by ``block`` pixels become channels."""
    batch, channels, height, width = _image(sizes)
    return batch, channels * block**2, height // max(1, block), width // max(1, block)


def gather_kept(sizes: Sequence[int], indices: Sequence[int], axis: int, index_dimensions: int) -> tuple[int, int]:
    """Which dimensions of its input and its indices the output of GATHER has: (first, count).

    The input's sizes, with the last ``index_dimensions`` sizes of the indices in place of the one at ``axis``, may be
    more than the dimension count. Then leading ones go, first of the input, then of the indices (the page's example 3).
    first: the first dimension of the input that stays. count: how many of the indices' dimensions, the last, stay.
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
    """The sizes that GATHER gives, without the ones that fill them up to the dimension count.

    More of them than the input has where too few leading sizes are 1: the validator refuses that.
    """
    first, count = gather_kept(sizes, indices, axis, index_dimensions)
    return replaced(sizes, axis, indices[len(indices) - count :])[first:]


def gathered_nd_sizes(sizes: Sequence[int], indices: Sequence[int], batches: int = 0) -> Sizes:
    """The sizes that GATHER_ND gives: for each tuple, the last dimension of the indices, what it leaves of the input.

    batches: leading dimensions that input and indices share.
    """
    return (*indices[:-1], *sizes[batches + indices[-1] :])
