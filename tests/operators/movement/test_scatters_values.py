"""SCATTER (SCATTER_ELEMENTS) and SCATTER_ND: exact; of colliding updates, the last in row-major order wins."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import INDEX_TYPES, NUMPY_INDEX, as_read, cycled, like, numbers, output, run

import dml
from harness import assert_exact


def scatter_of(x, indices, updates, axis, layout="packed", out_layout="packed", updates_layout="packed"):
    return dml.DML_SCATTER_OPERATOR_DESC(
        InputTensor=like(x, layout),
        IndicesTensor=like(indices),
        UpdatesTensor=like(updates, updates_layout),
        OutputTensor=output(like(x).DataType, x.shape, out_layout),
        Axis=axis,
    )


def scatter_nd_of(x, indices, updates, input_count, indices_count, layout="packed", out_layout="packed"):
    return dml.DML_SCATTER_ND_OPERATOR_DESC(
        InputTensor=like(x, layout),
        IndicesTensor=like(indices),
        UpdatesTensor=like(updates),
        OutputTensor=output(like(x).DataType, x.shape, out_layout),
        InputDimensionCount=input_count,
        IndicesDimensionCount=indices_count,
    )


def all_three(device, desc, x, indices, updates):
    tensors = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
    return run(device, desc, tensors)["OutputTensor"]


def scattered(x, indices, updates, axis):
    result = x.copy()
    for place in np.ndindex(*indices.shape):
        index = int(indices[place])
        if -x.shape[axis] <= index < x.shape[axis]:
            result[(*place[:axis], index, *place[axis + 1 :])] = updates[place]
    return result


def test_scatter_page_examples(device):
    x = np.arange(5, dtype=np.float32)
    indices, updates = np.array([3, 1, 3, 0], np.uint32), np.array([5, 6, 7, 8], np.float32)
    expected = np.array([8, 6, 2, 7, 4], np.float32)
    assert_exact(all_three(device, scatter_of(x, indices, updates, 0), x, indices, updates), expected)
    # The page gives the input sizes {2,3}, but shows three rows.
    x = np.zeros((3, 3), np.float32)
    indices = np.array([[1, 0, 2], [0, 2, 1]], np.uint32)
    updates = np.array([[10, 11, 12], [20, 21, 22]], np.float32)
    expected = np.array([[20, 11, 0], [10, 0, 22], [0, 21, 12]], np.float32)
    assert_exact(all_three(device, scatter_of(x, indices, updates, 0), x, indices, updates), expected)


def test_scatter_elements_is_scatter():
    assert dml.DML_SCATTER_ELEMENTS_OPERATOR_DESC is dml.DML_SCATTER_OPERATOR_DESC


@pytest.mark.parametrize("dtype, layout, out_layout, axis", cycled([0, 1, 2]))
def test_scatter(device, dtype, layout, out_layout, axis):
    """More updates than positions along the axis, so many collide. Some are out of range and change nothing."""
    x = numbers(dtype, (3, 4, 5))
    sizes = tuple(9 if d == axis else size for d, size in enumerate(x.shape))
    index_type = INDEX_TYPES[(axis + len(dtype) + len(layout)) % 4]
    low = 0 if index_type.startswith("U") else -7
    indices = np.random.default_rng(axis).integers(low, 7, sizes).astype(NUMPY_INDEX[index_type])
    updates = numbers(dtype, sizes, 1)
    desc = scatter_of(x, indices, updates, axis, layout, out_layout, "padded" if axis == 1 else "packed")
    expected = scattered(as_read(x, layout), indices, updates, axis)
    assert_exact(all_three(device, desc, x, indices, updates), expected)


@pytest.mark.parametrize("rank", range(1, 9))
def test_scatter_every_dimension_count(device, rank):
    x = numbers("UINT16", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:], rank)
    axis = rank // 2
    sizes = tuple(3 if d == axis else size for d, size in enumerate(x.shape))
    indices = np.random.default_rng(rank).integers(0, x.shape[axis], sizes).astype(np.uint32)
    updates = numbers("UINT16", sizes, 9)
    result = all_three(device, scatter_of(x, indices, updates, axis), x, indices, updates)
    assert_exact(result, scattered(x, indices, updates, axis))


def test_the_last_of_many_wins_every_time(device):
    """Of 20,000 updates to seven positions, the last wins in every run, regardless of the order of workgroups."""
    rng = np.random.default_rng(0)
    x = np.zeros(7, np.float32)
    indices = rng.integers(0, 7, 20000).astype(np.uint32)
    updates = np.arange(20000, dtype=np.float32)
    expected = scattered(x, indices, updates, 0)
    operator = device.compile_operator(device.create_operator(scatter_of(x, indices, updates, 0)))
    for _ in range(5):
        tensors = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
        assert_exact(operator.dispatch(tensors)["OutputTensor"], expected)


# --- SCATTER_ND


def scattered_nd(x, indices, updates):
    """Scatter tuple by tuple; no array has leading dimensions of size 1."""
    result = x.copy()
    for place in np.ndindex(*indices.shape[:-1]):
        index = tuple(int(k) for k in indices[place])
        if all(-n <= k < n for k, n in zip(index, x.shape, strict=False)):
            result[index] = updates[place]
    return result


def test_scatter_nd_page_example(device):
    # The page omits the leading 1s that make all dimension counts equal, and calls the indices FLOAT32.
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 8)
    indices = np.array([[4], [3], [1], [7]], np.uint32)
    updates = np.array([[9, 10, 11, 12]], np.float32)
    result = all_three(device, scatter_nd_of(x, indices, updates, 1, 2), x, indices, updates)
    assert_exact(result, np.array([[1, 11, 3, 10, 9, 6, 7, 12]], np.float32))


@pytest.mark.parametrize("dtype, layout, out_layout, tuple_size", cycled([1, 2, 3]))
def test_scatter_nd(device, dtype, layout, out_layout, tuple_size):
    x = numbers(dtype, (3, 2, 4))
    index_type = INDEX_TYPES[(tuple_size + len(dtype) + len(layout)) % 4]
    low = 0 if index_type.startswith("U") else -3
    count = 11
    indices = np.random.default_rng(tuple_size).integers(low, 3, (1, count, tuple_size))
    indices = indices.astype(NUMPY_INDEX[index_type])
    updates = numbers(dtype, (count, *x.shape[tuple_size:]), 5)
    expected = scattered_nd(as_read(x, layout), indices[0], updates)
    updates = updates.reshape((1,) * (3 - updates.ndim) + updates.shape)
    desc = scatter_nd_of(x, indices, updates, 3, 2, layout, out_layout)
    assert_exact(all_three(device, desc, x, indices, updates), expected)


def test_scatter_nd_of_an_array_of_tuples(device):
    x = numbers("INT32", (1, 5, 3, 2))
    indices = np.random.default_rng(2).integers(0, 3, (1, 4, 3, 1)).astype(np.int32)
    updates = numbers("INT32", (4, 3, 3, 2), 3)
    result = all_three(device, scatter_nd_of(x, indices, updates, 3, 3), x, indices, updates)
    assert_exact(result[0], scattered_nd(x[0], indices[0], updates))


@pytest.mark.parametrize("rank", range(1, 9))
def test_scatter_nd_every_dimension_count(device, rank):
    """A single index tuple, over all dimensions or the first half of them."""
    x = numbers("FLOAT32", (2, 3, 1, 2, 2, 1, 3, 4)[-rank:], rank)
    size = rank if rank % 2 else rank // 2
    tuple_ = np.array([n - 1 for n in x.shape[:size]], np.uint32).reshape((1,) * (rank - 1) + (size,))
    updates = numbers("FLOAT32", (1,) * size + x.shape[size:], 4)
    expected = x.copy()
    expected[tuple(tuple_.reshape(-1))] = updates.reshape(x.shape[size:])
    assert_exact(all_three(device, scatter_nd_of(x, tuple_, updates, rank, 1), x, tuple_, updates), expected)


@pytest.mark.parametrize("dtype", ["FLOAT64", "FLOAT32", "FLOAT16", "UINT8"])
def test_rows_of_whole_vectors(device, dtype):
    """An invocation moves sixteen bytes of these rows at a time."""
    x, updates = numbers(dtype, (5, 3, 64)), numbers(dtype, (9, 64), 1)
    indices = np.random.default_rng(0).integers(-3, 3, (1, 9, 2))
    desc = scatter_nd_of(x, indices, updates[None], 3, 2)
    assert_exact(all_three(device, desc, x, indices, updates[None]), scattered_nd(x, indices[0], updates))
