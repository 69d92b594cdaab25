"""The data type of 2 bits that DirectML lacks: only DEQUANTIZE accepts it, and no list of data types includes it."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.api.arrays import TensorMemory
from dml.capability.questions import data_types_of
from dml.frontends.dxdispatch.writing import dispatchable
from dml.tensors import UINT2
from dml.validator import validate


def dequantize(**changes: object) -> dml.DML_DEQUANTIZE_OPERATOR_DESC:
    floats = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (3, 8))
    scale = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (3, 2))
    fields = {
        "InputTensor": dml.DML_BUFFER_TENSOR_DESC(UINT2, (3, 8)),
        "QuantizationType": dml.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT,
        "QuantizationTensors": [scale, dml.DML_BUFFER_TENSOR_DESC(UINT2, (3, 2))],
        "OutputTensor": floats,
    }
    return dml.DML_DEQUANTIZE_OPERATOR_DESC(**{**fields, **changes})


def test_dequantize_takes_it() -> None:
    validate(dequantize())
    assert UINT2 not in data_types_of(dml.DML_OPERATOR_DEQUANTIZE, "6_4")


def test_its_output_does_not() -> None:
    two = dml.DML_BUFFER_TENSOR_DESC(UINT2, (3, 8))
    with pytest.raises(dml.DMLError, match=r"DEQUANTIZE.*OutputTensor.*DataType: must be one of .*UINT2"):
        validate(dequantize(OutputTensor=two))
    with pytest.raises(dml.DMLError, match=r"ACTIVATION_RELU.*InputTensor.*DataType: must be one of .*UINT2"):
        validate(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(two, two))


@pytest.mark.parametrize("value", [int(UINT2), "UINT2"])
def test_no_number_or_name_denotes_it(value: object) -> None:
    with pytest.raises(dml.DMLError, match="DataType"):
        dml.DML_BUFFER_TENSOR_DESC(value, (4,))


def test_dxdispatch_cannot_write_it() -> None:
    with pytest.raises(dml.DMLError, match="UINT2: DirectML has no such data type"):
        dispatchable(dequantize())


@pytest.mark.parametrize("sizes, strides", [((7,), None), ((3, 5), None), ((3, 5), (8, 1)), ((2, 3), (1, 4))])
def test_arrays_come_back_from_memory(sizes: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
    desc = dml.DML_BUFFER_TENSOR_DESC(UINT2, sizes, strides)
    array = np.random.default_rng(0).integers(0, 4, sizes).astype(desc.dtype)
    words = np.zeros(desc.TotalTensorSizeInBytes // 4, np.uint32)
    memory = TensorMemory(words, desc)
    memory.store(array)
    assert np.array_equal(memory.load(), array)
    places = sum(np.arange(size).reshape(-1, *(1,) * (len(sizes) - 1 - index)) * stride
                 for index, (size, stride) in enumerate(zip(sizes, desc.strides, strict=True)))  # fmt: skip
    data = words.view(np.uint8)
    assert np.array_equal(data[places // 4] >> (places % 4 * 2) & 3, array.astype(np.uint8))
