"""Buffers on devices with and without separate memory: partial transfers, zeros, threads, limits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import dml
from dml.conformance.axes import open_as
from dml.runtime.context import Context
from harness import tensor

AXES = ("integrated", "discrete")


@pytest.fixture(params=AXES)
def seen(request, device):
    return open_as(device.vulkan, request.param)


def ones_into(device: dml.Device, buffer) -> None:
    """Dispatch work that writes ones into the buffer's first eight floats."""
    t = tensor("FLOAT32", (8,))
    value = dml.DML_SCALAR_UNION(Float32=1.0)
    desc = dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(
        OutputTensor=t, ValueDataType=dml.DML_TENSOR_DATA_TYPE_FLOAT32, Value=value
    )
    compiled = device.compile_operator(device.create_operator(desc))
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_outputs([dml.DML_BUFFER_BINDING(buffer, 0, 32)])
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    commands.execute()


def test_a_partial_write_keeps_other_bytes(seen):
    buffer = seen.create_buffer(48)
    ones_into(seen, buffer)
    buffer.write(np.float32([99]), 0)
    assert buffer.read(np.float32).tolist() == [99, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    assert buffer.read(np.float32, 2, 28).tolist() == [1, 0]


def test_new_buffers_are_zero_on_the_device(seen):
    """New buffers are zero even in memory of earlier buffers."""
    for _ in range(3):
        dirty = [seen.create_buffer(np.full(4096, 7, np.uint32)) for _ in range(4)]
        del dirty
        assert not seen.create_buffer(16384).read().any()


def test_transfers_of_any_size_and_place(seen, monkeypatch):
    monkeypatch.setattr("dml.runtime.buffer.TRANSFER_PART", 100)
    buffer = seen.create_buffer(1000)
    data = np.random.default_rng(0).integers(0, 256, 777, np.uint8)
    buffer.write(data, 13)
    found = buffer.read()
    assert not found[:13].any()
    assert not found[790:].any()
    np.testing.assert_array_equal(found[13:790], data)
    np.testing.assert_array_equal(buffer.read(np.uint8, 5, 789), [data[-1], 0, 0, 0, 0])


def in_threads(count: int, work: Callable[[int], None]) -> None:
    """Run the work in ``count`` threads at once, each with its number, and wait for all."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_transfer_and_dispatch_at_once(seen):
    """Any thread may use the queue, staging memory and the pipelines."""
    t = tensor("FLOAT32", (64,))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    failures: list[str] = []

    def work(number: int) -> None:
        compiled = seen.compile_operator(seen.create_operator(desc))
        buffer = seen.create_buffer(4096)
        for k in range(40):
            data = np.full(1024, number * 1000 + k, np.uint32)
            buffer.write(data)
            x = np.full(64, k, np.float32)
            result = compiled.dispatch({"ATensor": x, "BTensor": np.full(64, number, np.float32)})["OutputTensor"]
            if not (buffer.read(np.uint32) == data).all() or not (result == k + number).all():
                failures.append(f"thread {number}, round {k}")

    in_threads(4, work)
    assert not failures


def test_two_threads_share_one_operator(seen):
    t = tensor("FLOAT32", (64,))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    compiled = seen.compile_operator(seen.create_operator(desc))
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.full(64, number, np.float32)
        for _ in range(50):
            if not (compiled.dispatch({"ATensor": x, "BTensor": x})["OutputTensor"] == 2 * number).all():
                wrong.append(number)

    in_threads(3, work)
    assert not wrong


def test_many_buffers_share_few_allocations(seen):
    """Buffers share allocations: drivers may allow only 4,096."""
    context = Context(seen.vulkan)
    buffers = [context.buffer(1000) for _ in range(5000)]
    assert sum(pool.allocated[0] for pool in context._pools.values()) < 20
    assert len({(id(b.piece.native), b.piece.offset) for b in buffers}) == 5000


def test_allocation_errors_summarize_memory(seen):
    context = Context(replace(seen.vulkan, max_allocation=1 << 62))
    kept = context.buffer(4096)
    with pytest.raises(dml.DMLError, match="allocating") as error:
        context.buffer(1 << 50)
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY
    assert f"allocating {1 << 50} bytes" in str(error.value)
    assert "1 allocations" in str(error.value)
    assert "available" in str(error.value)
    assert kept.size == 4096


def test_owned_weights_are_stored_once_on_the_device(seen):
    """After initialization there is no staging copy and no input buffer; a second operator shares the weights."""
    context = seen.context
    count = 4 << 20
    owned = tensor("FLOAT32", (count,), Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    small = tensor("FLOAT32", (1,))
    gather = dml.DML_SLICE_OPERATOR_DESC(InputTensor=owned, OutputTensor=small, Offsets=[5], Sizes=[1], Strides=[1])
    weights = np.random.default_rng(1).random(count, np.float32)

    def used() -> int:
        return sum(pool.in_use for pool in context._pools.values())

    context.queue.finish()
    before = used()
    first = seen.compile_operator(seen.create_operator(gather))
    assert first.dispatch({"InputTensor": weights})["OutputTensor"] == weights[5]
    context.queue.finish()
    context.queue._forget_done()
    once = used() - before
    assert 4 * count <= once < 4 * count + (1 << 20)
    second = seen.compile_operator(seen.create_operator(gather))
    assert second.dispatch({"InputTensor": weights})["OutputTensor"] == weights[5]
    context.queue.finish()
    assert used() - before < 4 * count + (1 << 20)
