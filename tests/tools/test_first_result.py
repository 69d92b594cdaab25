"""tools/bench --first-result: its models, its measurements, and its check of results."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("benchmarks")


@pytest.fixture
def first_result():
    return importlib.import_module("first_result")


@pytest.fixture
def tiny():
    """Return a model: Relu of x [batch, 8], then a scale."""
    from networks.building import Input, Model, Network

    net = Network()
    result = net.node("Mul", net.node("Relu", "x"), net.constant(3))
    inputs = (Input("x", ("batch", 8)),)
    return Model("tiny", net.model(inputs, {result: 2}), inputs, {"batch": 1}, {"batch": {"batch": 2}})


@pytest.mark.parametrize("name", ["squeezenet", "unet", "lstm"])
def test_models_run_at_all_their_sizes(name):
    onnxruntime = pytest.importorskip("onnxruntime")
    from networks import MODELS

    model = MODELS[name]()
    session = onnxruntime.InferenceSession(model.proto.SerializeToString())
    assert all(isinstance(dim, str) for i in session.get_inputs() for dim in i.shape if dim not in (3, 4, 224))
    steps = model.steps()
    assert next(iter(steps)) == "first"
    shapes = set()
    for inputs in steps.values():
        for result in session.run(None, inputs):
            assert np.isfinite(result).all()
            assert 0.1 < result.std() < 10
        shapes.add(tuple(array.shape for array in inputs.values()))
    assert len(shapes) == len(steps)


@pytest.mark.slow
def test_processes_measure_and_agree(first_result, tiny, device):
    pytest.importorskip("onnxruntime")
    index = str(device.vulkan.index)
    found = first_result.measure(tiny, index, 1, ["onnxruntime (CPU)", "dml"])
    ours, theirs = found["dml"], found["onnxruntime (CPU)"]
    assert ours["error"] < 1e-5
    assert ours["first"]["compilations"] == ours["first"]["kernels"] == ours["first"]["pipelines"] == 1
    assert ours["warm"]["compilations"] == 0
    assert {"parse", "plan", "glslang"} <= set(ours["first"]["stages"])
    for answers in (ours, theirs):
        for step in ("first", "batch", "warm"):
            assert all(answers[step]["first"][clock] > 0 for clock in ("wall", "cpu"))
    (own, other) = first_result.rows(found)
    assert (own[0], other[0]) == ("dml", "onnxruntime (CPU)")
    assert own[3].count("+") == 1


def test_wrong_results_are_found(first_result, tmp_path):
    right = {"a": np.float32([1, 2, 3])}
    np.savez(tmp_path / "one.first.npz", **right)
    assert first_result.check(tmp_path, ["first"], "one") is None
    for wrong, message in (
        ({"a": right["a"] * 1.01}, "off by 0.01"),
        ({"a": right["a"][:2]}, r"\(2,\), not \(3,\)"),
        ({"a": right["a"], "b": right["a"]}, "2 results at first, not 1"),
        ({"a": right["a"] * np.nan}, "off by nan"),
    ):
        np.savez(tmp_path / "two.first.npz", **wrong)
        with pytest.raises(AssertionError, match=message):
            first_result.check(tmp_path, ["first"], "two")
    np.savez(tmp_path / "two.first.npz", **right)
    assert first_result.check(tmp_path, ["first"], "two") == 0


def test_rounds_give_medians(first_result):
    rounds = [{"first": {"cpu": n}, "warm": n} for n in (3, 1, 2)]
    assert first_result.medians(rounds) == {"first": {"cpu": 2}, "warm": 2}


def test_failing_contenders_are_named(first_result, tiny, monkeypatch):
    monkeypatch.setitem(importlib.import_module("answers").CONTENDERS, "none", None)
    found = first_result.measure(tiny, "", 1, ["none"])
    assert "KeyError" in found["none"]["fails"]


def test_ncnn_networks():
    """Split for values with two readers, a fused activation, and a separate one."""
    from ncnn_networks import UnknownNodeError, ncnn_network
    from networks.building import Input, Network

    net = Network()
    x = net.node("Relu", net.conv("x", 3, 4, 3, pad=1))
    x = net.node("Relu", net.node("Add", net.conv(x, 4, 4, 1), x))
    inputs = (Input("x", (1, 3, 8, 8)),)
    made = ncnn_network(net.model(inputs, {x: 4}))
    second, last = net.nodes_made[1].output[0], net.nodes_made[-1].output[0]
    assert [line.split()[0] for line in made.lines] == [
        "Input",
        "Convolution",
        "Split",
        "Convolution",
        "BinaryOp",
        "ReLU",
    ]
    assert made.lines[1].split()[5] == second
    assert made.lines[1].endswith("9=1")
    assert set(made.lines[2].split()[5:]) == {made.lines[3].split()[4], made.lines[4].split()[5]}
    assert (made.blobs, made.output) == (1 + 1 + 2 + 1 + 1 + 1, last)
    assert len(made.weights) == 4 * (4 * 3 * 9 + 4 + 4 * 4 + 4) + 2 * 4
    net.node("Sigmoid", x)
    with pytest.raises(UnknownNodeError, match="Sigmoid"):
        ncnn_network(net.model(inputs, {x: 4}))
