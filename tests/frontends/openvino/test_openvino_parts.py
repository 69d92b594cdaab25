"""OpenVINO models split into parts, at host layers and where sizes are known only at run time, compared with its CPU
plugin."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_peer import random
from typer.testing import CliRunner

import dml
import dml.frontends.openvino as ours
from dml.cli import app
from dml.errors import HostNodesWarning
from dml.frontends.openvino import parted
from dml.frontends.openvino.convert import is_mapped

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
BOUNDS = np.array([0.0, 0.5, 1.0], np.float32)


def saved(path: Path, outputs: list[Any], inputs: list[Any]) -> Path:
    ov.save_model(ov.Model([o.result(one) for one in outputs], inputs, "m"), path, compress_to_fp16=False)
    return path


def compiled(path: Path, device: dml.Device, words: str) -> Any:
    with pytest.warns(HostNodesWarning, match=words):
        return ours.read_model(path).compile(device)


def agree(model: Any, path: Path, *feeds: dict[str, Any]) -> None:
    theirs = ov.Core().compile_model(str(path), "CPU", F32)
    for feed in feeds:
        expected = list(theirs(feed).values())
        found = list(model(feed).values())
        assert len(found) == len(expected)
        for value, wanted in zip(found, expected, strict=True):
            assert (value.shape, value.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=2e-5)


def kinds(model: Any) -> list[str]:
    return ["host" if part.on_host else "device" for part in model.parts]


def test_types_for_the_host_are_not_mapped() -> None:
    assert [name for name in parted.HOST_TYPES if is_mapped(name)] == []


@pytest.mark.parametrize("rows", [3, -1])
def test_parts_alternate(device: dml.Device, tmp_path: Path, rows: int) -> None:
    """Parts on device, host, device, host; each has a result, and so do an input and a constant."""
    x = o.parameter([rows, 4], np.float32, name="x")
    first = o.bucketize(o.relu(x), BOUNDS)
    y = o.multiply(o.convert(first, "f32"), o.matmul(x, random(4, 4), False, False))
    outputs = [y, o.bucketize(y, BOUNDS), first, x, o.constant(random(2, 2)), o.exp(x), y]
    path = saved(tmp_path / "m.xml", outputs, [x])
    model = compiled(path, device, r"Bucketize.*; layer \d+ \(Bucketize")
    assert kinds(model) == ["device", "host", "device", "host"]
    agree(model, path, *({"x": random(n, 4)} for n in ((3, 1, 5, 3) if rows < 0 else (3, 3))))


def test_a_shape_that_an_earlier_part_computes(device: dml.Device, tmp_path: Path) -> None:
    """The later part is planned for the computed values of the shape."""
    x = o.parameter([-1, 4], np.float32, name="x")
    shape = o.shape_of(o.relu(x))
    first = o.bucketize(x, BOUNDS)
    turned = o.reshape(o.convert(first, "f32"), o.gather(shape, np.array([1, 0]), np.array(0)), False)
    path = saved(tmp_path / "m.xml", [o.abs(turned)], [x])
    agree(compiled(path, device, "Bucketize"), path, *({"x": random(n, 4)} for n in (3, 5, 3)))


def test_a_loop_with_such_a_layer_is_on_the_host(device: dml.Device, tmp_path: Path) -> None:
    """OpenVINO runs the whole loop, body included."""
    x, h = o.parameter([4, 3], np.float32, name="x"), o.parameter([1, 3], np.float32, name="h")
    node = o.tensor_iterator()
    part, state = o.parameter([1, 3], np.float32), o.parameter([1, 3], np.float32)
    binned = o.convert(o.bucketize(o.matmul(part, random(3, 3), False, False), BOUNDS), "f32")
    body = ov.Model([o.tanh(o.add(binned, state))], [part, state], "body")
    result = body.get_results()[0].output(0)
    node.set_body(body)
    node.set_sliced_input(part, o.exp(x).output(0), 0, 1, 1, -1, 0)
    node.set_merged_input(state, h.output(0), result)
    outputs = [o.negative(node.get_iter_value(result, -1)), node.get_concatenated_slices(result, 0, 1, 1, -1, 0)]
    path = saved(tmp_path / "m.xml", outputs, [x, h])
    model = compiled(path, device, "TensorIterator")
    assert kinds(model) == ["device", "host", "device"]
    agree(model, path, {"x": random(4, 3), "h": random(1, 3)})


def test_layers_read_counted_results(device: dml.Device, tmp_path: Path) -> None:
    """The next part is compiled for the actual number of rows, which may be zero. No layer runs on the host."""
    x = o.parameter([-1, 4], np.float32, name="x")
    places = o.transpose(o.non_zero(o.greater(x, np.float32(0))), np.array([1, 0]))
    path = saved(tmp_path / "m.xml", [o.exp(o.gather_nd(x, places)), o.abs(x)], [x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ours.read_model(path).compile(device)
    assert kinds(model) == ["device", "device"]
    agree(model, path, *({"x": random(n, 4)} for n in (3, 1, 6)), {"x": -np.ones((2, 4), np.float32)})


def test_detection_of_real_form(device: dml.Device, tmp_path: Path) -> None:
    """The boxes that remain after suppression are gathered by their indices."""
    boxes, scores = (
        o.parameter([1, 200, 4], np.float32, name="boxes"),
        o.parameter([1, 5, 200], np.float32, name="scores"),
    )
    node = o.non_max_suppression(boxes, scores, np.array(10), np.array(0.5, np.float32), np.array(0.3, np.float32))
    columns = o.gather(node.output(0), np.array([2]), np.array(1))
    chosen = o.gather(o.squeeze(boxes, np.array([0])), o.squeeze(columns, np.array([1])), np.array(0))
    path = saved(tmp_path / "m.xml", [chosen, o.multiply(chosen, np.float32(2))], [boxes, scores])
    model = ours.read_model(path).compile(device)
    rng = np.random.default_rng(1)
    corner = rng.uniform(0, 1, (1, 200, 2)).astype(np.float32)
    given = np.concatenate([corner, corner + rng.uniform(0.05, 0.3, corner.shape).astype(np.float32)], -1)
    agree(model, path, {"boxes": given, "scores": rng.uniform(0, 1, (1, 5, 200)).astype(np.float32)})


def test_by_openvinos_names(device: dml.Device, tmp_path: Path) -> None:
    x = o.parameter([-1, 4], np.float32, name="x")
    path = saved(tmp_path / "m.xml", [o.exp(o.convert(o.bucketize(x, BOUNDS), "f32"))], [x])
    with pytest.warns(HostNodesWarning, match="Bucketize") as caught:
        model = ours.Core().compile_model(path, f"GPU.{device.vulkan.index}")
    assert caught[0].filename == __file__
    given = random(2, 4)
    theirs = ov.Core().compile_model(str(path), "CPU", F32)
    np.testing.assert_allclose(model(given)[0], theirs(given)[0], rtol=1e-6)
    for wrong, words in (
        ({"x": given[:, :3]}, "its shape is"),
        ({}, "an array must be given"),
        ({"y": given}, "no input"),
    ):
        with pytest.raises(dml.DMLError, match=words):
            model(wrong)
    with pytest.raises(dml.DMLError, match=r"runs in 2 parts.*Bucketize"):
        _ = model.create_infer_request().profiling_info


def test_without_openvino_they_are_refused(device: dml.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = o.parameter([1, 4], np.float32, name="x")
    path = saved(tmp_path / "m.xml", [o.bucketize(x, BOUNDS)], [x])
    monkeypatch.setattr(parted, "is_installed", lambda module: False)
    with pytest.raises(dml.DMLError, match=r"Bucketize.*; install openvino to run layers that it supports"):
        ours.read_model(path).compile(device)


def test_layers_that_openvino_refuses_are_refused_at_load(device: dml.Device, tmp_path: Path) -> None:
    x = o.parameter([1, 4], np.float32, name="x")
    path = saved(tmp_path / "m.xml", [o.bucketize(x, BOUNDS)], [x])
    text = path.read_text("utf-8")
    path.write_text(text.replace('output_type="i64"', 'output_type="perhaps"'), "utf-8")
    assert path.read_text("utf-8") != text
    with pytest.raises(dml.DMLError, match=r"layers on the host, layer \d+ \(Bucketize"):
        ours.read_model(path).compile(device)


def test_the_commands(device: dml.Device, tmp_path: Path) -> None:
    x = o.parameter([-1, 4], np.float32, name="x")
    path = saved(tmp_path / "m.xml", [o.exp(o.convert(o.bucketize(o.abs(x), BOUNDS), "f32"))], [x])

    def run(*arguments: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HostNodesWarning)
            return CliRunner().invoke(app, [*arguments, "--device", str(device.vulkan.index)])

    told = run("explain", str(path), "--json", "--size", "x.0=3").output
    for words in ("ELEMENT_WISE_ABS", "on the host, OpenVINO's CPU plugin", "depend on an earlier part"):
        assert words in told
    assert run("run", str(path), "--random", "--size", "x.0=3").exit_code == 0
    refused = run("run", str(path), "--random", "--no-fallback")
    assert refused.exit_code == 1
    assert "cannot be mapped to DirectML" in refused.output
    assert "runs in 3 parts" in run("run", str(path), "--random", "--profile", str(tmp_path / "t.json")).output
    assert '"host"' in run("inspect", str(path), "--json").output


def halving(x: Any, most: Any, *, nested: bool = False) -> list[Any]:
    """Return the last value and all values of a loop that halves x while its sum exceeds 1."""
    node = o.loop(most, o.constant(np.array(True)))
    state = o.parameter([1, 3], np.float32)
    half = o.multiply(state, np.float32(0.5))
    if nested:  # the value passes through a condition
        kept = o.parameter([1, 3], np.float32)
        same = ov.Model([o.result(kept)], [kept], "same")
        choice = ov.opset8.if_op(o.constant(np.array(True)))
        choice.set_then_body(same)
        choice.set_else_body(same.clone())
        choice.set_input(half.output(0), kept, choice.get_function(1).get_parameters()[0])
        half = o.abs(choice.set_output(same.results[0], choice.get_function(1).results[0]))
    more = o.greater(o.reduce_sum(half, np.array([1]), False), np.float32(1))
    body = ov.Model([o.result(half), o.result(more)], [state], "body")
    node.set_function(body)
    node.set_special_body_ports([-1, 1])
    node.set_merged_input(state, x.output(0), body.results[0].output(0))
    first = body.results[0].output(0)
    return [node.get_iter_value(first, -1), node.get_concatenated_slices(first, 0, 1, 1, -1, 0)]


@pytest.mark.parametrize("nested", [False, True])
def test_a_loop_until_a_value_is_on_the_host(device: dml.Device, tmp_path: Path, nested: bool) -> None:
    """What follows is on the device, and takes as many rows as there were iterations."""
    x = o.parameter([1, 3], np.float32, name="x")
    last, every = halving(o.exp(x), o.constant(np.array(20, np.int64)), nested=nested)
    path = saved(tmp_path / "m.xml", [o.negative(last), o.matmul(every, random(3, 2), False, False)], [x])
    model = compiled(path, device, r"host.*Loop")
    assert kinds(model) == ["device", "host", "device"]
    agree(model, path, *({"x": np.full((1, 3), size, np.float32)} for size in (0, 2, 4, 0)))
    with pytest.raises(dml.DMLError, match=r"stop by a computed condition.*Loop"):
        ours.read_model(path).compile(device, fallback=False)


def test_a_loop_of_as_many_iterations_as_an_input_says(device: dml.Device, tmp_path: Path) -> None:
    x, most = o.parameter([1, 3], np.float32, name="x"), o.parameter([], np.int64, name="most")
    path = saved(tmp_path / "m.xml", [o.negative(halving(x, most)[0])], [x, most])
    model = compiled(path, device, r"host.*Loop")
    agree(model, path, *({"x": 9 * np.ones((1, 3), np.float32), "most": np.array(n)} for n in (1, 3, 20)))


def test_a_loop_until_a_known_count_stays_on_the_device(device: dml.Device, tmp_path: Path) -> None:
    """Its condition compares a counter, which starts at a constant and which only the loop changes, with a size."""
    x = o.parameter([1, 3], np.float32, name="x")
    node = o.loop(o.constant(np.array(20, np.int64)), o.constant(np.array(True)))
    state, count = o.parameter([1, 3], np.float32), o.parameter([1], np.int64)
    total = o.add(state, o.convert(count, "f32"))
    following = o.add(count, np.array([1], np.int64))
    ending = o.less(following, o.reduce_max(o.shape_of(state), np.array([0]), True))
    body = ov.Model([o.result(total), o.result(following), o.result(ending)], [state, count], "body")
    node.set_function(body)
    node.set_special_body_ports([-1, 2])
    results = [result.output(0) for result in body.results]
    node.set_merged_input(state, x.output(0), results[0])
    node.set_merged_input(count, o.constant(np.array([0], np.int64)).output(0), results[1])
    path = saved(tmp_path / "m.xml", [o.abs(node.get_iter_value(results[0], -1))], [x])
    model = ours.read_model(path).compile(device, fallback=False)
    agree(model, path, {"x": random(1, 3)})
