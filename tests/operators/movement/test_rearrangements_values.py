"""DEPTH_TO_SPACE, SPACE_TO_DEPTH and REVERSE_SUBSEQUENCES: exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from movement_cases import TYPES_AND_LAYOUTS, as_read, cycled, like, numbers, output, run

import dml
from harness import assert_exact

ORDERS = ("DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH")

# The reference pages' example: eight channels of 2 x 3, each channel 9 larger than the one before.
DEPTH = (np.arange(6).reshape(2, 3) + 9 * np.arange(8).reshape(8, 1, 1))[None].astype(np.uint32)
SPACE = {
    "DEPTH_COLUMN_ROW": np.array([
        [[0, 18, 1, 19, 2, 20], [36, 54, 37, 55, 38, 56], [3, 21, 4, 22, 5, 23], [39, 57, 40, 58, 41, 59]],
        [[9, 27, 10, 28, 11, 29], [45, 63, 46, 64, 47, 65], [12, 30, 13, 31, 14, 32], [48, 66, 49, 67, 50, 68]],
    ], np.uint32)[None],
    "COLUMN_ROW_DEPTH": np.array([
        [[0, 9, 1, 10, 2, 11], [18, 27, 19, 28, 20, 29], [3, 12, 4, 13, 5, 14], [21, 30, 22, 31, 23, 32]],
        [[36, 45, 37, 46, 38, 47], [54, 63, 55, 64, 56, 65], [39, 48, 40, 49, 41, 50], [57, 66, 58, 67, 59, 68]],
    ], np.uint32)[None],
}  # fmt: skip


def order_of(name):
    return dml.DML_DEPTH_SPACE_ORDER[f"DML_DEPTH_SPACE_ORDER_{name}"]


def rearrange(cls, x, sizes, block, order=None, layout="packed", out_layout="packed"):
    more = {} if order is None else {"Order": order_of(order)}
    return cls(
        InputTensor=like(x, layout),
        OutputTensor=output(like(x).DataType, sizes, out_layout),
        BlockSize=block,
        **more,
    )


@pytest.mark.parametrize("order", [None, *ORDERS])
def test_depth_and_space_page_examples(device, order):
    to_space = dml.DML_DEPTH_TO_SPACE_OPERATOR_DESC if order is None else dml.DML_DEPTH_TO_SPACE1_OPERATOR_DESC
    to_depth = dml.DML_SPACE_TO_DEPTH_OPERATOR_DESC if order is None else dml.DML_SPACE_TO_DEPTH1_OPERATOR_DESC
    space = SPACE[order or "DEPTH_COLUMN_ROW"]
    desc = rearrange(to_space, DEPTH, space.shape, 2, order)
    assert_exact(run(device, desc, {"InputTensor": DEPTH})["OutputTensor"], space)
    desc = rearrange(to_depth, space, DEPTH.shape, 2, order)
    assert_exact(run(device, desc, {"InputTensor": space})["OutputTensor"], DEPTH)


def to_space_element_by_element(depth, block, order):
    batch, channels, height, width = depth.shape
    channels //= block * block
    space = np.zeros((batch, channels, height * block, width * block), depth.dtype)
    for n, c, y, x in itertools.product(*map(range, space.shape)):
        inside = (y % block) * block + x % block
        channel = inside * channels + c if order == "DEPTH_COLUMN_ROW" else c * block * block + inside
        space[n, c, y, x] = depth[n, channel, y // block, x // block]
    return space


@pytest.mark.parametrize(
    "dtype, layout, out_layout, order", [(*case, order) for case in TYPES_AND_LAYOUTS for order in ORDERS]
)
def test_depth_and_space(device, dtype, layout, out_layout, order):
    depth = numbers(dtype, (2, 18, 2, 3))
    space = to_space_element_by_element(as_read(depth, layout), 3, order)
    desc = rearrange(dml.DML_DEPTH_TO_SPACE1_OPERATOR_DESC, depth, space.shape, 3, order, layout, out_layout)
    assert_exact(run(device, desc, {"InputTensor": depth})["OutputTensor"], space)
    if order == "DEPTH_COLUMN_ROW":
        desc = rearrange(dml.DML_DEPTH_TO_SPACE_OPERATOR_DESC, depth, space.shape, 3, None, layout, out_layout)
        assert_exact(run(device, desc, {"InputTensor": depth})["OutputTensor"], space)
    if layout == "broadcast":
        return
    desc = rearrange(dml.DML_SPACE_TO_DEPTH1_OPERATOR_DESC, space, depth.shape, 3, order, layout, out_layout)
    assert_exact(run(device, desc, {"InputTensor": space})["OutputTensor"], depth)
    if order == "DEPTH_COLUMN_ROW":
        desc = rearrange(dml.DML_SPACE_TO_DEPTH_OPERATOR_DESC, space, depth.shape, 3, None, layout, out_layout)
        assert_exact(run(device, desc, {"InputTensor": space})["OutputTensor"], depth)


# --- REVERSE_SUBSEQUENCES


def reverse_of(x, lengths, axis, layout="packed", out_layout="packed", lengths_layout="packed"):
    return dml.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(
        InputTensor=like(x, layout),
        SequenceLengthsTensor=like(lengths, lengths_layout),
        OutputTensor=output(like(x).DataType, x.shape, out_layout),
        Axis=axis,
    )


def reversed_element_by_element(x, lengths, axis):
    result = x.copy()
    for place in np.ndindex(*lengths.shape):
        n = min(int(lengths[place]), x.shape[axis])
        line = (*place[:axis], slice(None), *place[axis + 1 :])
        values = list(x[line])
        result[line] = values[:n][::-1] + values[n:]
    return result


def both(device, desc, x, lengths):
    return run(device, desc, {"InputTensor": x, "SequenceLengthsTensor": lengths})["OutputTensor"]


def test_reverse_page_examples(device):
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    lengths = np.array([2, 4, 3], np.uint32).reshape(1, 1, 3, 1)
    expected = np.array([[[[2, 1, 3, 4], [8, 7, 6, 5], [11, 10, 9, 12]]]], np.float32)
    assert_exact(both(device, reverse_of(x, lengths, 3), x, lengths), expected)
    lengths = np.array([2, 3, 1, 0], np.uint32).reshape(1, 1, 1, 4)
    expected = np.array([[[[5, 10, 3, 4], [1, 6, 7, 8], [9, 2, 11, 12]]]], np.float32)
    assert_exact(both(device, reverse_of(x, lengths, 2), x, lengths), expected)


@pytest.mark.parametrize("dtype, layout, out_layout, axis", cycled([0, 1, 2]))
def test_reverse(device, dtype, layout, out_layout, axis):
    rng = np.random.default_rng(axis)
    x = numbers(dtype, (4, 5, 6))
    sizes = tuple(1 if d == axis else size for d, size in enumerate(x.shape))
    # Some lengths exceed the axis size and count as that size.
    lengths = rng.integers(0, 9, sizes).astype(np.uint64 if axis == 1 else np.uint32)
    desc = reverse_of(x, lengths, axis, layout, out_layout, "padded" if axis == 2 else "packed")
    expected = reversed_element_by_element(as_read(x, layout), lengths, axis)
    assert_exact(both(device, desc, x, lengths), expected)


@pytest.mark.parametrize("rank", range(1, 9))
def test_reverse_every_dimension_count(device, rank):
    x = numbers("FLOAT32", (2, 3, 2, 1, 2, 3, 2, 4)[-rank:], rank)
    for axis in {0, rank // 2, rank - 1}:
        sizes = tuple(1 if d == axis else size for d, size in enumerate(x.shape))
        lengths = np.random.default_rng(rank).integers(0, 5, sizes).astype(np.uint32)
        expected = reversed_element_by_element(x, lengths, axis)
        assert_exact(both(device, reverse_of(x, lengths, axis), x, lengths), expected)


def test_huge_lengths_are_clamped(device):
    x = numbers("INT16", (2, 3))
    for lengths in (
        np.array([[2**32 - 1], [0]], np.uint32),
        np.array([[2**32], [2**63 + 1]], np.uint64),
    ):
        expected = reversed_element_by_element(x, lengths, 1)
        assert_exact(both(device, reverse_of(x, lengths, 1), x, lengths), expected)


def test_lengths_of_a_broadcast_tensor(device):
    x = numbers("UINT8", (3, 7))
    lengths = np.array([[5]] * 3, np.uint32)
    desc = reverse_of(x, lengths, 1, lengths_layout="broadcast")
    assert_exact(both(device, desc, x, lengths), reversed_element_by_element(x, lengths, 1))
