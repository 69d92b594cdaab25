"""The suite's layouts: arrays to bytes and back, with checked gaps, for every element width."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.conformance.layouts import LAYOUTS, UNTOUCHED, from_bytes, gaps_touched, laid_out, repeated, to_bytes
from dml.conformance.values import Values
from dml.tensors import ELEMENT_BITS, UINT2

#: DirectML's data types and their bits.
BITS = {kind: bits for kind, bits in ELEMENT_BITS.items() if kind is not UINT2}


def described(kind, sizes, layout):
    x = dml.DML_BUFFER_TENSOR_DESC(kind, sizes)
    return dict(laid_out(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x), layout).inputs())["InputTensor"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(5,), (2, 3), (1, 4, 3), (2, 1, 3, 2)])
@pytest.mark.parametrize("kind", BITS)
def test_elements_come_back_and_gaps_are_watched(kind, sizes, layout):
    tensor = described(kind, sizes, layout)
    array = repeated(Values(0, edges=True).fill(tensor), tensor)
    data = to_bytes(array, tensor)
    assert from_bytes(data, tensor).tobytes() == array.tobytes()
    assert gaps_touched(data, tensor) is None


@pytest.mark.parametrize("kind", [kind for kind, bits in BITS.items() if bits != 4])
def test_a_byte_written_into_a_gap_is_found(kind):
    tensor = described(kind, (2, 3), "padded")
    data = to_bytes(np.zeros((2, 3), tensor.dtype), tensor)
    gap = 3 * tensor.element_bits // 8  # bytes of the gap after the first row
    data[gap] ^= 1
    assert gaps_touched(data, tensor) == gap


def test_a_nibble_written_into_a_gap_is_found():
    tensor = described(dml.DML_TENSOR_DATA_TYPE_UINT4, (2, 3), "padded")
    data = to_bytes(np.zeros((2, 3), tensor.dtype), tensor)
    assert data[1] >> 4 == UNTOUCHED >> 4  # the fourth element of the first row
    data[1] &= 15
    assert gaps_touched(data, tensor) == 1


@pytest.mark.parametrize("kind", [kind for kind, bits in BITS.items() if bits < 32])
def test_padding_of_the_last_word_may_be_written(kind):
    tensor = described(kind, (3, 1), "packed")
    data = to_bytes(np.zeros((3, 1), tensor.dtype), tensor)
    end = 3 * tensor.element_bits
    data[end // 8] &= (1 << end % 8) - 1
    data[-1] = 0
    assert gaps_touched(data, tensor) is None


def test_broadcast_repeats_only_inputs():
    x = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1, 2, 3))
    desc = laid_out(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x), "broadcast")
    assert dict(desc.inputs())["InputTensor"].Strides == (6, 0, 1)
    assert dict(desc.outputs())["OutputTensor"].is_packed
    array = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    assert repeated(array, dict(desc.inputs())["InputTensor"]).tolist() == [[[0, 1, 2], [0, 1, 2]]]


def test_mixed_layouts_differ_from_tensor_to_tensor_and_are_the_same_each_time():
    x = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3, 4))
    row = dml.DML_BUFFER_TENSOR_DESC(x.DataType, x.Sizes, (0, 0, 1))
    found = set()
    for alpha in range(40):
        desc = dml.DML_GEMM_OPERATOR_DESC(x, row, x, x, 0, 0, float(alpha), 1.0, None)
        mixed = laid_out(desc, "mixed")
        assert mixed == laid_out(desc, "mixed")
        strides = {name: tensor.strides for name, tensor in (*mixed.inputs(), *mixed.outputs())}
        assert strides["BTensor"][:2] == (0, 0)
        assert 0 not in strides["OutputTensor"]
        found.add(tuple(strides.values()))
    assert len(found) > 20
    assert any(a != c and 0 in a for a, _, c, _ in found)


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "mixed"])
def test_dimensions_with_stride_0_stay_repeated(layout):
    x = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3, 4))
    row = dml.DML_BUFFER_TENSOR_DESC(x.DataType, x.Sizes, (0, 0, 1))
    desc = laid_out(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, row, x), layout)
    of_row = {"padded": (0, 0, 1), "broadcast": (0, 0, 0)}
    assert dict(desc.inputs())["BTensor"].strides == of_row.get(layout, (0, 0, 1))
    column = dml.DML_BUFFER_TENSOR_DESC(x.DataType, x.Sizes, (3, 1, 0))
    desc = laid_out(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, column, x), layout)
    expected = {"packed": (3, 1, 0), "padded": (7, 2, 0), "permuted": (1, 2, 0), "broadcast": (0, 1, 0)}
    assert dict(desc.inputs())["BTensor"].strides == expected[layout]


def test_values_are_the_same_for_a_seed_and_edges_are_special():
    tensor = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1000,))
    one, other = (Values(5, edges=True).fill(tensor) for _ in range(2))
    assert one.tobytes() == other.tobytes()
    assert one.tobytes() != Values(6, edges=True).fill(tensor).tobytes()
    assert np.isnan(one).any()
    assert np.isinf(one).any()
    assert ((one != 0) & (np.abs(one) < np.finfo(np.float32).tiny)).any()
    assert (np.signbit(one) & (one == 0)).any()
    assert np.isfinite(Values(5, edges=True).finite(tensor)).all()
    assert np.abs(Values(5).fill(tensor)).max() <= 4
