"""Tensor descriptions, the small structures, and the arithmetic on sizes and strides."""

from __future__ import annotations

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dml
from dml import DMLError, calc_buffer_tensor_size
from dml.tensors import nearest_float

F32, F16 = dml.DML_TENSOR_DATA_TYPE_FLOAT32, dml.DML_TENSOR_DATA_TYPE_FLOAT16
DATA_TYPES = [kind for kind in dml.DML_TENSOR_DATA_TYPE if kind != dml.DML_TENSOR_DATA_TYPE_UNKNOWN]
sizes = st.lists(st.integers(1, 6), min_size=1, max_size=8)


def test_description_keeps_tuples_and_derives_the_rest():
    tensor = dml.DML_BUFFER_TENSOR_DESC(F16, np.array([2, 3, 5]))
    assert tensor.Sizes == (2, 3, 5)
    assert all(type(size) is int for size in tensor.Sizes)
    assert (tensor.DimensionCount, tensor.rank) == (3, 3)
    assert tensor.TotalTensorSizeInBytes == 60
    assert tensor.Strides is None
    assert tensor.strides == (15, 5, 1)
    assert tensor.element_count == 30
    assert tensor.is_packed
    assert not tensor.owned_by_dml
    assert tensor.dtype == np.float16


def test_description_takes_integers_for_enumerators():
    tensor = dml.DML_BUFFER_TENSOR_DESC(DataType=1, Sizes=[4], Flags=1)
    assert tensor.DataType is F32
    assert tensor.owned_by_dml
    assert tensor == dml.DML_BUFFER_TENSOR_DESC(F32, (4,), Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    assert hash(tensor) == hash(dml.DML_BUFFER_TENSOR_DESC(F32, (4,), Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML))


def test_given_dimension_count_is_checked():
    assert dml.DML_BUFFER_TENSOR_DESC(F32, (1, 2), DimensionCount=2).DimensionCount == 2
    with pytest.raises(DMLError, match=r"DimensionCount: must be 2, found 3"):
        dml.DML_BUFFER_TENSOR_DESC(F32, (1, 2), DimensionCount=3)


def test_given_total_size_is_kept():
    assert dml.DML_BUFFER_TENSOR_DESC(F32, (4,), TotalTensorSizeInBytes=256).TotalTensorSizeInBytes == 256


@pytest.mark.parametrize(
    ("strides", "packed"),
    [((6, 3, 1), True), ((99, 3, 1), True), ((6, 4, 1), False), ((6, 1, 2), False), ((6, 0, 1), False)],
)
def test_is_packed_ignores_strides_of_single_elements(strides, packed):
    assert dml.DML_BUFFER_TENSOR_DESC(F32, (1, 2, 3), strides).is_packed is packed


def test_no_sizes_wait_for_the_validator():
    assert dml.DML_BUFFER_TENSOR_DESC(F32, ()).TotalTensorSizeInBytes == 0
    assert dml.DML_BUFFER_TENSOR_DESC(F32, (2, 3), (1,)).TotalTensorSizeInBytes == 0


def test_tensor_desc_wraps_a_buffer_tensor():
    inner = dml.DML_BUFFER_TENSOR_DESC(F32, (4,))
    assert dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, inner).Desc is inner
    with pytest.raises(DMLError, match="DML_TENSOR_TYPE_BUFFER"):
        dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_INVALID, inner)
    with pytest.raises(DMLError, match="DML_BUFFER_TENSOR_DESC"):
        dml.DML_TENSOR_DESC(dml.DML_TENSOR_TYPE_BUFFER, (4,))


@pytest.mark.parametrize(
    ("data_type", "sizes", "strides", "expected"),
    [
        (F32, (2, 3), None, 24),
        (F16, (3,), None, 8),  # 6 bytes, rounded up to a multiple of 4
        (dml.DML_TENSOR_DATA_TYPE_UINT8, (1, 1, 1, 1), None, 4),
        (dml.DML_TENSOR_DATA_TYPE_INT64, (2, 2), (10, 1), 96),
        (F32, (2, 3), (5, 1), 32),
        (F32, (2, 3), (0, 1), 12),
        (dml.DML_TENSOR_DATA_TYPE_UINT4, (3, 3), None, 8),  # 4.5 bytes
        (dml.DML_TENSOR_DATA_TYPE_INT4, (2, 4), (8, 1), 8),  # 12 half bytes are 6 bytes, rounded up to 8
        (F32, (2**31,), None, 2**33),
    ],
)
def test_calc_buffer_tensor_size(data_type, sizes, strides, expected):
    assert calc_buffer_tensor_size(data_type, sizes, strides) == expected


@given(sizes, st.sampled_from(DATA_TYPES))
def test_packed_strides_change_no_size(sizes, data_type):
    strides = dml.packed_strides(sizes)
    assert strides == tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
    assert calc_buffer_tensor_size(data_type, sizes, strides) == calc_buffer_tensor_size(data_type, sizes)


@given(sizes.filter(lambda sizes: len(sizes) >= 2))
def test_nhwc_strides_are_those_of_a_transposed_array(sizes):
    array = np.zeros([sizes[0], *sizes[2:], sizes[1]], np.uint8)
    moved = np.moveaxis(array, -1, 1)
    assert moved.shape == tuple(sizes)
    strides = dml.nhwc_strides(sizes)
    for axis, size in enumerate(sizes):
        if size > 1:
            assert strides[axis] == moved.strides[axis]


@given(sizes, st.data())
def test_broadcast_strides_equal_numpys(target, data):
    kept = data.draw(st.integers(1, len(target)))
    own = [data.draw(st.sampled_from([1, size])) for size in target[len(target) - kept :]]
    array = np.arange(math.prod(own), dtype=np.int32).reshape(own)
    strides = dml.broadcast_strides(own, target)
    read = np.lib.stride_tricks.as_strided(array, target, [stride * 4 for stride in strides])
    np.testing.assert_array_equal(read, np.broadcast_to(array, target))


@pytest.mark.parametrize(("own", "to"), [((2,), (3,)), ((2, 3), (3,)), ((3, 1), (2, 4))])
def test_sizes_that_do_not_broadcast(own, to):
    with pytest.raises(DMLError, match="do not broadcast"):
        dml.broadcast_strides(own, to)


def test_layout_helpers_refuse_invalid_sizes():
    with pytest.raises(DMLError, match="N and C"):
        dml.nhwc_strides((3,))
    with pytest.raises(DMLError, match="permutation"):
        dml.ordered_strides((2, 3), (0, 0))
    with pytest.raises(DMLError, match="1 strides for 2 sizes"):
        dml.calc_buffer_tensor_size(F32, (2, 3), (1,))


@pytest.mark.parametrize("data_type", DATA_TYPES, ids=lambda kind: kind.name)
def test_numpy_dtypes_round_trip(data_type):
    dtype = dml.numpy_dtype(data_type)
    assert dml.data_type_of(dtype) is data_type
    if dml.element_bits(data_type) >= 8:
        assert dtype.itemsize * 8 == dml.element_bits(data_type)


def test_numpy_dtypes_by_name():
    assert dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE_INT4) == ml_dtypes.int4
    assert dml.data_type_of("float16") is F16
    assert dml.data_type_of(bool) is dml.DML_TENSOR_DATA_TYPE_UINT8
    for wrong, message in (("complex64", "no tensor data type for"), ("no such type", "not a NumPy dtype")):
        with pytest.raises(DMLError, match=message):
            dml.data_type_of(wrong)


@pytest.mark.parametrize("of", [dml.numpy_dtype, dml.element_bits, dml.DML_SCALAR_UNION(Float32=1.5).value])
@pytest.mark.parametrize("wrong", [dml.DML_TENSOR_DATA_TYPE_UNKNOWN, 99, "FLOT32", None, []])
def test_an_unknown_data_type_has_no_properties(of, wrong):
    with pytest.raises(DMLError, match=r"data[ _]type"):
        of(wrong)


def test_scalar_union_is_eight_bytes_read_in_any_type():
    union = dml.DML_SCALAR_UNION(Float32=1.5)
    assert union.Bytes == struct.pack("<f", 1.5) + bytes(4)
    assert union.Float32 == 1.5
    assert union.UInt32 == 0x3FC00000
    assert union.UInt16 == 0
    assert union.value(F32) == 1.5
    assert dml.DML_SCALAR_UNION(Int8=-1).UInt64 == 255
    assert dml.DML_SCALAR_UNION(UInt16=0x3C00).value(F16) == 1.0
    assert dml.DML_SCALAR_UNION(UInt8=0xF9).value(dml.DML_TENSOR_DATA_TYPE_INT4) == -7
    assert dml.DML_SCALAR_UNION(UInt8=0xF9).value(dml.DML_TENSOR_DATA_TYPE_UINT4) == 9
    assert dml.DML_SCALAR_UNION(Bytes=b"\1") == dml.DML_SCALAR_UNION(UInt64=1)
    assert hash(dml.DML_SCALAR_UNION(Bytes=b"\1")) == hash(dml.DML_SCALAR_UNION(Int32=1))
    assert eval(repr(union), vars(dml)) == union


@pytest.mark.parametrize(
    ("member", "data_type"),
    [(kind.name.removeprefix("DML_TENSOR_DATA_TYPE_"), kind) for kind in DATA_TYPES
     if kind != F16 and dml.element_bits(kind) >= 8],
)  # fmt: skip
def test_every_member_reads_back(member, data_type):
    name = member.replace("UINT", "UInt").replace("FLOAT", "Float").replace("INT", "Int")
    assert dml.DML_SCALAR_UNION(**{name: 100}).value(data_type) == 100
    assert getattr(dml.DML_SCALAR_UNION(**{name: 100}), name) == 100


@pytest.mark.parametrize(
    "members", [{}, {"Int8": 1, "Int16": 1}, {"Float16": 1}, {"Int8": 128}, {"UInt8": -1}, {"Int32": 1.5},
                {"Bytes": bytes(9)}, {"Bytes": 4}, {"Float32": "x"}]
)  # fmt: skip
def test_scalar_union_refuses(members):
    with pytest.raises(DMLError, match="DML_SCALAR_UNION"):
        dml.DML_SCALAR_UNION(**members)


def test_the_nearest_half() -> None:
    """The argument is a NumPy scalar class, annotated as a generic class, which the argument check must accept."""
    assert nearest_float(2049, np.float16) == 2048
    assert nearest_float(1e5, np.float16) == float("inf")
    with pytest.raises(dml.DMLError, match="dtype"):
        nearest_float(1.0, int)
