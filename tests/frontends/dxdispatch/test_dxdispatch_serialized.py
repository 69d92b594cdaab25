"""Serialized graphs: every operator is read as it was written, and graphs run from files and from DxDispatch models."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dml
from dml.errors import DMLError
from dml.frontends.dxdispatch import Session, load
from dml.frontends.dxdispatch.serialized import read_graph
from dml.frontends.options import Options
from dml.frontends.running import explain_file
from dml.picture.files import picture_of
from frontends.dxdispatch.serialized_graphs import Node, Writer, names
from harness import tensor
from sample_descriptors import NAMES, sample

FLOATS = tensor("FLOAT32", (1, 1, 3, 4))
ADD = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(FLOATS, FLOATS, FLOATS)
SCALED = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(FLOATS, FLOATS, dml.DML_SCALE_BIAS(2, 1))
VALUES = np.arange(12, dtype=np.float32)
WEIGHTS = np.linspace(-3, 3, 12, dtype=np.float32)
#: y = 2 (x + weights) + 1, and its sum with a constant in the file itself.
NODES: list[Node] = [
    ("weights", "w", [], ["w:0"]),
    ("ones", np.ones(12, np.float32).tobytes(), [], ["ones:0"]),
    ("add", ADD, ["x", "w:0"], ["sum"]),
    ("scale", SCALED, ["sum"], ["y"]),
    ("again", ADD, ["y", "ones:0"], ["z"]),
]


def written(folder: Path, nodes: list[Node] = NODES, inputs: tuple[str, ...] = ("x",)) -> Path:
    path = folder / "Partition_0.bin"
    path.write_bytes(Writer().graph(nodes, inputs, ["y", "z"]))
    (folder / "w.bin").write_bytes(WEIGHTS.tobytes())
    return path


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    desc = sample(name)
    inputs, outputs = names(desc.inputs(), "in "), names(desc.outputs(), "out ")
    path = tmp_path / "graph.bin"
    path.write_bytes(Writer().graph([("node", desc, inputs, outputs)], inputs, outputs))
    graph = read_graph(path)
    rounded = {
        info.name: float(np.float32(getattr(desc, info.name))) for info in desc.fields_info if info.type == "float"
    }
    assert graph.nodes[0].content == replace(desc, **rounded)
    assert (graph.inputs, graph.outputs) == (tuple(inputs), tuple(outputs))


@pytest.mark.device
def test_a_graph_runs_in_a_model(device: dml.Device, tmp_path: Path) -> None:
    written(tmp_path)
    model = {
        "resources": {
            "in": {"initialValuesDataType": "FLOAT32", "initialValues": VALUES.tolist()},
            "out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 12, "value": 0}},
        },
        "dispatchables": {"graph": {"type": "dmlSerializedGraph", "sourcePath": "Partition_0.bin"}},
        # z is not bound: it gets a buffer of its own
        "commands": [{"type": "dispatch", "dispatchable": "graph", "bindings": {"x": "in", "y": "out"}}],
    }
    (tmp_path / "model.json").write_text(json.dumps(model))
    loaded = load(tmp_path / "model.json")
    session = Session(loaded, device, say=lambda _: None)
    session.run()
    np.testing.assert_allclose(session.array(loaded.resources["out"]), 2 * (VALUES + WEIGHTS) + 1, rtol=1e-6)


def test_the_level_of_a_graph_is_that_of_its_operators(tmp_path: Path) -> None:
    attention = sample("MULTIHEAD_ATTENTION")
    inputs, outputs = names(attention.inputs(), "in "), names(attention.outputs(), "out ")
    assert dml.needed_level(written(tmp_path)) == dml.DML_FEATURE_LEVEL_1_0
    assert dml.needed_level(written(tmp_path, [*NODES, ("a", attention, inputs, outputs)])) == dml.DML_FEATURE_LEVEL_6_1


@pytest.mark.device
def test_a_graph_runs_alone_on_zeros(device: dml.Device, tmp_path: Path) -> None:
    said: list[str] = []
    Session(load(written(tmp_path)), device, say=said.append).run()
    assert said[0].startswith("Dispatch 'Partition_0'")


@pytest.mark.device
def test_a_graph_is_explained_and_drawn(device: dml.Device, tmp_path: Path) -> None:
    path = written(tmp_path)
    rows = explain_file(path, device, Options()).rows
    assert [(row.node, row.operators) for row in rows] == [
        ("add", ["ELEMENT_WISE_ADD"]), ("scale", ["ELEMENT_WISE_IDENTITY"]), ("again", ["ELEMENT_WISE_ADD"])
    ]  # fmt: skip
    picture = picture_of(path, device, Options(), profile=True)
    assert [node.name for node in picture.nodes] == ["x", "add", "scale", "again", "y", "z"]
    assert all(kernel.nanoseconds for kernel in picture.kernels if not kernel.once)


@pytest.mark.device
@pytest.mark.parametrize(
    ("nodes", "inputs", "message"),
    [
        (NODES, (), r"nodes\[2\] add: no input or node of the graph is named 'x'"),
        ([*NODES, ("twice", SCALED, ["sum"], ["y"])], ("x",), r"nodes\[5\] twice: nodes\[3\] writes 'y', too"),
        ([("weights", "missing", [], ["w:0"]), *NODES[1:]], ("x",), r"nodes\[0\] weights: missing: cannot be read"),
        ([("weights", "../w", [], ["w:0"]), *NODES[1:]], ("x",), r"nodes\[0\] weights: '../w.bin' leads out of"),
        (NODES[:3], ("x",), "the graph's output: no input or node of the graph is named 'y'"),
    ],
)
def test_wrong_graphs_are_refused(
    device: dml.Device, tmp_path: Path, nodes: list[Node], inputs: tuple[str, ...], message: str
) -> None:
    with pytest.raises(DMLError, match=message):
        Session(load(written(tmp_path, nodes, inputs)), device)


@given(st.data())
def test_damaged_files_are_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = written(tmp_path_factory.mktemp("graph"))
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    patch = data.draw(st.binary(min_size=1, max_size=4))
    path.write_bytes((whole[:start] + patch + whole[start + len(patch) :])[: data.draw(st.integers(0, len(whole)))])
    with suppress(DMLError):  # any other error, or an endless loop, fails the test
        read_graph(path)
