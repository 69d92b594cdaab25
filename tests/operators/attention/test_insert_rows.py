"""INSERT_ROWS, our own operator: the rows that it writes, the rows that it leaves unchanged, and its rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from dml.descriptors.attention import OWN_INSERT_ROWS_OPERATOR_DESC
from harness import random, tensor


def described(
    kind: str, batch: int, heads: int, rows: int, room: int, size: int, strides: tuple[int, ...] | None = None
) -> OWN_INSERT_ROWS_OPERATOR_DESC:
    cache = dml.DML_BUFFER_TENSOR_DESC(dml.data_type_of(dml.numpy_dtype(tensor(kind, (1,)).DataType)),
                                       (batch, heads, room, size), strides)  # fmt: skip
    return OWN_INSERT_ROWS_OPERATOR_DESC(tensor(kind, (batch, heads, rows, size)), tensor("INT32", (batch,)), cache)


def inserted(cache: np.ndarray, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    made = cache.copy()
    for b, position in enumerate(positions):
        begin = max(int(position), 0)
        count = max(0, min(rows.shape[2], cache.shape[2] - begin))
        made[b, :, begin : begin + count] = rows[b, :, :count]
    return made


@settings(max_examples=15)
@given(
    kind=st.sampled_from(["FLOAT32", "FLOAT16", "INT8", "UINT8"]),
    sizes=st.tuples(*(st.integers(1, most) for most in (3, 3, 4, 9, 9))),
    seed=st.integers(0, 99),
)
def test_rows_go_to_their_positions(device: dml.Device, kind: str, sizes: tuple[int, ...], seed: int) -> None:
    """Positions before, in and past the cache; rows that share words with adjacent rows and rows that do not."""
    batch, heads, rows, room, size = sizes
    rng = np.random.default_rng(seed)
    desc = described(kind, batch, heads, rows, room, size)
    cache, new = random(rng, kind, (batch, heads, room, size)), random(rng, kind, (batch, heads, rows, size))
    positions = rng.integers(-2, room + 2, batch).astype(np.int32)
    on_device = device.to_device(cache)
    compiled = device.compile_operator(device.create_operator(desc))
    found = compiled.dispatch({"RowsTensor": new, "PositionsTensor": positions}, into={"OutputTensor": on_device})
    assert found["OutputTensor"] is on_device
    assert np.array_equal(on_device.numpy(), inserted(cache, new, positions))


def test_a_cache_beyond_a_binding_is_written_by_heads() -> None:
    """A cache too large for one binding: each dispatch binds one head."""
    desc = described("FLOAT16", 1, 8, 1, 131072, 128)
    program = compile_operator(desc, Target(DeviceClass.DISCRETE, max_storage_buffer_range=1 << 30))
    assert len(program.dispatches) == 1
    narrow = compile_operator(desc, Target(DeviceClass.DISCRETE, max_storage_buffer_range=64 << 20))
    assert len(narrow.dispatches) == 8
    assert all(binding.region.size <= 64 << 20 for one in narrow.dispatches for binding in one.bindings)


def test_into_refuses_arrays_that_do_not_fit(device: dml.Device) -> None:
    compiled = device.compile_operator(device.create_operator(described("FLOAT32", 1, 1, 1, 4, 2)))
    given = {"RowsTensor": np.zeros((1, 1, 1, 2), np.float32), "PositionsTensor": np.zeros(1, np.int32)}
    for array, message in (
        (np.zeros((1, 1, 4, 2), np.float32), "into takes Mapping.*DeviceArray"),
        (device.to_device(np.zeros((1, 1, 4, 2), np.float16)), "into: output 'OutputTensor': takes .*FLOAT32"),
        (device.to_device(np.zeros((1, 1, 5, 2), np.float32)), r"of sizes \(1, 1, 4, 2\)"),
    ):
        with pytest.raises(dml.DMLError, match=message):
            compiled.dispatch(given, into={"OutputTensor": array})
    with pytest.raises(dml.DMLError, match="into: no output tensor 'Other'"):
        compiled.dispatch(given, into={"Other": device.to_device(np.zeros(1, np.float32))})


def test_its_rule() -> None:
    dml.validate(described("INT8", 2, 3, 4, 5, 6))
    desc = described("INT8", 2, 3, 4, 5, 6)
    with pytest.raises(dml.DMLError, match=r"INSERT_ROWS\.PositionsTensor: .*a position for each batch element"):
        dml.validate(OWN_INSERT_ROWS_OPERATOR_DESC(desc.RowsTensor, tensor("INT32", (3,)), desc.OutputTensor))
    with pytest.raises(dml.DMLError, match=r"INSERT_ROWS\.OutputTensor: .*those of RowsTensor"):
        dml.validate(OWN_INSERT_ROWS_OPERATOR_DESC(desc.RowsTensor, desc.PositionsTensor, tensor("INT8", (2, 3, 5, 7))))
