"""Names of constants: equal exactly if the bytes are equal."""

from __future__ import annotations

import numpy as np
import pytest

from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC as Constant


@pytest.mark.parametrize("size", [0, 3, 65535, 65536, 1_000_003])
def test_equal_bytes_have_one_name(size):
    data = np.random.default_rng(size).bytes(size)
    first, second = Constant(data), Constant(bytes(bytearray(data)))
    assert first.digest == second.digest == Constant(data).digest
    assert isinstance(first.digest, bytes)


@pytest.mark.parametrize("at", [0, 1, 63, 64, 70_000, 199_999])
def test_each_byte_counts(at):
    data = bytearray(200_000)
    first = Constant(bytes(data))
    before = first.digest
    data[at] = 1
    second = Constant(bytes(data))
    assert second.digest != before
    assert Constant(bytes(200_000)).digest == before


def test_a_name_is_not_given_to_other_bytes():
    constants = []
    for value in range(8):
        data = bytearray(200_000)
        data[100] = value  # this byte is read only if whole constants are compared
        constants.append(Constant(bytes(data)))
    assert len({one.digest for one in constants}) == 8
    assert [Constant(one.Data).digest for one in constants] == [one.digest for one in constants]
