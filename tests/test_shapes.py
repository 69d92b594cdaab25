"""The arithmetic of sizes, compared with NumPy and with counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dml import DMLError, shapes

small = st.integers(1, 5)
sizes = st.lists(small, min_size=1, max_size=5).map(tuple)


@st.composite
def axis_of(draw, lists=sizes):
    """Draw sizes, and one of their axes."""
    found = draw(lists)
    return found, draw(st.integers(0, len(found) - 1))


@st.composite
def windows(draw):
    """Draw windows of one to three dimensions that fit: (size, taps, stride, dilation, start, end) for each."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        size, taps, stride, dilation, start, end = (
            draw(st.integers(*ends)) for ends in ((1, 9), (1, 4), (1, 4), (1, 3), (0, 3), (0, 3))
        )
        assume((taps - 1) * dilation < size + start + end)
        found.append((size, taps, stride, dilation, start, end))
    return tuple(zip(*found, strict=True))


def positions(size: int, taps: int, stride: int, dilation: int, start: int, end: int) -> list[list[int]]:
    """Return the elements that each window covers, found by sliding it until it does not fit."""
    found = []
    for first in range(-start, size + end, stride):
        seen = [first + tap * dilation for tap in range(taps)]
        if seen[-1] < size + end:
            found.append(seen)
    return found


# --- single dimensions --------------------------------------------------------------------------------------------


@given(axis_of())
def test_negative_axes_count_from_the_end(found):
    sizes, axis = found
    rank = len(sizes)
    assert shapes.checked_axis(axis, rank) == shapes.checked_axis(axis - rank, rank) == axis


@given(small, small)
def test_no_other_axis_is_one(rank, beyond):
    for axis in (rank - 1 + beyond, -rank - beyond):
        with pytest.raises(DMLError, match=f"^reduce: axis {axis} is not a dimension of a tensor of rank {rank} "):
            shapes.checked_axis(axis, rank, "reduce")


@given(axis_of(), small)
def test_with_size_repeats_along_one_axis(found, times):
    sizes, axis = found
    assert shapes.with_size(sizes, axis, sizes[axis] * times) == np.repeat(np.empty(sizes), times, axis).shape


@given(axis_of())
def test_without_axis_equals_indexing(found):
    sizes, axis = found
    assert shapes.without_axis(sizes, axis) == np.take(np.empty(sizes), 0, axis).shape


@given(axis_of(), sizes)
def test_replaced_equals_take(found, others):
    sizes, axis = found
    assert shapes.replaced(sizes, axis, others) == np.take(np.empty(sizes), np.zeros(others, int), axis).shape


@given(axis_of())
def test_with_axis_expands_dimensions(found):
    sizes, axis = found
    assert shapes.with_axis(sizes, axis) == np.expand_dims(np.empty(sizes), axis).shape
    assert shapes.with_axis(sizes, axis, 7) == np.stack([np.empty(sizes)] * 7, axis).shape
    assert shapes.with_axis(sizes, len(sizes)) == (*sizes, 1)


@given(sizes, st.sets(st.integers(0, 4)))
def test_ones_along_are_the_sizes_of_a_reduction(sizes, axes):
    axes = tuple(axis for axis in axes if axis < len(sizes))
    assert shapes.ones_along(sizes, axes) == np.empty(sizes).sum(axes, keepdims=True).shape


@pytest.mark.parametrize(
    ("sizes", "rank", "aligned", "last"),
    [
        ((2, 3), 4, (1, 1, 2, 3), (1, 1, 2, 3)),
        ((2, 3), 2, (2, 3), (2, 3)),
        ((1, 2, 3), 2, (1, 2, 3), (2, 3)),
        ((2, 3), 0, (2, 3), ()),
        ((), 2, (1, 1), (1, 1)),
    ],
)
def test_rank_grows_and_shrinks_in_front(sizes, rank, aligned, last):
    assert shapes.with_rank(sizes, rank) == aligned
    assert shapes.trailing(sizes, rank) == last


def test_strides_are_filled_with_zeros():
    assert shapes.with_rank((3, 1), 3, 0) == (0, 3, 1)
    assert shapes.trailing((3, 1), 3, 0) == (0, 3, 1)
    assert shapes.with_spatial((8, 4, 1), 3, 0) == (8, 4, 0, 0, 1)


def test_spatial_dimensions_grow_between_channels_and_the_rest():
    assert shapes.with_spatial((2, 3, 5), 3) == (2, 3, 1, 1, 5)
    assert shapes.with_spatial((2, 3, 4, 5), 3) == (2, 3, 1, 4, 5)
    assert shapes.with_spatial((2, 3, 4, 5, 6), 2) == (2, 3, 4, 5, 6)


@pytest.mark.parametrize(("sizes", "rank"), [((1, 1, 3, 1), 2), ((2, 1), 2), ((1, 1), 0), ((), 0)])
def test_effective_rank_leaves_leading_ones_out(sizes, rank):
    assert shapes.effective_rank(sizes) == rank


@given(st.lists(sizes, min_size=1, max_size=3))
def test_broadcast_sizes_are_numpys(many):
    try:
        expected = np.broadcast_shapes(*many)
    except ValueError:
        with pytest.raises(DMLError, match="do not broadcast to each other"):
            shapes.broadcast_sizes(*many)
    else:
        assert shapes.broadcast_sizes(*many) == expected


# --- sliding windows ----------------------------------------------------------------------------------------------


@given(windows())
def test_window_counts_are_the_positions(window):
    size, taps, stride, dilation, start, end = window
    counts = tuple(len(positions(*dimension)) for dimension in zip(*window, strict=True))
    assert shapes.window_counts(size, taps, stride, dilation, start, end) == counts
    assert shapes.pooled_sizes((2, 3, *size), taps, stride, dilation, start, end) == (2, 3, *counts)
    assert shapes.convolved_sizes((2, 6, *size), (4, 3, *taps), stride, dilation, start, end) == (2, 4, *counts)
    columns = shapes.unfolded_sizes((2, 3, *size), taps, stride, dilation, start, end)
    assert columns == (2, 3 * np.prod(taps), np.prod(counts))


@given(windows(), st.booleans())
def test_windows_rounded_up_continue_until_one_reaches_the_end(window, inside):
    counts = shapes.window_counts(*window, round_up=True, starts_inside=inside)
    for count, (size, taps, stride, dilation, start, end) in zip(counts, zip(*window, strict=True), strict=True):
        reach, total = (taps - 1) * dilation + 1, start + size + end
        assume(reach <= total)
        starts = [
            first for first in range(0, total + stride, stride) if first < stride or first - stride + reach < total
        ]
        if inside and len(starts) > 1 and starts[-1] >= start + size:
            starts.pop()
        assert count == len(starts)


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
def test_windows_without_dilation_are_numpys(size, taps, stride):
    assume(taps <= size)
    slid = np.lib.stride_tricks.sliding_window_view(np.empty(size), taps)[::stride]
    assert shapes.window_counts((size,), (taps,), (stride,), None, (0,), (0,)) == (len(slid),)


def test_a_window_that_does_not_fit_has_no_position():
    assert shapes.window_count(4, 5, 1) == 0
    assert shapes.window_count(1, 9, 2) == 0


def test_a_stride_of_zero_counts_as_one():
    assert shapes.window_count(5, 2, 0) == shapes.window_count(5, 2, 1) == 4
    assert shapes.sliced_sizes((5,), (0,)) == (5,)
    assert shapes.same_padding(5, 3, 0) == shapes.same_padding(5, 3, 1)


@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 4))
def test_covered_size_is_the_smallest_for_the_window_count(count, reach, stride):
    least = shapes.covered_size(count, reach, stride)
    assert shapes.window_count(least, reach, stride) == count
    assert shapes.window_count(least - 1, reach, stride) == count - 1


@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 4))
def test_same_padding_is_the_least_with_a_window_for_each_stride_begun(size, reach, stride):
    padding = shapes.same_padding(size, reach, stride)
    assert padding >= 0
    wanted = len(range(0, size, stride))
    assert shapes.window_count(size + padding, reach, stride) >= wanted
    if padding:
        assert shapes.window_count(size + padding, reach, stride) == wanted
        assert shapes.window_count(size + padding - 1, reach, stride) < wanted


@given(windows(), st.integers(1, 2), st.data())
def test_transposed_sizes_are_those_whose_convolution_gives_the_sizes(window, groups, data):
    size, taps, stride, dilation, start, end = window
    more = [data.draw(st.integers(0, step - 1)) for step in stride]
    weights = (4, 3, *taps)
    made = shapes.transposed_sizes((2, 4, *size), weights, stride, dilation, start, end, more, groups)
    assert made[:2] == (2, 3 * groups)
    assume(min(made[2:]) > 0)
    assert shapes.window_counts(made[2:], taps, stride, dilation, start, end) == size
    least = shapes.transposed_sizes((2, 4, *size), weights, stride, dilation, start, end, groups=groups)
    assert tuple(a + b for a, b in zip(least[2:], more, strict=True)) == made[2:]


def test_output_padding_adds_elements_to_a_convolution():
    assert shapes.convolved_sizes((1, 2, 5), (4, 2, 3), (1,), (1,), (0,), (0,), (2,)) == (1, 4, 5)


# --- moving elements ----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-4, 4).filter(bool)), min_size=1, max_size=4))
def test_slices_are_numpys(window):
    sizes, strides = zip(*window, strict=True)
    expected = np.empty(sizes)[tuple(slice(None, None, step) for step in strides)].shape
    assert shapes.sliced_sizes(sizes, strides) == expected


@given(st.lists(st.tuples(small, st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
def test_padding_is_numpys(dimensions):
    sizes, start, end = zip(*dimensions, strict=True)
    assert shapes.padded_sizes(sizes, start, end) == np.pad(np.empty(sizes), [*zip(start, end, strict=True)]).shape


@given(st.lists(st.tuples(small, st.integers(1, 3)), min_size=1, max_size=4))
def test_tiles_are_numpys(dimensions):
    sizes, repeats = zip(*dimensions, strict=True)
    assert shapes.scaled_sizes(sizes, repeats) == np.tile(np.empty(sizes), repeats).shape


@given(axis_of(), st.lists(small, min_size=1, max_size=3))
def test_joined_parts_are_numpys(found, lengths):
    sizes, axis = found
    parts = [shapes.with_size(sizes, axis, length) for length in lengths]
    assert shapes.joined_sizes(parts, axis) == np.concatenate([np.empty(part) for part in parts], axis).shape


@given(small, small, small, small, st.integers(1, 3))
def test_blocks_of_pixels(batch, channels, height, width, block):
    deep = (batch, channels * block**2, height, width)
    flat = np.empty(deep).reshape(batch, block, block, channels, height, width).transpose(0, 3, 4, 1, 5, 2)
    space = (*flat.shape[:2], flat.shape[2] * block, flat.shape[4] * block)
    assert shapes.depth_to_space_sizes(deep, block) == space
    assert shapes.space_to_depth_sizes(space, block) == deep


@pytest.mark.parametrize("function", [shapes.depth_to_space_sizes, shapes.space_to_depth_sizes])
def test_blocks_of_pixels_need_four_dimensions(function):
    with pytest.raises(DMLError, match=r"\{N, C, H, W\}, found sizes \(1, 2, 3\)"):
        function((1, 2, 3), 2)
    assert len(function((1, 2, 3, 4), 0)) == 4


@given(axis_of(), sizes, st.data())
def test_gathered_sizes_are_numpys_but_for_ones(found, indices, data):
    sizes, axis = found
    used = data.draw(st.integers(0, len(indices)))
    taken = np.take(np.empty(sizes), np.zeros(indices[len(indices) - used :], int), axis).shape
    made = shapes.gathered_sizes(sizes, indices, axis, used)
    assert [size for size in made if size != 1] == [size for size in taken if size != 1]
    assert len(made) <= len(taken)
    assert len(made) >= min(len(taken), len(sizes)), "no more go than the dimension count asks for"


@pytest.mark.parametrize(
    ("sizes", "indices", "axis", "used", "expected"),
    [
        ((5, 4), (1, 3), 0, 1, (3, 4)),
        ((1, 1, 5, 4), (1, 1, 2, 3), 2, 2, (1, 2, 3, 4)),  # one leading 1 of the input is removed
        ((1, 1, 5, 4), (1, 6, 2, 3), 3, 3, (5, 6, 2, 3)),  # two leading 1s are removed
        ((5, 4), (1, 3), 0, 2, (3, 4)),  # the input has none, so the indices' leading 1 is removed
        ((5, 4), (2, 3), 0, 2, (2, 3, 4)),  # neither has a leading 1: too many dimensions, which the validator refuses
        ((5, 4), (1, 1), 1, 0, (5,)),
    ],
)
def test_gathered_sizes(sizes, indices, axis, used, expected):
    assert shapes.gathered_sizes(sizes, indices, axis, used) == expected


@pytest.mark.parametrize(
    ("sizes", "indices", "batches"),
    [((4, 5, 6), (3, 2), 0), ((4, 5, 6), (7, 3, 1), 0), ((4, 5, 6), (2, 3), 0), ((2, 5, 6), (2, 3, 1), 1)],
)
def test_gathered_tuples_are_numpys(sizes, indices, batches):
    source, tuples = np.empty(sizes), np.zeros(indices, int)
    if batches:
        expected = np.stack([source[i][tuple(np.moveaxis(tuples[i], -1, 0))] for i in range(sizes[0])]).shape
    else:
        expected = source[tuple(np.moveaxis(tuples, -1, 0))].shape
    assert shapes.gathered_nd_sizes(sizes, indices, batches) == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda: shapes.padded_sizes((1, 2), (1,), (1, 1)),
        lambda: shapes.scaled_sizes((1, 2), (1,)),
        lambda: shapes.sliced_sizes((1, 2), (1, 1, 1)),
        lambda: shapes.window_counts((5, 5), (2, 2), (1, 1), None, (0,), (0, 0)),
        lambda: shapes.convolved_sizes((1, 1, 5), (1, 1, 2), (1,), (1,), (0,), (0,), (0, 0)),
        lambda: shapes.transposed_sizes((1, 1, 5), (1, 1, 2, 2), (1,), (1,), (0,), (0,)),
    ],
)
def test_sequences_of_different_lengths_are_refused(call):
    with pytest.raises(DMLError, match=r"every argument needs one value for each dimension, found \d"):
        call()


@given(st.integers(0, 99), st.booleans())
def test_halves_differ_by_one_at_most(total, more_at_start):
    start, end = shapes.halves(total, more_at_start=more_at_start)
    assert start + end == total
    assert (start - end if more_at_start else end - start) == total % 2


def test_same_paddings_keep_one_window_for_each_stride():
    start, end = shapes.same_paddings((7, 6), (4, 3), (1, 2))
    assert (start, end) == ((1, 0), (2, 1))
    assert shapes.window_counts((7, 6), (4, 3), (1, 2), None, start, end) == (7, 3)
    assert shapes.same_paddings((7, 6), (4, 3), (1, 2), more_at_start=True) == (end, start)
