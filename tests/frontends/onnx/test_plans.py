"""A model keeps a bounded number of plans, one per set of input shapes, which share its weights."""

from __future__ import annotations

import gc
import hashlib
import weakref
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from models import model_of
from onnx import helper

import dml
from dml.descriptors import graph
from dml.frontends.onnx import prepare
from dml.planning.plans import Plans


class Fake:
    """A stand-in for a plan. memory: its own bytes. kernels: bytes of kernels by name."""

    def __init__(self, memory: int, right: bool = True, **kernels: int) -> None:
        self.kept = {self: memory, **kernels}
        self.kept_kernels = set(kernels)
        self.right = right

    def holds(self, feeds):
        return self.right


def test_the_least_recently_used_plan_is_dropped():
    plans = Plans(most=3)
    kept = [Fake(0) for _ in range(4)]
    for number, plan in enumerate(kept[:3]):
        plans.add(number, plan)
    assert plans.find(0, {}) is kept[0]
    plans.add(3, kept[3])
    assert [plans.find(number, {}) for number in range(4)] == [kept[0], None, kept[2], kept[3]]


def test_bytes_are_bounded_and_the_newest_stays():
    plans = Plans(most_bytes=100)
    for number in range(5):
        plans.add(number, Fake(40))
    assert len(plans) == 2
    plans.add(5, Fake(1000))
    assert len(plans) == 1
    assert plans.find(5, {}).kept


def test_memory_shared_by_plans_counts_once():
    plans = Plans(most_bytes=100)
    for number in range(3):
        plans.add(number, Fake(10, kernel=60))
    assert len(plans) == 3
    plans.add(3, Fake(10, other=60))
    plans.add(4, Fake(30, another=60))
    assert len(plans) == 2


def test_many_kernels_that_plans_share_do_not_drop_a_plan():
    """On CPU drivers, 43 kernels alone exceed the limit: two batch sizes in turn were planned again each time."""
    plans = Plans(most_bytes=100)
    for number in range(3):
        plans.add(number, Fake(10, kernel=1000))
    assert len(plans) == 3
    plans.add(3, Fake(10))
    plans.add(4, Fake(10))
    assert len(plans) == 2


def test_a_dropped_plan_frees_its_memory_at_once(device: dml.Device) -> None:
    """An evicted plan is in no reference cycle, which would wait for Python's collector."""
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, w = np.ones((1, 64), np.float32), np.ones((64, 8), np.float32)
    prepared = prepare(model_of([product], {"x": x}, ["y"], 18, symbolic=True, initializers={"w": w}), device)
    prepared.run([x])
    gone = weakref.ref(prepared.parts[0].plans.find((("x", ((1, 64), "float32")),), {}).compiled._resident)
    assert gone() is not None
    prepared.parts[0].plans._plans.most_entries = 1
    gc.disable()
    try:
        prepared.run([np.ones((2, 64), np.float32)])
        assert gone() is None
    finally:
        gc.enable()


def test_plans_of_one_shape_differ_by_values():
    plans = Plans()
    plans.add("shape", Fake(0, right=False))
    assert plans.find("shape", {}) is None


def test_weights_are_stored_once_for_all_shapes(device: dml.Device) -> None:
    """Ten batch sizes together take less additional memory than a second copy of the weights."""
    weights = np.random.default_rng(0).random((1024, 2048), np.float32)
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    x = np.ones((1, 1024), np.float32)
    prepared = prepare(model_of([product], {"x": x}, ["y"], 18, symbolic=True, initializers={"w": weights}), device)

    def used() -> int:
        device.context.queue.finish()
        gc.collect()
        return sum(pool.in_use for pool in device.context._pools.values())

    def run(batch: int) -> None:
        x = np.full((batch, 1024), 0.5, np.float32)
        np.testing.assert_allclose(prepared.run([x])[0], x @ weights, rtol=1e-5)

    run(1)
    before = used()
    for batch in range(2, 11):
        run(batch)
    assert used() - before < weights.nbytes


def test_a_new_shape_neither_copies_nor_hashes_the_weights(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for weights used directly, reshaped, and stored in typed fields."""
    weights = np.random.default_rng(1).random((256, 64), np.float32)
    typed = helper.make_tensor("typed", onnx.TensorProto.FLOAT, [64, 64], weights[:64].reshape(-1).tolist())
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Reshape", ["v", "shape"], ["square"]),
        helper.make_node("MatMul", ["a", "square"], ["b"]),
        helper.make_node("MatMul", ["b", "typed"], ["y"]),
    ]
    x = np.ones((1, 256), np.float32)
    initializers = {"w": weights, "v": weights[:64].reshape(-1).copy(), "shape": np.array([64, 64], np.int64)}
    model = model_of(nodes, {"x": x}, ["y"], 18, symbolic=True, initializers={**initializers, "typed": weights[:64]})
    model.graph.initializer.pop()
    model.graph.initializer.append(typed)
    prepared = prepare(model, device)
    hashed: list[bytes] = []

    def counted(data: bytes) -> object:
        hashed.append(data)
        return hashlib.sha256(data)

    monkeypatch.setattr(graph, "hashlib", SimpleNamespace(sha256=counted))
    known = [prepared.parts[0].plan(*[{"x": np.ones((rows, 256), np.float32)}] * 2).compiled.program for rows in (1, 2)]
    assert [id(constant) for constant in known[0].constants] == [id(constant) for constant in known[1].constants]
    assert len(known[0].constants) == 3
    for rows in (1, 2, 3):
        x = np.full((rows, 256), 0.25, np.float32)
        (found,) = prepared.run([x])
        np.testing.assert_allclose(found, x @ weights @ weights[:64] @ weights[:64], rtol=1e-4)
    # Each weight is hashed once; of large weights only 64 pieces of 64 bytes
    assert sorted(map(len, hashed)) == [64 * 64, 64 * 64 * 4, 64 * 64 * 4]
