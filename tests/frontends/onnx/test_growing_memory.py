"""A model whose input grows by one at a time allocates only when sizes double, on each kind of device."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from math import ceil, log2
from typing import Any

import numpy as np
import pytest
from models import model_of
from onnx import helper

import dml
from dml.api.working import WorkingMemory
from dml.errors import HRESULT
from dml.frontends.onnx import PreparedModel, prepare
from dml.runtime.context import Context
from dml.runtime.memory import Use

WIDTH, TOKENS = 1024, 72


def cache(device: dml.Device) -> PreparedModel:
    """Return a model with present = past, x joined, and y from products of all pairs of rows (quadratic in their
    number)."""
    x = np.zeros((1, WIDTH), np.float32)
    nodes = [
        helper.make_node("Concat", ["past", "x"], ["present"], axis=0),
        helper.make_node("Transpose", ["present"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["present", "turned"], ["product"]),
        helper.make_node("Softmax", ["product"], ["shares"], axis=0),
        helper.make_node("ReduceSum", ["shares"], ["y"], keepdims=0),
    ]
    return prepare(model_of(nodes, {"past": x, "x": x}, ["present", "y"], 21, symbolic=True), device)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Use, int]]:
    """Record allocations of at least 4 KiB, the size of a row; smaller ones hold kernel parameters."""
    found: list[tuple[Use, int]] = []
    take = Context.take

    def counted(self: Context, use: Use, size: int, **how: bool) -> Any:
        if size >= 4 * WIDTH:
            found.append((use, size))
        return take(self, use, size, **how)

    monkeypatch.setattr(Context, "take", counted)
    return found


@pytest.mark.parametrize("keep", [["present"], []], ids=["kept", "fetched"])
def test_a_growing_past_allocates_by_doubling(each_kind: dml.Device, taken: Any, keep: list[str]) -> None:
    model = cache(each_kind)
    rng = np.random.default_rng(0)
    past: Any = rng.random((1, WIDTH), np.float32)
    counts = []
    for token in range(TOKENS):
        past, y = model.run({"past": past, "x": rng.random((1, WIDTH), np.float32)}, keep=keep)
        np.testing.assert_allclose(float(y), token + 2, rtol=1e-5)  # each column of the softmax sums to 1
        counts.append(len(taken))
    doublings = ceil(log2(TOKENS)) + 1
    # The cache takes an input and an output, each with staging, and two alternating buffers for kept outputs. The
    # product of all rows doubles twice as often, and the new row is allocated once.
    assert counts[-1] <= 10 * doublings, taken
    assert counts[-1] - counts[TOKENS // 2] <= 10
    assert np.asarray(past).shape == (TOKENS + 1, WIDTH)


def test_shorter_inputs_after_longer_ones(each_kind: dml.Device) -> None:
    """Runs with shorter inputs do not read leftovers of longer ones."""
    model = cache(each_kind)
    rng = np.random.default_rng(1)
    for rows in (3, 40, 41, 2, 39, 1, 40, 3):
        past, x = rng.random((rows, WIDTH), np.float32), rng.random((1, WIDTH), np.float32)
        present, y = model.run({"past": past, "x": x})
        np.testing.assert_array_equal(present, np.concatenate([past, x]))
        np.testing.assert_allclose(float(y), rows + 1, rtol=1e-5)


def test_lengths_from_many_threads(device: dml.Device) -> None:
    """The plans share memory and run one at a time."""
    model = cache(device)
    rng = np.random.default_rng(2)
    pasts = [rng.random((1 + index % 7, WIDTH), np.float32) for index in range(40)]
    x = np.ones((1, WIDTH), np.float32)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda past: model.run({"past": past, "x": x}, keep=["present"])[0].numpy(), pasts))
    for present, past in zip(found, pasts, strict=True):
        np.testing.assert_array_equal(present, np.concatenate([past, x]))


def test_memory_is_freed_with_the_model(each_kind: dml.Device) -> None:
    """Evicting a plan frees its memory immediately, and deleting the model frees the rest."""

    def used() -> int:
        each_kind.context.queue.finish()
        return sum(pool.in_use for pool in each_kind.context._pools.values())

    gc.collect()
    before = used()
    model = cache(each_kind)
    model.parts[0].plans._plans.most_entries = 1
    x = np.ones((1, WIDTH), np.float32)
    gc.disable()
    try:
        model.run({"past": np.ones((1000, WIDTH), np.float32), "x": x})
        large = used() - before
        model.run({"past": np.ones((2, WIDTH), np.float32), "x": x})
        assert used() - before < large / 50
        del model
        assert used() - before < 1 << 16  # kernels' constants, which the device keeps for a while
    finally:
        gc.enable()


def test_where_twice_as_much_is_too_much_it_is_as_much_as_needed(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Context.take

    def scarce(self: Context, use: Use, size: int, **how: bool) -> Any:
        if size > 150_000:
            raise dml.DMLError("none left", HRESULT.E_OUTOFMEMORY)
        return take(self, use, size, **how)

    monkeypatch.setattr(Context, "take", scarce)
    memory = WorkingMemory(device.context)
    with memory.working_set() as first:
        assert first.buffer(100_000).size == 100_000
    with memory.working_set() as second:
        assert second.buffer(50_000).size == 100_000
        assert second.buffer(70_000).size == 70_000
    with memory.working_set() as third:
        assert third.buffer(120_000).size == 120_000
    with memory.working_set() as fourth, pytest.raises(dml.DMLError, match="none left"):
        fourth.buffer(160_000)
    monkeypatch.undo()
    with memory.working_set() as fifth:
        assert fifth.buffer(130_000).size == 240_000
        assert fifth.buffer(10_000).size == 10_000
