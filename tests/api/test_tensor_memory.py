"""Tensors stored into words with old contents: bytes between and after elements become zero on request."""

from __future__ import annotations

import numpy as np
import pytest

from dml.api.arrays import TensorMemory
from dml.tensors import DML_BUFFER_TENSOR_DESC
from harness import data_type


def uints(bits: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None = None) -> DML_BUFFER_TENSOR_DESC:
    return DML_BUFFER_TENSOR_DESC(data_type(f"UINT{bits}"), Sizes=sizes, Strides=strides)


CASES = {
    "packed": (uints(8, (1, 5)), [1, 2, 3, 4, 5, 0, 0, 0]),
    "whole words": (uints(8, (2, 4)), [1, 2, 3, 4, 5, 6, 7, 8]),
    "gaps": (uints(8, (2, 3), (4, 1)), [1, 2, 3, 0, 4, 5, 6, 0]),
    "turned": (uints(8, (2, 3), (1, 2)), [1, 4, 2, 5, 3, 6, 0, 0]),
    "repeated": (uints(8, (2, 3), (0, 1)), [4, 5, 6, 0]),
    "half bytes": (uints(4, (1, 3)), [0x21, 0x03, 0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_gaps_between_elements_are_zero(case: str) -> None:
    desc, expected = CASES[case]
    words = np.full(int(desc.TotalTensorSizeInBytes or 0) // 4, 0xFFFFFFFF, np.uint32)
    memory = TensorMemory(words, desc)
    memory.clear()
    array = np.arange(1, 1 + np.prod(desc.Sizes), dtype=np.uint8).reshape(desc.Sizes)
    if case == "repeated":
        array[0] = array[1]  # both rows are the same element
    memory.store(array)
    assert words.view(np.uint8).tolist() == expected
    np.testing.assert_array_equal(memory.load().astype(np.uint8), array)
