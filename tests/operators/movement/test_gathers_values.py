"""GATHER, GATHER_ELEMENTS, GATHER_ND, GATHER_ND1: exact."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import INDEX_TYPES, NUMPY_INDEX, as_read, cycled, like, numbers, output, refuse, run

import dml
from harness import assert_exact


def gather_of(x, indices, sizes, axis, count, layout="packed", out_layout="packed", indices_layout="packed"):
    return dml.DML_GATHER_OPERATOR_DESC(
        InputTensor=like(x, layout),
        IndicesTensor=like(indices, indices_layout),
        OutputTensor=output(like(x).DataType, sizes, out_layout),
        Axis=axis,
        IndexDimensions=count,
    )


def elements_of(x, indices, axis, layout="packed", out_layout="packed"):
    return dml.DML_GATHER_ELEMENTS_OPERATOR_DESC(
        InputTensor=like(x, layout),
        IndicesTensor=like(indices),
        OutputTensor=output(like(x).DataType, indices.shape, out_layout),
        Axis=axis,
    )


def nd_of(x, indices, sizes, input_count, indices_count, batches=None, layout="packed", out_layout="packed"):
    common = {
        "InputTensor": like(x, layout),
        "IndicesTensor": like(indices),
        "OutputTensor": output(like(x).DataType, sizes, out_layout),
        "InputDimensionCount": input_count,
        "IndicesDimensionCount": indices_count,
    }
    if batches is None:
        return dml.DML_GATHER_ND_OPERATOR_DESC(**common)
    return dml.DML_GATHER_ND1_OPERATOR_DESC(BatchDimensionCount=batches, **common)


def both(device, desc, x, indices):
    return run(device, desc, {"InputTensor": x, "IndicesTensor": indices})["OutputTensor"]


ROWS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
NINE = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3)


@pytest.mark.parametrize(
    "x, indices, axis, count, expected",
    [
        (np.array([11, 12, 13, 14], np.float32), [3, 1, 3, 0, 2], 0, 1, [14, 12, 14, 11, 13]),
        (ROWS, [[0, 1, 1, 2]], 0, 1, [[1, 2], [3, 4], [3, 4], [5, 6]]),
        (ROWS, [[1, 0]], 1, 2, [[2, 1], [4, 3], [6, 5]]),
        (NINE, [[[0, 2]]], 2, 2, [[[1, 3]], [[4, 6]], [[7, 9]]]),
        (ROWS[None], [[[0, 1], [1, 2]]], 1, 2, [[[1, 2], [3, 4]], [[3, 4], [5, 6]]]),
    ],
)
def test_gather_page_examples(device, x, indices, axis, count, expected):
    indices, expected = np.array(indices, np.uint32), np.array(expected, np.float32)
    assert_exact(both(device, gather_of(x, indices, expected.shape, axis, count), x, indices), expected)


@pytest.mark.parametrize("dtype, layout, out_layout, axis", cycled([2, 3, 4]))
def test_gather(device, dtype, layout, out_layout, axis):
    x = numbers(dtype, (1, 1, 3, 4, 5))
    indices = np.random.default_rng(axis).integers(-x.shape[axis], x.shape[axis], (1, 1, 2, 1, 3))
    # the indices without two leading dimensions of size 1
    expected = np.take(as_read(x, layout)[0, 0], indices[0, 0].astype(int), axis - 2)
    desc = gather_of(x, indices, expected.shape, axis, 3, layout, out_layout, "padded")
    assert_exact(both(device, desc, x, indices), expected)


@pytest.mark.parametrize("rank", range(1, 9))
def test_gather_every_dimension_count(device, rank):
    sizes = (2, 3, 1, 2, 2, 1, 2, 4)[-rank:]
    x = numbers("FLOAT32", sizes, rank)
    for axis in {0, rank // 2, rank - 1}:
        indices = np.random.default_rng(rank).integers(0, sizes[axis], 5).astype(np.uint32)
        indices = indices.reshape((1,) * (rank - 1) + (5,))
        expected = np.take(x, indices.reshape(-1), axis)
        assert_exact(both(device, gather_of(x, indices, expected.shape, axis, 1), x, indices), expected)


def test_gather_of_a_single_index(device):
    """With IndexDimensions 0 the axis is removed, and a leading one is added."""
    x, indices = numbers("INT32", (3, 4)), np.array([[2]], np.int32)
    assert_exact(both(device, gather_of(x, indices, (1, 4), 0, 0), x, indices), x[2:3])
    assert_exact(both(device, gather_of(x, indices, (1, 3), 1, 0), x, indices), x[None, :, 2])


@pytest.mark.parametrize("index_type", INDEX_TYPES)
def test_indices_count_from_the_end_and_stay_inside(device, index_type):
    """Negative indices count from the end. The reference leaves indices out of range undefined; here they select the
    nearest element."""
    x = np.arange(10, 15, dtype=np.float32)
    limits = np.iinfo(NUMPY_INDEX[index_type])
    given, expected = [0, 4, 5, limits.max], [10, 14, 14, 14]
    if limits.min < 0:
        given += [-1, -5, -6, limits.min]
        expected += [14, 10, 10, 10]
    if limits.bits == 64:
        given += [2**32, 2**32 + 1]
        expected += [14, 14]
        if limits.min < 0:
            given += [-(2**32), -(2**32) - 1, -(2**32) + 1]
            expected += [10, 10, 10]
    indices = np.array(given, NUMPY_INDEX[index_type])
    values = np.array(expected, np.float32)
    assert_exact(both(device, gather_of(x, indices, indices.shape, 0, 1), x, indices), values)
    assert_exact(both(device, elements_of(x, indices, 0), x, indices), values)


# --- GATHER_ELEMENTS


def test_gather_elements_page_example(device):
    x = np.arange(1, 10, dtype=np.float32).reshape(3, 3)
    indices = np.array([[1, 2, 0], [2, 0, 0]], np.uint32)
    assert_exact(both(device, elements_of(x, indices, 0), x, indices), np.array([[4, 8, 3], [7, 2, 3]], np.float32))


@pytest.mark.parametrize("dtype, layout, out_layout, axis", cycled([0, 1, 2]))
def test_gather_elements(device, dtype, layout, out_layout, axis):
    x = numbers(dtype, (3, 4, 5))
    sizes = tuple(7 if d == axis else size for d, size in enumerate(x.shape))
    index_type = INDEX_TYPES[(axis + len(layout)) % 4]
    low = 0 if index_type.startswith("U") else -x.shape[axis]
    indices = np.random.default_rng(axis).integers(low, x.shape[axis], sizes).astype(NUMPY_INDEX[index_type])
    expected = np.take_along_axis(as_read(x, layout), indices.astype(np.int64) % x.shape[axis], axis)
    assert_exact(both(device, elements_of(x, indices, axis, layout, out_layout), x, indices), expected)


@pytest.mark.parametrize("rank", range(1, 9))
def test_gather_elements_every_dimension_count(device, rank):
    x = numbers("INT8", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:], rank)
    axis = rank // 2
    sizes = tuple(3 if d == axis else size for d, size in enumerate(x.shape))
    indices = np.random.default_rng(rank).integers(0, x.shape[axis], sizes).astype(np.uint32)
    assert_exact(both(device, elements_of(x, indices, axis), x, indices), np.take_along_axis(x, indices, axis))


# --- GATHER_ND


def gathered_nd(x, indices, batches=0):
    """Gather tuple by tuple; x and indices have no leading dimensions of size 1."""
    tuples = indices.shape[:-1]
    result = np.zeros((*tuples, *x.shape[batches + indices.shape[-1] :]), x.dtype)
    for place in np.ndindex(*tuples):
        result[place] = x[(*place[:batches], *(int(k) for k in indices[place]))]
    return result


CUBE = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)


@pytest.mark.parametrize(
    "x, indices, input_count, indices_count, batches, expected",
    [
        (CUBE[0, 0], [[1], [0]], 2, 2, None, [[2, 3], [0, 1]]),
        (CUBE, [[[[0, 1], [1, 0]]]], 3, 2, None, [[[[2, 3], [4, 5]]]]),
        (CUBE[0, 0], [[1], [0]], 2, 2, 0, [[2, 3], [0, 1]]),
        (np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2),
         [[[[0, 0], [1, 1]], [[1, 1], [0, 0]], [[0, 1], [1, 0]]]], 3, 3, 1, [[[[0, 3], [7, 4], [9, 10]]]]),
    ],
)  # fmt: skip
def test_gather_nd_page_examples(device, x, indices, input_count, indices_count, batches, expected):
    indices, expected = np.array(indices, np.uint32), np.array(expected, np.float32)
    desc = nd_of(x, indices, expected.shape, input_count, indices_count, batches)
    assert_exact(both(device, desc, x, indices), expected)


@pytest.mark.parametrize("dtype, layout, out_layout, tuple_size", cycled([1, 2, 4]))
def test_gather_nd(device, dtype, layout, out_layout, tuple_size):
    x = numbers(dtype, (3, 2, 4, 5))
    index_type = INDEX_TYPES[(tuple_size + len(dtype)) % 4]
    rng = np.random.default_rng(tuple_size)
    low = 0 if index_type.startswith("U") else -2
    indices = rng.integers(low, 2, (1, 1, 6, tuple_size)).astype(NUMPY_INDEX[index_type])
    expected = gathered_nd(as_read(x, layout), indices[0, 0])
    expected = expected.reshape((1,) * (4 - expected.ndim) + expected.shape)
    for batches in (None, 0):
        desc = nd_of(x, indices, expected.shape, 4, 2, batches, layout, out_layout)
        assert_exact(both(device, desc, x, indices), expected)


@pytest.mark.parametrize("batches", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["FLOAT32", "UINT8", "INT64"])
def test_gather_nd1_batches(device, dtype, batches):
    x = numbers(dtype, (1, 2, 3, 4, 2))
    indices = np.random.default_rng(batches).integers(-2, 2, (1, 2, 3, 3, 1))
    expected = gathered_nd(x[0], indices[0], batches)
    if expected.ndim > 5:
        refuse(nd_of(x, indices, x.shape, 4, 4, batches), "no more dimensions")
        return
    expected = expected.reshape((1,) * (5 - expected.ndim) + expected.shape)
    assert_exact(both(device, nd_of(x, indices, expected.shape, 4, 4, batches), x, indices), expected)


@pytest.mark.parametrize("rank", range(1, 9))
def test_gather_nd_every_dimension_count(device, rank):
    x = numbers("FLOAT32", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:], rank)
    # A single index tuple over all dimensions if the rank is odd, else over the first half of them.
    size = rank if rank % 2 else rank // 2
    tuple_ = np.array([n - 1 for n in x.shape[:size]], np.uint32).reshape((1,) * (rank - 1) + (size,))
    expected = x[tuple(tuple_.reshape(-1))]
    expected = np.asarray(expected).reshape((1,) * (rank - expected.ndim) + expected.shape)
    for batches in (None, 0):
        assert_exact(both(device, nd_of(x, tuple_, expected.shape, rank, 1, batches), x, tuple_), expected)


@pytest.mark.parametrize("dtype", ["FLOAT64", "FLOAT32", "FLOAT16", "UINT8"])
def test_rows_of_whole_vectors(device, dtype):
    """An invocation moves sixteen bytes of these rows at a time."""
    x = numbers(dtype, (5, 3, 64))
    indices = np.random.default_rng(0).integers(-5, 5, (1, 2, 7))
    expected = x[indices[0, 0]]
    one_row = indices[:, :1]
    assert_exact(both(device, gather_of(x, one_row, expected.shape, 0, 1), x, one_row), expected)
    tuples = np.random.default_rng(1).integers(-3, 3, (1, 9, 2))
    expected = gathered_nd(x, tuples[0])[None]
    assert_exact(both(device, nd_of(x, tuples, expected.shape, 3, 2), x, tuples), expected)
