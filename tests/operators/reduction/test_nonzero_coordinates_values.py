"""NONZERO_COORDINATES against NumPy's argwhere: exact, in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
import harness
from harness import LAYOUTS, Array, assert_exact, like, tensor


def describe(x: dml.DML_BUFFER_TENSOR_DESC, columns: int | None = None, rank: int | None = None) -> Any:
    columns = columns or len(x.Sizes)
    rank = rank or max(2, len(x.Sizes))
    count = int(np.prod(x.Sizes))
    return dml.DML_NONZERO_COORDINATES_OPERATOR_DESC(
        InputTensor=x,
        OutputCountTensor=tensor("UINT32", (1,) * len(x.Sizes)),
        OutputCoordinatesTensor=tensor("UINT32", (*(1,) * (rank - 2), count, columns)),
    )


def check(found: dict[str, Array], x: Array, columns: int | None = None) -> None:
    expected = np.argwhere(x != 0).astype(np.uint32)[:, x.ndim - (columns or x.ndim) :]
    count = int(found["OutputCountTensor"].item())
    assert count == len(expected)
    coordinates = found["OutputCoordinatesTensor"]
    rows = coordinates.reshape(coordinates.shape[-2:])
    assert_exact(rows[:count], expected)
    assert not rows[count:].any()


TYPES = ["FLOAT32", "FLOAT16", "INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"]


@pytest.mark.parametrize("dtype", TYPES)
def test_types(device: dml.Device, dtype: str) -> None:
    x = np.round(harness.random(np.random.default_rng(1), dtype, (3, 5, 7), -1, 1).astype(np.float32))
    x = x.astype(dml.numpy_dtype(harness.data_type(dtype)))
    check(harness.run(device, describe(like(x)), {"InputTensor": x}), x)


@pytest.mark.parametrize("rank", range(1, 9))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dimension_counts_and_layouts(device: dml.Device, rank: int, layout: str) -> None:
    x = np.random.default_rng(2).integers(0, 2, (2, 1, 3, 2, 1, 2, 3, 4)[-rank:]).astype(np.int32)
    check(harness.run(device, describe(like(x, layout)), {"InputTensor": x}), x)


@pytest.mark.parametrize("density", [0, 0.01, 1])
def test_lengths(each_kind: dml.Device, density: float) -> None:
    x = (np.random.default_rng(3).random((37, 2111)) < density).astype(np.uint8)
    check(harness.run(each_kind, describe(like(x)), {"InputTensor": x}), x)


def test_special_values(device: dml.Device) -> None:
    """Both zeros are zero; NaN and the smallest subnormal are not."""
    x = np.array([0, -0.0, np.nan, 1e-45, -1e-45, np.inf, 0], np.float32)
    check(harness.run(device, describe(like(x)), {"InputTensor": x}), x)
    half = np.array([0, -0.0, np.nan, 6e-8, -6e-8, 0], np.float16)
    check(harness.run(device, describe(like(half)), {"InputTensor": half}), half)


def test_page_example(device: dml.Device) -> None:
    x = np.array([[[[1, 0, 0, 2], [-0.0, 3.5, 0, -5.2]]]], np.float32)
    found = harness.run(device, describe(like(x), 3), {"InputTensor": x})
    check(found, x, 3)
    assert found["OutputCoordinatesTensor"][0, 0, :4].tolist() == [[0, 0, 0], [0, 0, 3], [0, 1, 1], [0, 1, 3]]


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_columns(device: dml.Device, columns: int) -> None:
    x = np.random.default_rng(4).integers(0, 2, (1, 1, 12, 5)).astype(np.int32)
    check(harness.run(device, describe(like(x), columns), {"InputTensor": x}), x, columns)


@pytest.mark.parametrize("size", [5, 4096, 100_003])
def test_rows_past_the_count_hold_no_memory_of_the_process(each_kind: dml.Device, size: int) -> None:
    """The reference leaves these rows undefined; here they are zeros, regardless of what the buffer held before."""
    x = (np.random.default_rng(4).random(size) < 0.3).astype(np.uint8)
    compiled = each_kind.compile_operator(each_kind.create_operator(describe(like(x))))
    out = each_kind.create_buffer(np.full(size, 0xDEADBEEF, np.uint32))
    table = each_kind.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    scratch = compiled.get_binding_properties().TemporaryResourceSize
    padded = np.concatenate([x, np.zeros(-size % 4, np.uint8)])
    table.bind_inputs([dml.DML_BUFFER_BINDING(each_kind.create_buffer(padded))])
    table.bind_outputs([dml.DML_BUFFER_BINDING(each_kind.create_buffer(4)), dml.DML_BUFFER_BINDING(out)])
    table.bind_temporary_resource(dml.DML_BUFFER_BINDING(each_kind.create_buffer(scratch)) if scratch else None)
    commands = each_kind.create_command_list()
    each_kind.create_command_recorder().record_dispatch(commands, compiled, table)
    commands.execute()
    expected = np.zeros(size, np.uint32)
    expected[: np.count_nonzero(x)] = np.flatnonzero(x)
    assert_exact(out.read(np.uint32), expected)
