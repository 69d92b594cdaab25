"""``dml.dispatch`` prepares each description once and keeps a bounded number of operators."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dml
from dml.api import device as device_module
from dml.api import operator, resident
from dml.api.dispatched import Dispatched
from dml.runtime import recording
from dml.runtime.memory import Pool
from harness import tensor

SIZES = (2, 3)
X = np.arange(6, dtype=np.float32).reshape(SIZES) + 1


@pytest.fixture
def opened(device):
    """Open a new Device object, which has prepared nothing."""
    with dml.Device(device.vulkan, dml.DML_FEATURE_LEVEL_6_4) as one:
        yield one


def scaled(scale: float, bias: float = 0.0) -> dml.OperatorDesc:
    t = tensor("FLOAT32", SIZES)
    return dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(t, t, dml.DML_SCALE_BIAS(scale, bias))


def product(owned: bool = True) -> dml.OperatorDesc:
    flags = dml.DML_TENSOR_FLAG_OWNED_BY_DML if owned else dml.DML_TENSOR_FLAG_NONE
    t, weights = tensor("FLOAT32", SIZES), tensor("FLOAT32", SIZES, Flags=flags)
    return dml.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(t, weights, t)


def values(opened, desc) -> list[float]:
    return dml.dispatch(desc, {"InputTensor": X}, opened)["OutputTensor"].ravel().tolist()


def test_a_known_description_is_prepared_once(opened, monkeypatch):
    calls: list[str] = []
    for where, name in (
        (device_module, "validate"),
        (device_module, "compile_operator"),
        (operator, "spirv"),
        (recording, "compile_many"),
        (resident, "Recording"),
        (resident, "Weights"),
        (opened.context.pipelines, "_make"),
    ):
        plain = getattr(where, name)
        monkeypatch.setattr(
            where, name, lambda *args, _plain=plain, _name=name, **more: calls.append(_name) or _plain(*args, **more)
        )
    for k in range(4):
        x = X + k
        result = dml.dispatch(scaled(3, 0.4375), {"InputTensor": x}, opened)["OutputTensor"]
        np.testing.assert_array_equal(result, 3 * x + 0.4375)
        if k == 0:
            assert {"validate", "compile_operator", "spirv", "Recording"} <= set(calls)
            calls.clear()
    assert calls == []


def test_results_are_not_overwritten(opened):
    first = dml.dispatch(scaled(2), {"InputTensor": X}, opened)["OutputTensor"]
    dml.dispatch(scaled(2), {"InputTensor": X + 1}, opened)
    np.testing.assert_array_equal(first, 2 * X)


def test_the_most_recent_operators_are_kept(opened):
    opened.dispatched._kept.most_entries = 3
    for scale in (1, 2, 3, 1, 4):
        assert values(opened, scaled(scale)) == (X * scale).ravel().tolist()
    assert len(opened.dispatched) == 3
    assert [opened.dispatched.find(scaled(scale)) is not None for scale in (1, 2, 3, 4)] == [True, False, True, True]


def test_dropped_operators_free_their_memory(opened):
    values(opened, scaled(1))
    gone = weakref.ref(opened.dispatched.find(scaled(1)))
    assert gone() is not None
    opened.dispatched._kept.most_size = 1
    assert values(opened, scaled(2)) == (2 * X).ravel().tolist()
    gc.collect()
    assert gone() is None
    assert len(opened.dispatched) == opened.dispatched._kept.size == 0


def test_bytes_are_counted_with_weights_and_once(opened):
    values(opened, scaled(1))
    size = opened.dispatched._kept.size
    assert size >= 2 * X.nbytes
    opened.dispatched.keep(scaled(1), opened.dispatched.find(scaled(1)))
    assert opened.dispatched._kept.size == size
    dml.dispatch(product(), {"ATensor": X, "BTensor": X}, opened)
    assert opened.dispatched._kept.size >= 2 * size


@pytest.mark.parametrize(
    "one, other",
    [
        (scaled(1, 0.0), scaled(1, -0.0)),
        (scaled(2), scaled(3)),
        (product(), product(owned=False)),
        (
            dml.DML_ACTIVATION_ELU_OPERATOR_DESC(tensor("FLOAT32", SIZES), tensor("FLOAT32", SIZES), 0.0),
            dml.DML_ACTIVATION_ELU_OPERATOR_DESC(tensor("FLOAT32", SIZES), tensor("FLOAT32", SIZES), -0.0),
        ),
    ],
)
def test_descriptions_are_distinguished(one, other):
    assert one.key != other.key
    assert one.key == one.replace().key


def test_owned_inputs_are_required_in_each_call(opened):
    for k in (1, 2, 2, 3):
        result = dml.dispatch(product(), {"ATensor": X, "BTensor": X * k}, opened)
        np.testing.assert_array_equal(result["OutputTensor"], X * X * k)
    with pytest.raises(dml.DMLError, match="BTensor: an array must be given"):
        dml.dispatch(product(), {"ATensor": X}, opened)


def test_the_same_weights_again_record_nothing(opened):
    for k, same in ((1, False), (1, True), (2, False)):
        before = opened.dispatched.find(product())
        recorded = before and dict(before._resident._recordings)
        dml.dispatch(product(), {"ATensor": X, "BTensor": X * k}, opened)
        assert (opened.dispatched.find(product())._resident._recordings == recorded) == same


def test_a_refused_call_keeps_nothing(opened):
    with pytest.raises(dml.DMLError, match="an array must be given"):
        dml.dispatch(scaled(1), {}, opened)
    assert not len(opened.dispatched)
    assert values(opened, scaled(1)) == X.ravel().tolist()
    with pytest.raises(dml.DMLError, match="found an array of shape"):
        dml.dispatch(scaled(1), {"InputTensor": X.T}, opened)
    assert values(opened, scaled(1)) == X.ravel().tolist()


def test_a_closed_device_keeps_nothing(device):
    closed = dml.Device(device.vulkan, dml.DML_FEATURE_LEVEL_6_4)
    values(closed, scaled(1))
    closed.close()
    assert not len(closed.dispatched)
    with pytest.raises(dml.DMLError, match="is closed"):
        values(closed, scaled(1))


def test_memory_that_is_short_comes_back(opened, monkeypatch):
    values(opened, scaled(1))
    kept = []
    take = Pool.take

    def full(pool, size, **how):
        kept.append(len(opened.dispatched))
        if len(kept) == 1:
            raise dml.DMLError("full", dml.HRESULT.E_OUTOFMEMORY)
        return take(pool, size, **how)

    monkeypatch.setattr(Pool, "take", full)
    opened.context.buffer(64, zero=False)
    assert kept == [1, 0]


def test_threads_share_kept_operators(opened):
    def run(k: int) -> bool:
        return values(opened, scaled(k % 3)) == (X * (k % 3)).ravel().tolist()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(40)))
    assert len(opened.dispatched) == 3


def test_it_is_empty_at_first():
    assert Dispatched().find(scaled(1)) is None
