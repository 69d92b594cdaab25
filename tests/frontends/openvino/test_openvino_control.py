"""Layers of OpenVINO's IR with nested networks, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import agree, both, random

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")

#: Prevents bfloat16 arithmetic on CPUs that have it.
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.mark.parametrize("backwards", [False, True])
def test_tensor_iterator(device, tmp_path, backwards):
    """A recurrence over slices returns the last state, and all states in the order of the slices."""
    start, stride, end = (-1, -1, 0) if backwards else (0, 1, -1)
    weights = random(3, 3)

    def make(x, h):
        node = o.tensor_iterator()
        part, state = o.parameter([1, 3], np.float32), o.parameter([1, 3], np.float32)
        body = ov.Model([o.tanh(o.add(o.matmul(part, weights, False, False), state))], [part, state], "body")
        result = body.get_results()[0].output(0)
        node.set_body(body)
        node.set_sliced_input(part, x.output(0), start, stride, 1, end, 0)
        node.set_merged_input(state, h.output(0), result)
        return [node.get_iter_value(result, -1), node.get_concatenated_slices(result, start, stride, 1, end, 0)]

    both(device, tmp_path, make, random(4, 3), random(1, 3))


def counted(x, count, condition_of):
    """Return a loop that computes x + 0 + 1 + ... in ``count`` steps, and the sum inside its body."""
    node = o.loop(o.constant(np.array(count, np.int64)), o.constant(np.array(True)))
    state, step = o.parameter([1, 3], np.float32), o.parameter([1], np.int64)
    total = o.add(state, o.convert(step, "f32"))
    body = ov.Model([total, condition_of(step)], [state, step], "body")
    node.set_function(body)
    node.set_special_body_ports([1, 1])
    node.set_merged_input(state, x.output(0), total.output(0))
    return node, total


def test_loop(device, tmp_path):
    """The body reads the loop's counter."""

    def make(x):
        node, total = counted(x, 4, lambda step: o.constant(np.array(True)))
        return [node.get_iter_value(total.output(0), -1), node.get_concatenated_slices(total.output(0), 0, 1, 1, -1, 0)]

    both(device, tmp_path, make, random(1, 3))


@pytest.mark.parametrize("given", [True, False])
def test_if(device, tmp_path, given):
    """A condition that is an input is evaluated on the device: one plan serves both branches."""
    x, c = o.parameter([4, 3], np.float32, name="x"), o.parameter([], bool, name="c")
    node = o.if_op(c)
    inner = [o.parameter([4, 3], np.float32) for _ in range(2)]
    results = [o.result(o.abs(inner[0])), o.result(o.negative(inner[1]))]
    node.set_then_body(ov.Model([results[0]], [inner[0]], "then"))
    node.set_else_body(ov.Model([results[1]], [inner[1]], "else"))
    node.set_input(x.output(0), *inner)
    path = tmp_path / "if.xml"
    ov.save_model(ov.Model([o.result(node.set_output(*results))], [x, c], "m"), str(path), compress_to_fp16=False)
    agree(device, path, {"x": random(4, 3), "c": np.array(given)}, 0)


def dynamic_peers(device, path, model, *feeds):
    """Compare a model with dynamic sizes in both runtimes, on each of these inputs."""
    ov.save_model(model, str(path), compress_to_fp16=False)
    ours, theirs = read_model(path).compile(device), ov.Core().compile_model(str(path), "CPU", F32)
    for feed in feeds:
        expected = theirs(feed)
        found = ours(feed)
        assert len(found) == len(expected)
        for value, wanted in zip(found.values(), expected.values(), strict=True):
            assert value.shape == wanted.shape
            np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-5)


def recurrence(x, h, sizes):
    """Return tanh(x[t] w + h) over the first axis of x: the last state, and all states."""
    node = o.tensor_iterator()
    part, state = o.parameter(sizes, np.float32), o.parameter(sizes, np.float32)
    body = ov.Model([o.tanh(o.add(o.matmul(part, random(3, 3), False, False), state))], [part, state], "body")
    result = body.get_results()[0].output(0)
    node.set_body(body)
    node.set_sliced_input(part, x.output(0), 0, 1, 1, -1, 0)
    node.set_merged_input(state, h.output(0), result)
    return [node.get_iter_value(result, -1), node.get_concatenated_slices(result, 0, 1, 1, -1, 0)]


def test_open_sizes_in_a_tensor_iterator(device, tmp_path):
    """Steps and columns are dynamic; the body's sizes come from its inputs."""
    x, h = o.parameter([-1, -1, 3], np.float32, name="x"), o.parameter([1, -1, 3], np.float32, name="h")
    last, each = recurrence(x, h, [1, -1, 3])
    model = ov.Model([o.result(o.relu(last)), o.result(o.abs(each))], [x, h], "m")
    feeds = [{"x": random(steps, rows, 3), "h": random(1, rows, 3)} for steps, rows in ((4, 1), (2, 5), (4, 2))]
    dynamic_peers(device, tmp_path / "m.xml", model, *feeds)


def test_open_sizes_in_a_loop_that_grows(device, tmp_path):
    """The state's size changes in each iteration."""
    x = o.parameter([-1, 3], np.float32, name="x")
    node = o.loop(o.constant(np.array(3, np.int64)), o.constant(np.array(True)))
    state, given = o.parameter([-1, 3], np.float32), o.parameter([-1, 3], np.float32)
    longer = o.concat([state, o.relu(given)], 0)
    body = ov.Model([longer, o.constant(np.array(True))], [state, given], "body")
    node.set_function(body)
    node.set_special_body_ports([-1, 1])
    node.set_merged_input(state, x.output(0), longer.output(0))
    node.set_invariant_input(given, x.output(0))
    model = ov.Model([o.result(o.abs(node.get_iter_value(longer.output(0), -1)))], [x], "m")
    dynamic_peers(device, tmp_path / "m.xml", model, {"x": random(1, 3)}, {"x": random(2, 3)})


def test_open_sizes_in_branches(device, tmp_path):
    x, c = o.parameter([-1, 3], np.float32, name="x"), o.parameter([], bool, name="c")
    node = o.if_op(c)
    inner = [o.parameter([-1, 3], np.float32) for _ in range(2)]
    results = [o.result(o.abs(inner[0])), o.result(o.negative(inner[1]))]
    node.set_then_body(ov.Model([results[0]], [inner[0]], "then"))
    node.set_else_body(ov.Model([results[1]], [inner[1]], "else"))
    node.set_input(x.output(0), *inner)
    model = ov.Model([o.result(o.relu(node.set_output(*results)))], [x, c], "m")
    feeds = [{"x": random(rows, 3), "c": np.array(given)} for rows, given in ((4, True), (4, False), (1, False))]
    dynamic_peers(device, tmp_path / "m.xml", model, *feeds)


def test_branches_of_other_sizes_by_a_parameter(device, tmp_path):
    """As a decoder with and without past has them; the condition and a shape are parameters."""
    x, c = o.parameter([-1, 3], np.float32, name="x"), o.parameter([1], bool, name="c")
    shape = o.parameter([2], np.int64, name="shape")
    node = o.if_op(c)
    inner = [o.parameter([-1, 3], np.float32) for _ in range(2)]
    results = [o.result(o.concat([inner[0], o.relu(inner[0])], 0)), o.result(o.negative(inner[1]))]
    node.set_then_body(ov.Model([results[0]], [inner[0]], "then"))
    node.set_else_body(ov.Model([results[1]], [inner[1]], "else"))
    node.set_input(x.output(0), *inner)
    chosen = o.abs(node.set_output(*results))
    model = ov.Model([o.result(chosen), o.result(o.reshape(o.abs(x), shape, False))], [x, c, shape], "m")
    feeds = [
        {"x": random(rows, 3), "c": np.array([given]), "shape": np.int64(sizes)}
        for rows, given, sizes in ((4, True, [3, 4]), (4, False, [2, 6]), (2, False, [6, 1]), (4, True, [3, 4]))
    ]
    dynamic_peers(device, tmp_path / "m.xml", model, *feeds)


def test_a_model_with_a_loop_is_reshaped(device, tmp_path):
    """Sizes in the body, which the file fixes, change with the model's."""
    x, h = o.parameter([4, 1, 3], np.float32, name="x"), o.parameter([1, 1, 3], np.float32, name="h")
    last, each = recurrence(x, h, [1, 1, 3])
    path = tmp_path / "m.xml"
    ov.save_model(ov.Model([o.result(last), o.result(each)], [x, h], "m"), str(path), compress_to_fp16=False)
    sizes = {"x": [2, 5, 3], "h": [1, 5, 3]}
    mine, core = read_model(path), ov.Core()
    theirs = core.read_model(path)
    theirs.reshape({name: ov.PartialShape(shape) for name, shape in sizes.items()})
    mine.reshape(sizes)
    feed = {name: random(*shape) for name, shape in sizes.items()}
    expected = core.compile_model(theirs, "CPU", F32)(feed)
    for value, wanted in zip(mine.compile(device)(feed).values(), expected.values(), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-5)


def test_refused_loops(device, tmp_path):
    """The trip count must be known and small; an unmapped layer in the body is named."""
    x = o.parameter([1, 3], np.float32, name="x")
    node, total = counted(x, 10**7, lambda step: o.constant(np.array(True)))
    path = tmp_path / "loop.xml"
    ov.save_model(ov.Model([o.result(node.get_iter_value(total.output(0), -1))], [x], "m"), str(path))
    with pytest.raises(dml.DMLError, match=r"Loop.*10000000 iterations are too many to unroll"):
        read_model(path).compile(device)
    text = path.read_text()
    path.write_text(text.replace('type="Convert"', 'type="Nonsense"'))
    with pytest.raises(dml.DMLError, match=r"cannot be mapped to DirectML: layer \d+ \(Nonsense"):
        read_model(path).compile(device)
    node, total = counted(x, 3, lambda step: o.constant(np.array(True)))
    ov.save_model(ov.Model([o.result(node.get_iter_value(total.output(0), -1))], [x], "m"), str(path))
    text = path.read_text()
    for wrong, message in (
        ('internal_layer_id="0"', "to which the layer gives no value"),
        ('external_port_id="2"', "its body reads input port 77, which the layer does not have"),
    ):
        path.write_text(text.replace(wrong, wrong.split('"')[0] + '"77"'))
        with pytest.raises(dml.DMLError, match=message):
            read_model(path).compile(device)
