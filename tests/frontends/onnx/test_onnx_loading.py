"""Untrusted models: invalid ones raise a DMLError before memory of a claimed size is allocated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from models import assert_close, in_onnxruntime, model_of
from onnx import helper

import dml
from dml.frontends.onnx import load_model, prepare


def addition(initializer: Any = None) -> Any:
    """Return y = x + w, where w is the given initializer."""
    x = np.zeros(4, np.float32)
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": x}, ["y"], 21, initializers={"w": x})
    if initializer is not None:
        model.graph.initializer[0].CopyFrom(initializer)
    return model


def external(location: str, **entries: str) -> Any:
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.mark.parametrize("data", [b"\x08\x07\xff\xff\xff", b"not a model"])
def test_broken_protobuf(data: bytes) -> None:
    with pytest.raises(dml.DMLError, match=r"protobuf|has no graph|valid ONNX"):
        load_model(data)


def test_every_truncation_of_a_model_is_a_clean_error() -> None:
    whole = addition().SerializeToString()
    for length in range(0, len(whole) - 1, 7):
        try:
            load_model(whole[:length])
        except dml.DMLError:
            continue
        # Truncation between two fields can leave a smaller valid model.
        onnx.checker.check_model(onnx.load_from_string(whole[:length]))


def test_missing_file() -> None:
    with pytest.raises(dml.DMLError, match="cannot be read"):
        load_model("/nowhere/model.onnx")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"dims": [2**40]}, "its dimensions say"),
        ({"dims": [-4]}, "a dimension is negative"),
        ({"raw_data": b"\0" * 15}, "its dimensions say 16 bytes, found 15"),
        ({"data_type": 99}, "unknown data type"),
    ],
)
def test_data_that_does_not_fill_its_dimensions(change: dict[str, Any], message: str) -> None:
    fields = {"name": "w", "data_type": onnx.TensorProto.FLOAT, "dims": [4], "raw_data": b"\0" * 16}
    with pytest.raises(dml.DMLError, match=message):
        load_model(addition(onnx.TensorProto(**{**fields, **change})))


def save(folder: Path, tensor: Any) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(addition(tensor).SerializeToString())
    return path


def test_external_data_inside_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    np.arange(6, dtype=np.float32).tofile(tmp_path / "data" / "weights.bin")
    model = load_model(save(tmp_path, external("data/weights.bin", offset="8", length="16")))
    assert onnx.numpy_helper.to_array(model.graph.initializer[0]).tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("location", ["../secret.bin", "{root}/secret.bin", "link.bin", "inner/../../secret.bin", ""])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(b"\0" * 16)
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(dml.DMLError, match="must be a file in the model's folder"):
        load_model(save(folder, external(location.format(root=tmp_path))))


@pytest.mark.parametrize(
    "entries, message",
    [
        ({"offset": "8"}, "has 16 bytes, not 16 from 8 on"),
        ({"offset": "1"}, "has 16 bytes, not 16 from 1 on"),
        ({"offset": "-4"}, "from -4 on"),
        ({"length": "8"}, "has a length of 8"),
        ({"offset": "many"}, "must be integers"),
    ],
)
def test_external_data_beyond_its_file(tmp_path: Path, entries: dict[str, str], message: str) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\0" * 16)
    with pytest.raises(dml.DMLError, match=message):
        load_model(save(tmp_path, external("weights.bin", **entries)))


def test_external_data_needs_a_path(tmp_path: Path) -> None:
    with pytest.raises(dml.DMLError, match="needs the model's path"):
        load_model(addition(external("weights.bin")).SerializeToString())


def test_errors_of_invalid_models_name_the_fault() -> None:
    model = addition()
    model.graph.node[0].input[1] = "nothing"
    with pytest.raises(dml.DMLError, match="nothing"):
        load_model(model)


def test_the_checker_is_spared_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """onnx's checker gets the model without large weights, which it would serialize twice; dml checks those itself."""
    weights = np.arange(4096, dtype=np.float32)
    x = np.zeros(4096, np.float32)
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], {"x": x}, ["y"], 21, initializers={"w": weights})
    found: list[Any] = []
    monkeypatch.setattr(onnx.checker, "check_model", found.append)
    loaded = load_model(model.SerializeToString())
    assert onnx.numpy_helper.to_array(loaded.graph.initializer[0]).tolist() == weights.tolist()
    assert [seen.ByteSize() < 1024 for seen in found] == [True]
    assert found[0].graph.initializer[0].name == "w"
    assert found[0].graph.node == loaded.graph.node


FLOAT = onnx.TensorProto.FLOAT


def left_out(change: str) -> Any:
    """Return y = gelu(x + w) without something that onnx's checker requires."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["s"]),
        helper.make_node("Gelu", ["s"], ["y"], domain="com.microsoft"),
    ]
    x = np.zeros(4, np.float32)
    model = model_of(nodes, {"x": x}, ["y"], 21, initializers={"w": x + 1}, domains={"com.microsoft": 1})
    graph = model.graph
    if change == "shape of an output":
        graph.output[0].type.tensor_type.ClearField("shape")
    elif change == "type of an output":
        graph.output[0].ClearField("type")
    elif change == "shape of an input":
        graph.input[0].type.tensor_type.ClearField("shape")
    elif change == "type of an inner value":
        graph.value_info.add(name="s")
    elif change == "import of com.microsoft":
        del model.opset_import[1]
    elif change == "IR version":
        model.ir_version = 0
    elif change == "initializers among the inputs, in version 3":
        model.ir_version = 3
    elif change == "name of the graph":
        graph.name = ""
    elif change == "order":
        graph.node.extend([graph.node.pop(0)])
    elif change == "use of an initializer":
        graph.initializer.add().CopyFrom(onnx.numpy_helper.from_array(x, "unused"))
    elif change == "one initializer, which comes twice":
        graph.initializer.insert(0, onnx.numpy_helper.from_array(x + 7, "w"))
    return model


@pytest.mark.parametrize(
    "change",
    [
        "shape of an output",
        "type of an output",
        "shape of an input",
        "type of an inner value",
        "import of com.microsoft",
        "IR version",
        "initializers among the inputs, in version 3",
        "name of the graph",
        "order",
        "use of an initializer",
        "one initializer, which comes twice",
    ],
)
def test_what_onnxruntime_does_without(device: dml.Device, change: str) -> None:
    model = left_out(change)
    before = model.SerializeToString()
    feeds = {"x": np.linspace(-2, 1, 4, dtype=np.float32)}
    assert_close(prepare(model, device).run(feeds), in_onnxruntime(model, feeds), 1e-6)
    assert model.SerializeToString() == before


def test_a_nested_graph_in_any_order(device: dml.Device) -> None:
    """Nodes inside and outside are unsorted: the branch reads the output of a later node."""
    branches = {
        name: helper.make_graph(
            [helper.make_node(op, ["t"], [name]), helper.make_node("Mul", ["s", "s"], ["t"])],
            name, [], [helper.make_tensor_value_info(name, FLOAT, None)],
        )
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }  # fmt: skip
    nodes = [helper.make_node("If", ["c"], ["y"], **branches), helper.make_node("Exp", ["x"], ["s"])]
    x = np.array([0.5, 1], np.float32)
    model = model_of(nodes, {"x": x, "c": np.array(True)}, ["y"], 21)
    (y,) = prepare(model, device).run({"x": x, "c": np.array(True)})
    np.testing.assert_allclose(y, -np.exp(2 * x.astype(np.float64)), rtol=1e-6)


def test_an_absent_optional_input(device: dml.Device) -> None:
    x = np.array([-1, 2], np.float32)
    model = model_of([helper.make_node("Clip", ["x", "", "most"], ["y"])], {"x": x}, ["y"], 21,
                     initializers={"most": np.array(1, np.float32)})  # fmt: skip
    assert prepare(model, device).run([x])[0].tolist() == [-1, 1]


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda graph: graph.node[0].input.__setitem__(1, "nowhere"), r"node 'Add' reads 'nowhere'"),
        (lambda graph: graph.output[0].__setattr__("name", "q"), r"no node computes its output 'q'"),
        (lambda graph: graph.input[0].ClearField("type"), r"input 'x' has no type"),
        (lambda graph: graph.node[0].output.__setitem__(0, "x"), r"reads 's'"),
        (lambda graph: graph.node.append(helper.make_node("Neg", ["x"], ["s"])), r"'s' has been used as output"),
        (lambda graph: graph.node.extend([helper.make_node("Add", ["y", "a"], ["b"]),
                                          helper.make_node("Add", ["b", "x"], ["a"])]), r"sorted, however input 'a'"),
    ],
)  # fmt: skip
def test_an_invalid_models_message_names_the_value(change: Any, message: str) -> None:
    model = left_out("nothing")
    change(model.graph)
    with pytest.raises(dml.DMLError, match=message):
        load_model(model)


@pytest.mark.parametrize("version", [-3, 0, 2**40])
def test_a_version_that_no_opset_has(version: int) -> None:
    model = addition()
    model.opset_import[0].version = version
    with pytest.raises(dml.DMLError, match=f"no version {version}"):
        load_model(model)


def test_a_version_that_onnx_does_not_know() -> None:
    model = addition()
    known = onnx.defs.onnx_opset_version()
    model.opset_import[0].version = known
    load_model(model)
    model.opset_import[0].version = known + 1
    with pytest.raises(dml.DMLError, match=f"imports opset {known + 1} of ai.onnx; .* knows versions up to {known}:"):
        load_model(model)


def damageable() -> Any:
    """Return a model with nested graphs, a function, a host node, constants and strings."""
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    branches = {
        name: helper.make_graph([helper.make_node(op, ["s"], [name])], name, [],
                                [helper.make_tensor_value_info(name, FLOAT, [2, 3])])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }  # fmt: skip
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["s"]),
        helper.make_node("If", ["c"], ["chosen"], "choice", **branches),
        helper.make_node("Twice", ["chosen"], ["t"], domain="mine"),
        helper.make_node("Constant", [], ["square"], value=onnx.numpy_helper.from_array(np.eye(3, dtype=np.float32))),
        helper.make_node("Det", ["square"], ["d"], "determinant"),
        helper.make_node("Add", ["t", "d"], ["y"], doc_string="the last"),
    ]
    feeds = {"x": x, "c": np.array(True)}
    model = model_of(nodes, feeds, ["y"], 21, initializers={"w": x}, domains={"mine": 1})
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    model.functions.append(helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 21)]))
    return model, feeds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_a_damaged_file_ends_in_nothing_but_a_dml_error(device: dml.Device, seed: int) -> None:
    model, feeds = damageable()
    whole, rng = model.SerializeToString(), np.random.default_rng(seed)
    prepare(whole, device).run(feeds)
    refused = 0
    for _ in range(80):
        data = bytearray(whole)
        for at in rng.integers(0, len(data), rng.integers(1, 4)):
            data[at] = rng.integers(0, 256)
        try:
            prepare(bytes(data), device).run(feeds)
        except dml.DMLError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("place", ["initializer", "attribute", "nested"])
@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_a_segment_of_a_tensor_is_refused(device: dml.Device, place: str) -> None:
    """onnx.numpy_helper raises a ValueError for segments."""
    model, _ = damageable()
    (choice,) = (node for node in model.graph.node if node.op_type == "If")
    tensors = {
        "initializer": model.graph.initializer[0],
        "attribute": next(node for node in model.graph.node if node.op_type == "Constant").attribute[0].t,
        "nested": choice.attribute[0].g.initializer.add(),
    }
    tensors["nested"].CopyFrom(onnx.numpy_helper.from_array(np.ones(3, np.float32), "more"))
    tensors[place].segment.end = 1
    with pytest.raises(dml.DMLError, match="it is a segment of a tensor; segments are not supported"):
        prepare(model.SerializeToString(), device)


def test_attributes_of_a_function_without_types(device: dml.Device) -> None:
    """onnx.parser leaves these types out, and onnxruntime accepts that."""
    text = """<ir_version: 10, opset_import: ["": 18, "my": 1]>
        g (float[N, 4] x) => (float[N, 2] y) { y = my.leaky<slope = 0.25, by = 1>(x) }
        <domain: "my", opset_import: ["": 18]>
        leaky <slope, by> (x) => (y) {
            a = LeakyRelu<alpha = @slope>(x)
            y, z = Split<axis = @by, num_outputs = 2>(a)
        }"""
    x = np.array([[1, -2, 3, 4], [-5, 6, -7, 8]], np.float32)
    (result,) = prepare(onnx.parser.parse_model(text), device).run({"x": x})
    np.testing.assert_array_equal(result, np.where(x < 0, x / 4, x)[:, :2])
