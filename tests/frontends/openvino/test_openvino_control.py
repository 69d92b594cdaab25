"""Layers of OpenVINO's IR with networks inside, against OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import agree, both, random

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")


@pytest.mark.parametrize("backwards", [False, True])
def test_tensor_iterator(device, tmp_path, backwards):
    """A recurrence over slices: the last state, and all of them in the order of the slices."""
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
    """x + 0 + 1 + ..., so often; and what there is after each step."""
    node = o.loop(o.constant(np.array(count, np.int64)), o.constant(np.array(True)))
    state, step = o.parameter([1, 3], np.float32), o.parameter([1], np.int64)
    total = o.add(state, o.convert(step, "f32"))
    body = ov.Model([total, condition_of(step)], [state, step], "body")
    node.set_function(body)
    node.set_special_body_ports([1, 1])
    node.set_merged_input(state, x.output(0), total.output(0))
    return node, total


def test_loop(device, tmp_path):
    """By its count, which the body reads."""

    def make(x):
        node, total = counted(x, 4, lambda step: o.constant(np.array(True)))
        return [node.get_iter_value(total.output(0), -1), node.get_concatenated_slices(total.output(0), 0, 1, 1, -1, 0)]

    both(device, tmp_path, make, random(1, 3))


@pytest.mark.parametrize("given", [True, False])
def test_if(device, tmp_path, given):
    """A condition that is an input chooses on the device: one model for both."""
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


def test_what_a_loop_needs_to_know(device, tmp_path):
    """How often it runs is not computed; a body without a layer that it maps is named."""
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
        ('internal_layer_id="0"', "nothing outside gives its value"),
        ('external_port_id="2"', "its body takes port 77, which it does not have"),
    ):
        path.write_text(text.replace(wrong, wrong.split('"')[0] + '"77"'))
        with pytest.raises(dml.DMLError, match=message):
            read_model(path).compile(device)
