"""OpenVINO models give the same results in OpenVINO and in dml, within float32's rounding."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest

import dml
from dml.frontends.openvino import read_model, sizes

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
opset = pytest.importorskip("openvino.opset13")

#: Tolerance: both runtimes sum float32 products of magnitude around 1, in different orders.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}


def check(device, tmp_path, model, inputs, *, compressed=False, tolerance=None):
    """Save a model, run it in both runtimes and compare every result."""
    path = tmp_path / "model.xml"
    ov.save_model(model, str(path), compress_to_fp16=compressed)
    names = [parameter.get_friendly_name() for parameter in model.get_parameters()]
    core = ov.Core()
    loaded = core.read_model(str(path))
    expected = core.compile_model(loaded, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([inputs[name] for name in names])
    results = read_model(path).compile(device)(inputs)
    assert len(results) == len(expected)
    for result, output in zip(results.values(), expected.values(), strict=True):
        assert result.shape == output.shape
        assert result.dtype == output.dtype
        np.testing.assert_allclose(result.astype(np.float64), output.astype(np.float64), **(tolerance or TOLERANCE))
    return results


def parameter(name, shape, dtype=np.float32):
    return opset.parameter(list(shape), dtype, name=name)


def random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


B, S, WIDTH, H = 3, 6, 4, 5


def sequence_model(kind, direction="forward", gates=3, bias_gates=None, **attributes):
    count = 2 if direction == "bidirectional" else 1
    x, n = parameter("x", (B, S, WIDTH)), parameter("n", (B,), np.int32)
    states = [parameter(name, (B, count, H)) for name in ("h", "c")[: 2 if kind == "lstm" else 1]]
    w, r = random(1, count, gates * H, WIDTH) / 2, random(2, count, gates * H, H) / 2
    b = random(3, count, (bias_gates or gates) * H)
    make = getattr(opset, f"{kind}_sequence")
    node = make(x, *states, n, w, r, b, H, direction, **attributes)
    results = [opset.result(node.output(k)) for k in range(node.get_output_size())]
    inputs = {"x": random(4, B, S, WIDTH), "n": np.array([6, 2, 4], np.int32)}
    inputs |= {state.get_friendly_name(): random(5 + k, B, count, H) for k, state in enumerate(states)}
    return ov.Model(results, [x, *states, n], kind), inputs


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_gru_sequence(device, tmp_path, direction, linear_before_reset):
    model, inputs = sequence_model(
        "gru", direction, bias_gates=4 if linear_before_reset else 3, linear_before_reset=linear_before_reset
    )
    check(device, tmp_path, model, inputs)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_gru_sequence_with_clip(device, tmp_path, direction, linear_before_reset):
    """DML_GRU has no clip, so the steps become separate operators."""
    model, inputs = sequence_model(
        "gru", direction, bias_gates=4 if linear_before_reset else 3, linear_before_reset=linear_before_reset, clip=0.4
    )
    check(device, tmp_path, model, inputs)


@pytest.mark.parametrize(
    "names, alpha, beta",
    [(["tanh", "sigmoid"], [], []), (["relu", "tanh"], [], []), (["hardsigmoid", "tanh"], [0.3], [0.4])],
)
def test_gru_activations(device, tmp_path, names, alpha, beta):
    model, inputs = sequence_model("gru", activations=names, activations_alpha=alpha, activations_beta=beta)
    if "hardsigmoid" in names:  # OpenVINO's CPU plugin supports only these three; ONNX's definition is the reference
        path = tmp_path / "model.xml"
        ov.save_model(model, str(path), compress_to_fp16=False)
        y = next(iter(read_model(path).compile(device)(inputs).values()))
        assert np.isfinite(y).all()
        return
    check(device, tmp_path, model, inputs)


def test_weights_stored_as_float16(device, tmp_path):
    """OpenVINO saves float16 with a Convert by default."""
    model, inputs = sequence_model("gru")
    check(device, tmp_path, model, inputs, compressed=True)
    assert 'element_type="f16"' in (tmp_path / "model.xml").read_text()


def test_optional_attributes_may_be_absent(device, tmp_path):
    model, inputs = sequence_model("gru")
    check(device, tmp_path, model, inputs)
    path = tmp_path / "model.xml"
    expected = read_model(path).compile(device)(inputs)
    text = path.read_text()
    for name in ("activations", "activations_alpha", "activations_beta", "clip", "linear_before_reset", "direction"):
        text = re.sub(rf' {name}="[^"]*"', "", text)
    path.write_text(text)
    for name, value in read_model(path).compile(device)(inputs).items():
        np.testing.assert_array_equal(value, expected[name])


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind, gates", [("lstm", 4), ("rnn", 1)])
def test_lstm_and_rnn_sequences(device, tmp_path, kind, gates, direction):
    model, inputs = sequence_model(kind, direction, gates)
    check(device, tmp_path, model, inputs)


@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_gru_cell(device, tmp_path, linear_before_reset):
    x, h = parameter("x", (B, WIDTH)), parameter("h", (B, H))
    width = 4 if linear_before_reset else 3
    node = opset.gru_cell(
        x,
        h,
        random(1, 3 * H, WIDTH),
        random(2, 3 * H, H),
        random(3, width * H),
        H,
        linear_before_reset=linear_before_reset,
    )
    model = ov.Model([opset.result(node)], [x, h], "cell")
    check(device, tmp_path, model, {"x": random(4, B, WIDTH), "h": random(5, B, H)})


def test_lstm_and_rnn_cells(device, tmp_path):
    x, h, c = parameter("x", (B, WIDTH)), parameter("h", (B, H)), parameter("c", (B, H))
    lstm = opset.lstm_cell(x, h, c, random(1, 4 * H, WIDTH), random(2, 4 * H, H), random(3, 4 * H), H)
    rnn = opset.rnn_cell(x, h, random(1, H, WIDTH), random(2, H, H), random(3, H), H, ["tanh"], [], [])
    results = [opset.result(lstm.output(0)), opset.result(lstm.output(1)), opset.result(rnn)]
    model = ov.Model(results, [x, h, c], "cells")
    check(device, tmp_path, model, {"x": random(4, B, WIDTH), "h": random(5, B, H), "c": random(6, B, H)})


@pytest.mark.parametrize("batch_axis, seq_axis", [(0, 1), (1, 0), (0, 2)])
def test_reverse_sequence(device, tmp_path, batch_axis, seq_axis):
    shape = (3, 4, 5)
    x = parameter("x", shape)
    lengths = np.minimum(np.arange(1, shape[batch_axis] + 1, dtype=np.int32), shape[seq_axis])
    model = ov.Model([opset.result(opset.reverse_sequence(x, lengths, batch_axis, seq_axis))], [x], "reverse")
    check(device, tmp_path, model, {"x": random(1, *shape)})


def test_a_classifier(device, tmp_path):
    """A bidirectional GRU with gather, transpose, matrix products, softmax, split, concat and reshapes."""
    ids = parameter("ids", (B, S), np.int64)
    table, w, r, b = random(1, 20, WIDTH), random(2, 2, 3 * H, WIDTH), random(3, 2, 3 * H, H), random(4, 2, 3 * H)
    embedded = opset.gather(opset.constant(table), ids, opset.constant(0))
    zeros, lengths = np.zeros((B, 2, H), np.float32), np.full(B, S, np.int32)
    sequence = opset.gru_sequence(embedded, zeros, lengths, w, r, b, H, "bidirectional")
    y = opset.transpose(sequence.output(0), [0, 2, 1, 3])
    y = opset.reshape(y, [B, S, 2 * H], False)
    first, second = (opset.split(y, 2, 2).output(k) for k in range(2))
    y = opset.concat([opset.sigmoid(first), opset.tanh(second)], 2)
    y = opset.add(opset.matmul(y, random(5, 7, 2 * H), False, True), random(6, 7))
    y = opset.softmax(opset.reduce_mean(y, [1], False), 1)
    model = ov.Model([opset.result(y)], [ids], "classifier")
    inputs = {"ids": np.random.default_rng(0).integers(0, 20, (B, S))}
    check(device, tmp_path, model, inputs)
    check(device, tmp_path, model, inputs, compressed=True)


def test_an_image_network(device, tmp_path):
    """Convolutions, pooling, normalizations and element-wise layers."""
    x = parameter("x", (2, 4, 12, 12))
    y = opset.convolution(x, random(1, 8, 4, 3, 3) / 6, [1, 1], [1, 1], [1, 1], [1, 1])
    y = opset.relu(opset.add(y, random(2, 1, 8, 1, 1)))
    y = opset.max_pool(y, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
    y = opset.group_convolution(y, random(3, 2, 3, 4, 3, 3) / 6, [1, 1], [1, 1], [1, 1], [1, 1])
    y = (
        opset.group_normalization(y, random(4, 6), random(5, 6), 3, 1e-5)
        if hasattr(opset, "group_normalization")
        else y
    )
    y = opset.multiply(y, opset.sigmoid(y))
    y = opset.avg_pool(y, [2, 2], [0, 0], [0, 0], [2, 2], True)
    y = opset.mvn(y, [2, 3], True, 1e-6, "inside_sqrt")
    model = ov.Model([opset.result(opset.squeeze(opset.reduce_max(y, [2, 3], True), [2]))], [x], "image")
    check(device, tmp_path, model, {"x": random(9, 2, 4, 12, 12)}, tolerance={"rtol": 1e-3, "atol": 1e-4})


ELEMENTWISE = ["abs", "exp", "floor", "ceiling", "negative", "erf", "relu", "sin", "cos", "softsign", "hswish", "gelu"]


@pytest.mark.parametrize("name", [*ELEMENTWISE, "softplus", "mish", "hsigmoid"])
def test_elementwise(device, tmp_path, name):
    x = parameter("x", (2, 3, 5))
    make = getattr(opset, name)
    node = make(x, "erf") if name == "gelu" else make(x)
    check(device, tmp_path, ov.Model([opset.result(node)], [x], name), {"x": 3 * random(1, 2, 3, 5)})


def test_clamp_with_one_limit(device, tmp_path):
    """The other limit is the largest double, which exceeds FLOAT."""
    x = parameter("x", (2, 3, 5))
    model = ov.Model([opset.result(opset.clamp(x, 0.25, float(np.finfo(np.float64).max)))], [x], "clamp")
    check(device, tmp_path, model, {"x": 3 * random(1, 2, 3, 5)})


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "not_equal"]
)
def test_binary_with_broadcast(device, tmp_path, name):
    a, b = parameter("a", (2, 3, 1)), parameter("b", (3, 4))
    model = ov.Model([opset.result(getattr(opset, name)(a, b))], [a, b], name)
    check(device, tmp_path, model, {"a": random(1, 2, 3, 1), "b": random(2, 3, 4)})


def test_shapes_are_computed_here(device, tmp_path):
    x = parameter("x", (2, 3, 4))
    shape = opset.shape_of(x)
    rows = opset.gather(shape, [0, 1], 0)
    y = opset.reshape(x, opset.concat([rows, opset.constant(np.array([2, 2], np.int64))], 0), False)
    y = opset.strided_slice(y, [0, 1, 0, 0], [2, 3, 2, 2], [1, 1, 1, 1], [0] * 4, [0] * 4)
    y = opset.unsqueeze(opset.convert(y, np.float16), [0])
    check(device, tmp_path, ov.Model([opset.result(y)], [x], "shapes"), {"x": random(1, 2, 3, 4)})


def test_every_layer_that_cannot_be_mapped_is_listed(device, tmp_path):
    x = parameter("x", (1, 3, 8, 8))
    y = opset.bucketize(x, np.array([0.0, 1.0], np.float32))
    z = opset.reorg_yolo(opset.reshape(x, [1, 12, 4, 4], False), [2])
    model = ov.Model([opset.result(y), opset.result(z)], [x], "unknown")
    ov.save_model(model, str(tmp_path / "m.xml"))
    with pytest.raises(dml.DMLError, match=r"cannot be mapped to DirectML: (?=.*Bucketize)(?=.*ReorgYolo)") as error:
        read_model(tmp_path / "m.xml").compile(device, fallback=False)
    assert error.value.hresult == dml.HRESULT.E_NOTIMPL


def test_dynamic_sizes(device, tmp_path):
    """Each combination of sizes has a plan; the last eight are kept."""
    x = opset.parameter([-1, 3], np.float32, name="x")
    rows = opset.reduce_sum(x, np.array([1]), True)
    made = opset.reshape(opset.divide(x, rows), np.array([3, -1]), False)
    ov.save_model(ov.Model([opset.result(made)], [x], "dynamic"), str(tmp_path / "m.xml"), compress_to_fp16=False)
    model = read_model(tmp_path / "m.xml").compile(device)
    for size in (2, 5, 1, 2):
        array = 1 + np.abs(random(0, size, 3))
        (found,) = model({"x": array}).values()
        expected = (array / array.sum(1, keepdims=True, dtype=np.float64)).reshape(3, size)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    first = model.compiled_for({"x": np.zeros((2, 3))})
    for size in range(3, 10):
        model.compiled_for({"x": np.zeros((size, 3))})
    assert model.compiled_for({"x": np.zeros((2, 3))}) is first
    for size in range(10, 18):
        model.compiled_for({"x": np.zeros((size, 3))})
    assert model.compiled_for({"x": np.zeros((2, 3))}) is not first


def test_dynamic_sizes_that_do_not_fit(device, tmp_path):
    x, y = opset.parameter([-1, 3], np.float32, name="x"), opset.parameter([-1, 3], np.float32, name="y")
    ov.save_model(ov.Model([opset.result(opset.add(x, y))], [x, y], "dynamic"), str(tmp_path / "m.xml"))
    model = read_model(tmp_path / "m.xml").compile(device)
    given = np.zeros((2, 3), np.float32)
    with pytest.raises(dml.DMLError, match="parameter 'y': an array must be given"):
        model({"x": given})
    with pytest.raises(dml.DMLError, match=r"Parameter 'x'.*its shape is \(-1, 3\), found an array of shape \(2, 4\)"):
        model({"x": np.zeros((2, 4)), "y": given})
    with pytest.raises(dml.DMLError, match="no parameter 'z'; the model has x, y"):
        model({"x": given, "y": given, "z": given})
    with pytest.raises(dml.DMLError, match=r"Add.*inputs of sizes \(2, 3\), \(4, 3\) do not fit"):
        model({"x": given, "y": np.zeros((4, 3))})


@pytest.mark.parametrize("given", [[[1.0, 2.0], [3.0]], "text", object()])
def test_inputs_that_are_no_arrays(device, tmp_path, given):
    for shape in ([2, 2], [-1, 2]):
        x = opset.parameter(shape, np.float32, name="x")
        ov.save_model(ov.Model([opset.result(opset.relu(x))], [x], "m"), str(tmp_path / "m.xml"))
        model = read_model(tmp_path / "m.xml").compile(device)
        with pytest.raises(dml.DMLError, match=r"^parameter 'x': takes an array"):
            model({"x": given})


def test_layers_that_have_no_rule_for_sizes_are_named(device, tmp_path, monkeypatch):
    x = opset.parameter([-1, 3], np.float32, name="x")
    made = opset.einsum([x, x], "ij,ij->i")
    ov.save_model(ov.Model([opset.result(made)], [x], "dynamic"), str(tmp_path / "m.xml"))
    importlib.import_module("dml.frontends.openvino.layers.einsum")  # which registers its rule
    monkeypatch.delitem(sizes._RULES, "Einsum")
    with pytest.raises(dml.DMLError, match=r"Einsum.*none are inferred for this layer"):
        read_model(tmp_path / "m.xml").compile(device)({"x": random(0, 2, 3)})


GOOD = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/><output>
<port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="k" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/><output>
<port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="2" name="y" type="Add" version="opset1"><input><port id="0"/><port id="1"/></input><output>
<port id="2" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""


@pytest.mark.parametrize("version", [10, 11])
def test_a_model_by_hand(device, tmp_path, version):
    (tmp_path / "m.xml").write_text(GOOD.replace('version="11"', f'version="{version}"'))
    np.array([10, 20], np.float32).tofile(tmp_path / "m.bin")
    result = read_model(tmp_path / "m.xml").compile(device)({"x": np.array([1, 2])})
    np.testing.assert_array_equal(result["y"], np.array([11, 22], np.float32))


BROKEN = {
    "not XML": (lambda t: t[:200], "not an OpenVINO model"),
    "another root": (lambda t: "<a/>", "its root is <a>"),
    "version": (lambda t: t.replace('version="11"', 'version="7"'), "IR version 7 is not supported"),
    "entities": (
        lambda t: '<!DOCTYPE x [<!ENTITY a "b">]>' + t.replace('name="m"', 'name="&a;"'),
        "not an OpenVINO model: EntitiesForbidden",
    ),
    "outside the .bin": (lambda t: t.replace('offset="0"', 'offset="4"'), r"bytes 4 to 12 lie outside the 8"),
    "size": (lambda t: t.replace('size="8"', 'size="4"'), r"4 bytes are not an array of shape \(2,\) of f32"),
    "edge": (lambda t: t.replace('to-layer="3"', 'to-layer="9"'), "the edge from layer 2 to layer 9"),
    "port": (lambda t: t.replace('from-port="2"', 'from-port="5"'), r"layer 2 \(Add 'y'\) has no output port 5"),
    "unconnected": (lambda t: re.sub(r'<edge from-layer="1".*?/>', "", t), "its input port 1 is not connected"),
    "cycle": (
        lambda t: t.replace('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"'),
        "form a cycle through layer 2",
    ),
    "a dimension beyond 32 bits": (
        lambda t: t.replace("<dim>2</dim>", "<dim>4294967296</dim>"),
        r"has the dimension 4294967296; the maximum is 4294967295",
    ),
    "dimension": (lambda t: t.replace("<dim>2</dim>", "<dim>two</dim>"), "has the dimension 'two'"),
    "element type": (lambda t: t.replace('element_type="f32"', 'element_type="f3"'), "element type 'f3'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(device, tmp_path, case):
    change, message = BROKEN[case]
    (tmp_path / "m.xml").write_text(change(GOOD))
    np.array([10, 20], np.float32).tofile(tmp_path / "m.bin")
    with pytest.raises(dml.DMLError, match=message):
        read_model(tmp_path / "m.xml").compile(device)


def test_missing_files_and_inputs(device, tmp_path):
    with pytest.raises(dml.DMLError, match="cannot be read"):
        read_model(tmp_path / "none.xml")
    (tmp_path / "m.xml").write_text(GOOD)
    with pytest.raises(dml.DMLError, match=r"lie outside the \.bin file, which is missing"):
        read_model(tmp_path / "m.xml").compile(device)
    np.array([10, 20], np.float32).tofile(tmp_path / "m.bin")
    model = read_model(tmp_path / "m.xml").compile(device)
    with pytest.raises(dml.DMLError, match="no parameter 'z'; the model has x"):
        model({"z": np.zeros(2)})
    with pytest.raises(dml.DMLError, match=r"its shape is \(2,\), found an array of shape \(3,\)"):
        model({"x": np.zeros(3)})
    with pytest.raises(dml.DMLError, match="input 'x': an array must be given"):
        model({})


def test_the_command(device, tmp_path, monkeypatch):
    """dml run model.xml with inputs from .npy files and outputs to a folder; --explain and --profile."""
    from typer.testing import CliRunner

    from dml.cli import app

    (tmp_path / "m.xml").write_text(GOOD)
    np.array([10, 20], np.float32).tofile(tmp_path / "m.bin")
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    monkeypatch.chdir(tmp_path)
    which = ["--device", str(device.vulkan.index)]
    run = CliRunner().invoke(app, ["run", "m.xml", "--input", "x=x.npy", "--output-dir", "out", *which])
    assert run.exit_code == 0, run.output
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), np.array([11, 22], np.float32))
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "y.npy"]
    explained = CliRunner().invoke(app, ["run", "m.xml", "--explain", *which])
    assert "ELEMENT_WISE_ADD" in explained.output
    profiled = CliRunner().invoke(app, ["run", "m.xml", "--input", "x=x.npy", "--profile", "t.json", *which])
    assert profiled.exit_code == 0, profiled.output
    assert "traceEvents" in (tmp_path / "t.json").read_text()
    broken = CliRunner().invoke(app, ["run", "m.xml", "--input", "x=m.bin", *which])
    assert broken.exit_code == 1
    assert "is not an .npy file" in broken.output
