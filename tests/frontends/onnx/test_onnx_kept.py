"""Models whose inputs and outputs stay on the device between runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from models import model_of
from onnx import helper

import dml
from dml.frontends.onnx import HostNodesWarning, PreparedModel, prepare
from dml.frontends.onnx.run.device_part import DevicePart


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def cache(device: dml.Device) -> PreparedModel:
    """Return a model like a decoder's cache: present = past and x joined, y = the sum of present."""
    x = np.zeros((1, 1, 4), np.float32)
    nodes = [node("Concat", ["past", "x"], ["present"], axis=1), node("ReduceSum", ["present"], ["y"], keepdims=0)]
    return prepare(model_of(nodes, {"x": x, "past": x}, ["y", "present"], 21, symbolic=True), device)


def test_a_cache_that_grows_on_the_device(device: dml.Device) -> None:
    """The cache begins as a device array without elements."""
    model = cache(device)
    past: Any = device.to_device(np.zeros((1, 0, 4), np.float32))
    total = 0.0
    for step in range(5):
        x = np.full((1, 1, 4), step, np.float32)
        total += 4 * step
        y, past = model.run({"x": x, "past": past}, keep=["present"])
        assert isinstance(past, dml.DeviceArray)
        assert (float(y), past.shape, past.dtype) == (total, (1, step + 1, 4), np.float32)
    assert past.numpy()[0, :, 0].tolist() == [0, 1, 2, 3, 4]


def test_rounds_of_one_shape_use_their_buffers_again(device: dml.Device) -> None:
    x = np.ones((2, 3), np.float32)
    model = prepare(model_of([node("Add", ["x", "one"], ["y"])], {"x": x}, ["y"], 21, initializers={"one": x}), device)
    state: Any = x
    buffers = set()
    for _ in range(10):
        (state,) = model.run([state], keep=["y"])
        buffers.add(state.buffer)
    assert np.asarray(state).tolist() == (x + 10).tolist()
    assert len(buffers) == 2


@pytest.mark.parametrize("dtype", [np.bool_, ml_dtypes.bfloat16, np.float16, np.int64, np.float32])
def test_types_and_ranks_are_the_models(device: dml.Device, dtype: Any) -> None:
    """A scalar of each type goes from one run to the next; bfloat16 is rounded at a model's outputs."""
    x = np.array(1).astype(dtype)
    third = np.array(1 / 3 if np.dtype(dtype).kind in "fV" else 1).astype(dtype)
    op = "Xor" if dtype is np.bool_ else "Mul"
    model = prepare(model_of([node(op, ["x", "third"], ["y"])], {"x": x}, ["y"], 21, initializers={"third": third}),
                    device)  # fmt: skip
    (once,) = model.run([x], keep=["y"])
    (expected,) = model.run([x])
    assert (once.shape, once.dtype) == ((), x.dtype)
    assert once.numpy() == expected
    assert model.run([once])[0] == model.run([expected])[0]


def test_values_that_decide_shapes_may_be_on_the_device(device: dml.Device) -> None:
    x = np.arange(6, dtype=np.float32)
    inputs = {"x": x, "shape": np.array([2, 3])}
    model = prepare(model_of([node("Reshape", ["x", "shape"], ["y"])], inputs, ["y"], 21, ranks={"y": 2}), device)
    for shape in ([2, 3], [3, 2], [2, 3]):
        (y,) = model.run({"x": device.to_device(x), "shape": device.to_device(np.array(shape))})
        assert y.tolist() == x.reshape(shape).tolist()


def test_constants_inputs_and_sequences_can_be_kept(device: dml.Device) -> None:
    x = np.ones((2, 2), np.float32)
    nodes = [node("Shape", ["x"], ["size"]), node("SplitToSequence", ["x"], ["rows"], axis=0, keepdims=0)]
    model = model_of(nodes, {"x": x}, ["size", "rows"], 21)
    model.graph.output.add().CopyFrom(helper.make_tensor_value_info("x", 1, [2, 2]))
    size, rows, same = prepare(model, device).run([x], keep=["size", "rows", "x"])
    assert [type(one) for one in (size, *rows, same)] == [dml.DeviceArray] * 4
    assert size.numpy().tolist() == [2, 2]
    assert [row.numpy().tolist() for row in rows] == [[1, 1], [1, 1]]
    assert same.numpy().tolist() == x.tolist()


def test_values_between_device_parts_stay_there(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """s goes to a host node and to a later device part; the host node's output can be kept, too."""
    x = np.array([[2, 1], [1, 3]], np.float32)
    nodes = [node("Mul", ["x", "x"], ["s"]), node("Det", ["s"], ["d"]), node("Mul", ["s", "d"], ["y"])]
    seen: dict[str, Any] = {}
    plain = DevicePart.run

    def run(self: DevicePart, values: Any, keep: Any = (), shared: Any = None) -> Any:
        seen.update({name: values[name] for name in self.inputs})
        return plain(self, values, keep, shared)

    monkeypatch.setattr(DevicePart, "run", run)
    with pytest.warns(HostNodesWarning):
        model = prepare(model_of(nodes, {"x": x}, ["y", "d"], 21, ranks={"d": 0}), device)
    y, d = model.run([device.to_device(x)], keep=["d"])
    assert {name: type(value) for name, value in seen.items()} == {
        "x": dml.DeviceArray, "s": dml.DeviceArray, "d": np.ndarray,
    }  # fmt: skip
    assert isinstance(d, dml.DeviceArray)
    np.testing.assert_allclose(y, x * x * 35, rtol=1e-6)


def test_threads_do_not_share_kept_values(device: dml.Device) -> None:
    """Each thread counts with its own step on one model; none overwrites another's values."""
    x = np.ones((2, 3), np.float32)
    nodes = [node("Add", ["x", "step"], ["y"])]
    model = prepare(model_of(nodes, {"x": x, "step": x}, ["y"], 21), device)

    def count(step: int) -> float:
        state: Any = np.zeros_like(x)
        for _ in range(40):
            (state,) = model.run({"x": state, "step": step * x}, keep=["y"])
        return float(state.numpy()[0, 0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(1, 7))) == [40 * step for step in range(1, 7)]


def test_wrong_ones_are_named(device: dml.Device, seen_as: Any) -> None:
    other = next(one for one in map(seen_as, ("discrete", "integrated")) if one.context is not device.context)
    model = cache(device)
    x = np.zeros((1, 1, 4), np.float32)
    with pytest.raises(dml.DMLError, match="keep: the model has no output 'past'; it has y, present"):
        model.run({"x": x, "past": x}, keep=["past"])
    with pytest.raises(dml.DMLError, match="input 'past': takes arrays of float32, found float16"):
        model.run({"x": x, "past": device.to_device(x.astype(np.float16))})
    with pytest.raises(dml.DMLError, match="is on another device"):
        model.run({"x": x, "past": other.to_device(x)})
