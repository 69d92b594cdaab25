"""FILL_VALUE_CONSTANT, FILL_VALUE_SEQUENCE, DIAGONAL_MATRIX, DIAGONAL_MATRIX1, ONE_HOT and VALUE_SCALE_2D."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import INDEX_TYPES, NUMPY_INDEX, TYPES, TYPES_AND_LAYOUTS, as_read, like, numbers, output, run
from test_paddings_values import union

import dml
from harness import assert_exact, assert_ulp

OUTPUT_LAYOUTS = [(dtype, "packed") for dtype in TYPES] + [
    ("FLOAT32", "padded"),
    ("INT8", "reversed"),
    ("UINT64", "padded"),
]


def kind(dtype):
    return dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{dtype}"]


def constant_of(dtype, sizes, value, layout="packed"):
    return dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(
        OutputTensor=output(dtype, sizes, layout), ValueDataType=kind(dtype), Value=union(value, dtype)
    )


def sequence_of(dtype, sizes, start, delta, layout="packed"):
    return dml.DML_FILL_VALUE_SEQUENCE_OPERATOR_DESC(
        OutputTensor=output(dtype, sizes, layout),
        ValueDataType=kind(dtype),
        ValueStart=union(start, dtype),
        ValueDelta=union(delta, dtype),
    )


def test_constant_page_example(device):
    result = run(device, constant_of("FLOAT32", (1, 1, 2, 4), 13.0), {})["OutputTensor"]
    assert_exact(result, np.full((1, 1, 2, 4), 13, np.float32))


@pytest.mark.parametrize("dtype, layout", OUTPUT_LAYOUTS)
def test_constant(device, dtype, layout):
    numpy_type = dml.numpy_dtype(kind(dtype))
    value = -1.7 if dtype.startswith("FLOAT") else int(np.iinfo(numpy_type).max) - 5
    result = run(device, constant_of(dtype, (3, 5), value, layout), {})["OutputTensor"]
    assert_exact(result, np.full((3, 5), value, numpy_type))


@pytest.mark.parametrize("rank", range(1, 9))
def test_fills_every_dimension_count(device, rank):
    sizes = (2, 1, 2, 3, 1, 2, 2, 5)[-rank:]
    result = run(device, constant_of("UINT16", sizes, 500), {})["OutputTensor"]
    assert_exact(result, np.full(sizes, 500, np.uint16))
    result = run(device, sequence_of("INT32", sizes, -3, 7, "reversed"), {})["OutputTensor"]
    assert_exact(result, (-3 + 7 * np.arange(np.prod(sizes))).astype(np.int32).reshape(sizes))


def test_sequence_page_examples(device):
    result = run(device, sequence_of("FLOAT32", (1, 1, 1, 3), 3.0, 2.0), {})["OutputTensor"]
    assert_exact(result, np.array([[[[3, 5, 7]]]], np.float32))
    # A negative delta of an unsigned type is given modulo 2^8.
    result = run(device, sequence_of("UINT8", (1, 1, 2, 2), 10, 256 - 2), {})["OutputTensor"]
    assert_exact(result, np.array([[[[10, 8], [6, 4]]]], np.uint8))


@pytest.mark.parametrize("dtype, layout", [case for case in OUTPUT_LAYOUTS if case[0] != "FLOAT64"])
def test_sequence(device, dtype, layout):
    sizes = (4, 3, 27)
    i = np.arange(np.prod(sizes)).reshape(sizes)
    if dtype.startswith("FLOAT"):
        result = run(device, sequence_of(dtype, sizes, -3.5, 0.1, layout), {})["OutputTensor"]
        start, delta = (float(dml.numpy_dtype(kind(dtype)).type(v)) for v in (-3.5, 0.1))
        assert_ulp(result, start + i * delta, 0.502, "rounded once, from a sum more precise than float32")
        return
    numpy_type = dml.numpy_dtype(kind(dtype))
    bits = numpy_type.itemsize * 8
    start, delta = 5, (2**bits - 3 if dtype.startswith("U") else -3) if bits < 64 else 2**61 + 3
    result = run(device, sequence_of(dtype, sizes, start, delta, layout), {})["OutputTensor"]
    exact = np.array([(start + int(k) * delta) % 2**bits for k in i.reshape(-1)], np.uint64).reshape(sizes)
    assert_exact(result, exact.astype(f"u{numpy_type.itemsize}").view(numpy_type))


def test_long_float_sequences_keep_their_low_bits(device):
    """Far from the start, i * delta needs more bits than a float has."""
    count = 1 << 20
    result = run(device, sequence_of("FLOAT32", (count,), -123456.7, 0.12345678), {})["OutputTensor"]
    start, delta = float(np.float32(-123456.7)), float(np.float32(0.12345678))
    assert_ulp(result, start + np.arange(count) * delta, 0.51, "rounded once, from a sum more precise than float32")


def test_sequences_of_infinities(device):
    result = run(device, sequence_of("FLOAT32", (3,), float("inf"), 1.0), {})["OutputTensor"]
    assert_exact(result, np.full(3, np.inf, np.float32))


# --- diagonals


def diagonal_of(dtype, sizes, offset, value, layout="packed"):
    return dml.DML_DIAGONAL_MATRIX_OPERATOR_DESC(OutputTensor=output(dtype, sizes, layout), Offset=offset, Value=value)


def diagonal1_of(dtype, sizes, value, begin, end, x=None, layout="packed", out_layout="packed"):
    return dml.DML_DIAGONAL_MATRIX1_OPERATOR_DESC(
        InputTensor=None if x is None else like(x, layout),
        OutputTensor=output(dtype, sizes, out_layout),
        ValueDataType=kind(dtype),
        Value=union(value, dtype),
        DiagonalFillBegin=begin,
        DiagonalFillEnd=end,
    )


@pytest.mark.parametrize(
    "sizes, offset", [((1, 1, 3, 3), 0), ((1, 1, 3, 3), 1), ((1, 1, 3, 2), -1), ((1, 1, 3, 2), -3)]
)
def test_diagonal_page_examples(device, sizes, offset):
    expected = np.eye(*sizes[2:], offset, dtype=np.float32).reshape(sizes)
    assert_exact(run(device, diagonal_of("FLOAT32", sizes, offset, 1.0), {})["OutputTensor"], expected)


@pytest.mark.parametrize("dtype, layout", OUTPUT_LAYOUTS)
def test_diagonal(device, dtype, layout):
    numpy_type = dml.numpy_dtype(kind(dtype))
    result = run(device, diagonal_of(dtype, (2, 3, 5), 2, 10.6, layout), {})["OutputTensor"]
    value = np.float32(10.6) if dtype.startswith("FLOAT") else 10
    expected = np.broadcast_to(np.eye(3, 5, 2), (2, 3, 5)) * np.float64(value)
    assert_exact(result, expected.astype(numpy_type))


@pytest.mark.parametrize("offset", [2**31 - 1, -(2**31)])
def test_diagonals_far_outside(device, offset):
    result = run(device, diagonal_of("FLOAT32", (4, 4), offset, 1.0), {})["OutputTensor"]
    assert_exact(result, np.zeros((4, 4), np.float32))


MATRIX = np.array([[4, 7, 3, 7, 9], [1, 2, 8, 6, 9], [9, 4, 1, 8, 7], [4, 3, 4, 2, 4]], np.float32)


@pytest.mark.parametrize(
    "value, begin, end, x, expected",
    [
        # The page says Value 7 here, but shows ones.
        (1, 0, 1, None, np.eye(4, 5)),
        (7, 0, 3, None, [[7, 7, 7, 0, 0], [0, 7, 7, 7, 0], [0, 0, 7, 7, 7], [0, 0, 0, 7, 7]]),
        (0, -(2**31), 1, MATRIX, [[0, 7, 3, 7, 9], [0, 0, 8, 6, 9], [0, 0, 0, 8, 7], [0, 0, 0, 0, 4]]),
        (0, 1, 0, MATRIX, [[4, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 2, 0]]),
    ],
)
def test_diagonal1_page_examples(device, value, begin, end, x, expected):
    desc = diagonal1_of("FLOAT32", (4, 5), value, begin, end, x)
    result = run(device, desc, {} if x is None else {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.array(expected, np.float32))


@pytest.mark.parametrize("begin, end", [(-1, 2), (3, -2), (0, 0), (2**31 - 1, -(2**31))])
@pytest.mark.parametrize("dtype, layout, out_layout", [*TYPES_AND_LAYOUTS[:3], *TYPES_AND_LAYOUTS[11:]])
def test_diagonal1(device, dtype, layout, out_layout, begin, end):
    x = numbers(dtype, (3, 2, 4, 5))
    distance = np.arange(5)[None, :] - np.arange(4)[:, None]
    use = (distance >= begin) & (distance < end) if end >= begin else (distance < end) | (distance >= begin)
    desc = diagonal1_of(dtype, x.shape, 3, begin, end, x, layout, out_layout)
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.where(use, x.dtype.type(3), as_read(x, layout)))


@pytest.mark.parametrize("dtype", TYPES)
def test_diagonal1_every_data_type(device, dtype):
    x = numbers(dtype, (2, 3, 4))
    result = run(device, diagonal1_of(dtype, (2, 3, 4), 9, -1, 1, x), {"InputTensor": x})["OutputTensor"]
    distance = np.arange(4)[None, :] - np.arange(3)[:, None]
    assert_exact(result, np.where((distance >= -1) & (distance < 1), x.dtype.type(9), x))


# --- ONE_HOT


def one_hot_of(indices, values, sizes, axis, layout="packed", out_layout="packed"):
    return dml.DML_ONE_HOT_OPERATOR_DESC(
        IndicesTensor=like(indices, layout),
        ValuesTensor=like(values),
        OutputTensor=output(like(values).DataType, sizes, out_layout),
        Axis=axis,
    )


def one_hot(indices, off, on, sizes, axis):
    size = sizes[axis]
    hot = np.where(indices < 0, indices.astype(object) + size, indices.astype(object))
    places = np.arange(size).reshape([-1 if d == axis else 1 for d in range(len(sizes))])
    return np.where((places == hot).astype(bool), on, off)


@pytest.mark.parametrize(
    "indices, values, axis, expected",
    [
        (np.array([0, 3, 2], np.uint32).reshape(1, 1, 3, 1), [[[[0, 1]]]], 3,
         [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]),
        (np.array([0, 2, 1, 0], np.uint32).reshape(1, 1, 1, 4), [[[[0, 1]]]], 2,
         [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]),
        (np.array([0, 3, 2], np.uint32).reshape(1, 1, 3, 1), [[[[4], [2], [9]]]], 3,
         [[2, 4, 4, 4], [4, 4, 4, 2], [4, 4, 2, 4]]),
        (np.array([-3, 100, 3], np.int32).reshape(1, 1, 3, 1), [[[[0, 1]]]], 3,
         [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]),
    ],
)  # fmt: skip
def test_one_hot_page_examples(device, indices, values, axis, expected):
    values = np.array(values, np.float32)
    desc = one_hot_of(indices, values, (1, 1, 3, 4), axis)
    result = run(device, desc, {"IndicesTensor": indices, "ValuesTensor": values})["OutputTensor"]
    assert_exact(result, np.array([[expected]], np.float32))


@pytest.mark.parametrize("index_type", INDEX_TYPES)
@pytest.mark.parametrize("dtype, layout, out_layout", [*TYPES_AND_LAYOUTS[:11:3], *TYPES_AND_LAYOUTS[11:]])
def test_one_hot(device, dtype, layout, out_layout, index_type):
    sizes, axis = (4, 7, 3), 1
    low = 0 if index_type.startswith("U") else -9
    indices = np.random.default_rng(1).integers(low, 9, (4, 1, 3)).astype(NUMPY_INDEX[index_type])
    # At and above the size the index is ignored, however large.
    indices[0, 0, 0] = 7
    indices[1, 0, 0] = np.iinfo(indices.dtype).max
    indices[2, 0, 0] = np.iinfo(indices.dtype).min
    values = np.array([[3], [11], [40]]).astype(numbers(dtype, (1,)).dtype).reshape(1, 3, 1)
    desc = one_hot_of(indices, values, sizes, axis, layout, out_layout)
    result = run(device, desc, {"IndicesTensor": indices, "ValuesTensor": values})["OutputTensor"]
    expected = one_hot(as_read(indices, layout), values[0, 0, 0], values[0, 1, 0], sizes, axis)
    assert_exact(result, expected.astype(values.dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_one_hot_every_data_type(device, dtype):
    values = numbers(dtype, (1, 2), 3)
    indices = np.array([[1], [0], [2]], np.uint32)
    result = run(device, one_hot_of(indices, values, (3, 3), 1), {"IndicesTensor": indices, "ValuesTensor": values})
    assert_exact(result["OutputTensor"], one_hot(indices, values[0, 0], values[0, 1], (3, 3), 1).astype(values.dtype))


@pytest.mark.parametrize("rank", range(1, 9))
def test_one_hot_every_dimension_count(device, rank):
    sizes = (2, 1, 3, 1, 2, 1, 2, 4)[-rank:]
    axis = rank // 2
    shape = tuple(1 if d == axis else size for d, size in enumerate(sizes))
    indices = np.random.default_rng(rank).integers(-3, 4, shape)
    values = np.array([5.0, 6.0], np.float32).reshape((1,) * (rank - 1) + (2,))
    desc = one_hot_of(indices, values, sizes, axis)
    result = run(device, desc, {"IndicesTensor": indices, "ValuesTensor": values})["OutputTensor"]
    assert_exact(result, one_hot(indices, 5.0, 6.0, sizes, axis).astype(np.float32))


# --- VALUE_SCALE_2D


def scale_of(x, scale, bias, layout="packed", out_layout="packed"):
    return dml.DML_VALUE_SCALE_2D_OPERATOR_DESC(
        InputTensor=like(x, layout), OutputTensor=output(like(x).DataType, x.shape, out_layout), Scale=scale, Bias=bias
    )


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    "dtype, layout, out_layout",
    [("FLOAT32", "packed", "packed"), ("FLOAT16", "packed", "nhwc"), ("FLOAT32", "nhwc", "padded"),
     ("FLOAT16", "broadcast", "packed")],
)  # fmt: skip
def test_value_scale_2d(device, channels, dtype, layout, out_layout):
    x = np.abs(numbers(dtype, (2, channels, 3, 5)))
    bias = (0.5, 1.5, 2.25)[:channels]
    result = run(device, scale_of(x, 1.25, bias, layout, out_layout), {"InputTensor": x})["OutputTensor"]
    expected = as_read(x, layout).astype(np.float64) * 1.25 + np.reshape(bias, (channels, 1, 1))
    assert_ulp(result, expected, 1, "a product and a sum of positive numbers, each rounded")
