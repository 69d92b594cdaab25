"""SLICE, SLICE1, SLICE_GRAD, SPLIT, JOIN and TILE: exact, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import TYPES, TYPES_AND_LAYOUTS, as_read, cycled, like, numbers, output, run

import dml
from harness import assert_exact, run_on

SQUARE = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)


def slice_of(x, offsets, sizes, strides, layout="packed", out_layout="packed"):
    kind = like(x).DataType
    return dml.DML_SLICE_OPERATOR_DESC(
        InputTensor=like(x, layout),
        OutputTensor=output(kind, sizes, out_layout),
        Offsets=offsets,
        Sizes=sizes,
        Strides=strides,
    )


def window_sizes(sizes, strides):
    return tuple((size - 1) // abs(step) + 1 for size, step in zip(sizes, strides, strict=True))


def slice1_of(x, offsets, sizes, strides, layout="packed", out_layout="packed", copied=None):
    return dml.DML_SLICE1_OPERATOR_DESC(
        InputTensor=like(x, layout),
        OutputTensor=output(like(x).DataType, copied or window_sizes(sizes, strides), out_layout),
        InputWindowOffsets=offsets,
        InputWindowSizes=sizes,
        InputWindowStrides=strides,
    )


def taken(x, offsets, sizes, strides, copied=None):
    """Slice through coordinate lists, not NumPy slices. copied: the output's sizes; by default all strided elements of
    the window."""
    lists = []
    for offset, size, step, count in zip(offsets, sizes, strides, copied or window_sizes(sizes, strides), strict=True):
        first = offset if step > 0 else offset + size - 1
        lists.append([first + k * step for k in range(count)])
    return x[np.ix_(*lists)]


@pytest.mark.parametrize(
    "offsets, sizes, strides, expected",
    [
        ((0, 0, 1, 2), (1, 1, 3, 2), (1, 1, 1, 1), [[7, 8], [11, 12], [15, 16]]),
        ((0, 0, 1, 0), (1, 1, 2, 2), (1, 1, 2, 3), [[5, 8], [13, 16]]),
    ],
)
def test_slice_page_examples(device, offsets, sizes, strides, expected):
    result = run(device, slice_of(SQUARE, offsets, sizes, strides), {"InputTensor": SQUARE})["OutputTensor"]
    assert_exact(result, np.array([[expected]], np.float32))


@pytest.mark.parametrize("strides, expected", [((1, 1, 2, 2), [[2, 4], [10, 12]]), ((1, 1, -2, 2), [[14, 16], [6, 8]])])
def test_slice1_page_examples(device, strides, expected):
    desc = slice1_of(SQUARE, (0, 0, 0, 1), (1, 1, 4, 3), strides)
    result = run(device, desc, {"InputTensor": SQUARE})["OutputTensor"]
    assert_exact(result, np.array([[expected]], np.float32))


@pytest.mark.parametrize("dtype, layout, out_layout", TYPES_AND_LAYOUTS)
def test_slices(device, dtype, layout, out_layout):
    x = numbers(dtype, (3, 5, 9))
    desc = slice_of(x, (1, 0, 2), (2, 3, 3), (1, 2, 2), layout, out_layout)
    expected = as_read(x, layout)[1:3, 0:5:2, 2:7:2]
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], expected)
    window = ((0, 1, 0), (3, 4, 9), (-2, 1, -1))
    desc = slice1_of(x, *window, layout, out_layout)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], taken(as_read(x, layout), *window))


@pytest.mark.parametrize("rank", range(1, 9))
def test_slice1_every_dimension_count(device, rank):
    sizes = (4, 3, 2, 5, 2, 3, 2, 6)[-rank:]
    x = numbers("INT32", sizes, rank)
    strides = tuple((-1, 2, 1, -3)[d % 4] for d in range(rank))
    offsets = tuple(int(size > 3) for size in sizes)
    window = (offsets, tuple(size - offset for size, offset in zip(sizes, offsets, strict=True)), strides)
    desc = slice1_of(x, *window)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], taken(x, *window))
    forward = tuple(abs(step) for step in strides)
    result = run(device, slice_of(x, offsets, desc.OutputTensor.Sizes, forward), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, taken(x, *window[:2], forward))
    grad = numbers("INT32", desc.OutputTensor.Sizes, 1)
    desc = grad_of(grad, x.shape, *window)
    assert_exact(
        run(device, desc, {"InputGradientTensor": grad})["OutputGradientTensor"], spread(grad, x.shape, *window)
    )


@pytest.mark.parametrize("strides, expected", [((1, 1, 1, 2), [[2], [6], [10]]), ((1, 1, -2, 1), [[14, 15], [6, 7]])])
def test_slice1_copies_as_much_as_the_output_holds(device, strides, expected):
    """An output smaller than the window takes the first elements, or the last ones for a negative stride."""
    expected = np.array([[expected]], np.float32)
    window = (0, 0, 0, 1), (1, 1, 4, 3), strides
    desc = slice1_of(SQUARE, *window, copied=expected.shape)
    assert_exact(run(device, desc, {"InputTensor": SQUARE})["OutputTensor"], expected)
    desc = grad_of(expected, SQUARE.shape, *window)
    gradient = run(device, desc, {"InputGradientTensor": expected})["OutputGradientTensor"]
    assert_exact(gradient, np.where(np.isin(SQUARE, expected), SQUARE, 0))


def test_a_slice_of_whole_vectors(device):
    x = numbers("FLOAT32", (64, 128))
    desc = slice_of(x, (8, 32), (40, 64), (1, 1))
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], x[8:48, 32:96])
    desc = slice1_of(x, (0, 0), (64, 128), (-1, 1))
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], x[::-1])


def test_nan_payloads_stay(device):
    bits = np.array([0x7F800001, 0xFFC12345, 0x00000001, 0x80000000], np.uint32)
    x = bits.view(np.float32)
    result = run(device, slice_of(x, (0,), (4,), (1,)), {"InputTensor": x})["OutputTensor"]
    np.testing.assert_array_equal(result.view(np.uint32), bits)


def grad_of(grad, sizes, offsets, window, strides, layout="packed", out_layout="packed"):
    return dml.DML_SLICE_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(grad, layout),
        OutputGradientTensor=output(like(grad).DataType, sizes, out_layout),
        InputWindowOffsets=offsets,
        InputWindowSizes=window,
        InputWindowStrides=strides,
    )


def spread(grad, sizes, offsets, window, strides):
    places = taken(np.arange(np.prod(sizes)).reshape(sizes), offsets, window, strides, grad.shape)
    result = np.zeros(int(np.prod(sizes)), grad.dtype)
    result[places.reshape(-1)] = grad.reshape(-1)
    return result.reshape(sizes)


@pytest.mark.parametrize("dtype, layout, out_layout", TYPES_AND_LAYOUTS)
def test_slice_grad(device, dtype, layout, out_layout):
    window = ((0, 1, 2), (3, 4, 7), (-2, 1, 3))
    grad = numbers(dtype, window_sizes(*window[1:]))
    desc = grad_of(grad, (4, 5, 9), *window, layout, out_layout)
    result = run(device, desc, {"InputGradientTensor": grad})["OutputGradientTensor"]
    assert_exact(result, spread(as_read(grad, layout), (4, 5, 9), *window))


# --- split and join


def split_of(x, sizes, axis, layout="packed", out_layout="packed"):
    kind = like(x).DataType
    parts = [output(kind, (*x.shape[:axis], size, *x.shape[axis + 1 :]), out_layout) for size in sizes]
    return dml.DML_SPLIT_OPERATOR_DESC(InputTensor=like(x, layout), OutputTensors=parts, Axis=axis)


def join_of(parts, axis, layout="packed", out_layout="packed"):
    sizes = list(parts[0].shape)
    sizes[axis] = sum(part.shape[axis] for part in parts)
    return dml.DML_JOIN_OPERATOR_DESC(
        InputTensors=[like(part, layout) for part in parts],
        OutputTensor=output(like(parts[0]).DataType, sizes, out_layout),
        Axis=axis,
    )


def test_split_page_examples(device):
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 6, 2)
    first = run(device, split_of(x, (2, 1, 3), 2), {"InputTensor": x})["OutputTensors"]
    for part, expected in zip(first, ([[1, 2], [3, 4]], [[5, 6]], [[7, 8], [9, 10], [11, 12]]), strict=True):
        assert_exact(part, np.array([[expected]], np.float32))
    second = run(device, split_of(x, (1, 1), 3), {"InputTensor": x})["OutputTensors"]
    assert_exact(second[0], np.array([1, 3, 5, 7, 9, 11], np.float32).reshape(1, 1, 6, 1))
    assert_exact(second[1], np.array([2, 4, 6, 8, 10, 12], np.float32).reshape(1, 1, 6, 1))


def test_join_page_examples(device):
    parts = [
        np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32),
        np.array([[[[7, 8, 9, 10], [11, 12, 13, 14]]]], np.float32),
    ]
    result = run(device, join_of(parts, 3), {"InputTensors": parts})["OutputTensor"]
    assert_exact(result, np.array([[[[1, 2, 3, 7, 8, 9, 10], [4, 5, 6, 11, 12, 13, 14]]]], np.float32))
    parts = [np.arange(1 + 4 * k, 5 + 4 * k, dtype=np.float32).reshape(1, 1, 2, 2) for k in range(3)]
    for axis, expected in (
        (1, [[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]]),
        (2, [[[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]]]),
        (3, [[[[1, 2, 5, 6, 9, 10], [3, 4, 7, 8, 11, 12]]]]),
    ):
        result = run(device, join_of(parts, axis), {"InputTensors": parts})["OutputTensor"]
        assert_exact(result, np.array(expected, np.float32))


@pytest.mark.parametrize("dtype, layout, out_layout, axis", cycled([0, 2]))
def test_split_and_join(device, dtype, layout, out_layout, axis):
    x = numbers(dtype, (6, 3, 6))
    parts = run(device, split_of(x, (1, 3, 2), axis, layout, out_layout), {"InputTensor": x})["OutputTensors"]
    expected = np.split(as_read(x, layout), (1, 4), axis)
    for part, right in zip(parts, expected, strict=True):
        assert_exact(part, right)
    if layout == "broadcast":
        return
    result = run(device, join_of(expected, axis, layout, out_layout), {"InputTensors": expected})["OutputTensor"]
    assert_exact(result, x)


@pytest.mark.parametrize("rank", range(1, 9))
def test_split_and_join_every_dimension_count(device, rank):
    sizes = (2, 1, 3, 2, 2, 1, 2, 4)[-rank:]
    x = numbers("UINT16", sizes, rank)
    expected = np.split(x, (3,), rank - 1)
    parts = run(device, split_of(x, (3, 1), rank - 1), {"InputTensor": x})["OutputTensors"]
    for part, right in zip(parts, expected, strict=True):
        assert_exact(part, right)
    assert_exact(run(device, join_of(expected, rank - 1), {"InputTensors": expected})["OutputTensor"], x)


def test_a_joined_byte_leaves_the_gap_after_it(device):
    """The last two elements share a word."""
    parts = [np.array([value], np.uint8) for value in (1, 2, 3, 4)]
    joined = dml.DML_BUFFER_TENSOR_DESC("UINT8", (4,), (2,))
    desc = dml.DML_JOIN_OPERATOR_DESC(InputTensors=[like(part) for part in parts], OutputTensor=joined, Axis=0)
    buffer = device.create_buffer(np.full(8, 9, np.uint8))
    run_on(device, desc, [device.create_buffer(np.repeat(part, 4)) for part in parts], [buffer])
    assert_exact(buffer.read(np.uint8, 7), np.array([1, 9, 2, 9, 3, 9, 4], np.uint8))


# --- tile


def tile_of(x, repeats, layout="packed", out_layout="packed"):
    sizes = tuple(size * times for size, times in zip(x.shape, repeats, strict=True))
    return dml.DML_TILE_OPERATOR_DESC(
        InputTensor=like(x, layout), OutputTensor=output(like(x).DataType, sizes, out_layout), Repeats=repeats
    )


def test_tile_page_example(device):
    x = np.array([[[[1, 2, 3], [4, 5, 6]]]], np.float32)
    row = [[1, 2, 3] * 3, [4, 5, 6] * 3]
    result = run(device, tile_of(x, (1, 1, 3, 3)), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.array([[row * 3]], np.float32))


@pytest.mark.parametrize("dtype, layout, out_layout", [case for case in TYPES_AND_LAYOUTS if case[0] != "FLOAT64"])
def test_tile(device, dtype, layout, out_layout):
    x = numbers(dtype, (2, 3, 5))
    result = run(device, tile_of(x, (3, 1, 2), layout, out_layout), {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.tile(as_read(x, layout), (3, 1, 2)))


@pytest.mark.parametrize("rank", range(1, 9))
def test_tile_every_dimension_count(device, rank):
    x = numbers("UINT8", (2, 3, 1, 2, 1, 2, 2, 3)[-rank:], rank)
    repeats = (2, 1, 3, 1, 2, 1, 2, 2)[-rank:]
    assert_exact(run(device, tile_of(x, repeats), {"InputTensor": x})["OutputTensor"], np.tile(x, repeats))


def test_all_types_are_listed():
    desc = dml.DML_SLICE1_OPERATOR_DESC
    support = dml.operator_support(desc.OPERATOR_TYPE, dml.DML_FEATURE_LEVEL_6_4)
    assert {f"DML_TENSOR_DATA_TYPE_{name}" for name in TYPES} == {t.name for t in support["InputTensor"].data_types}
