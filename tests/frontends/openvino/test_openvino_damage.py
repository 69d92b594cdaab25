"""OpenVINO models with wrong attributes, sizes or connections raise a DMLError that names the layer."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino")
o = pytest.importorskip("openvino.opset13")


def saved(folder: Path, make: Callable[[Any], Any]) -> Path:
    """Save a model with one parameter, {1, 2, 4, 4}."""
    x = o.parameter([1, 2, 4, 4], np.float32, name="x")
    ov.save_model(ov.Model([o.result(make(x))], [x], "m"), str(folder / "m.xml"), compress_to_fp16=False)
    return folder / "m.xml"


def transposed(x: Any) -> Any:
    return o.convolution_backprop_data(x, np.ones((2, 3, 3, 3), np.float32), strides=[2, 2])


def resized(x: Any) -> Any:
    return o.interpolate(x, np.array([8, 8]), "nearest", "sizes", [0, 0], [0, 0], axes=np.array([2, 3]))


def recurrent(x: Any) -> Any:
    weights = np.ones((1, 9, 4), np.float32), np.ones((1, 9, 3), np.float32), np.ones((1, 9), np.float32)
    state, lengths = np.zeros((2, 1, 3), np.float32), np.full(2, 4, np.int32)
    flat = o.reshape(x, np.array([2, 4, 4]), False)
    return o.gru_sequence(flat, state, lengths, *weights, 3, "forward").output(0)


def sliced(x: Any) -> Any:
    return o.slice(x, np.array([1]), np.array([3]), np.array([1]), np.array([2]))


def decompressed(x: Any) -> Any:
    numbers = o.convert(o.constant(np.ones((4, 8, 8), np.uint8)), "f32")
    weights = o.multiply(o.subtract(numbers, np.float32(3)), np.ones((4, 8, 1), np.float32))
    rows = o.reshape(x, np.array([1, 32]), False)
    return o.matmul(rows, o.reshape(weights, np.array([8, 32]), False), False, True)


def without_elements(x: Any) -> Any:
    rows = o.slice(x, np.array([0]), np.array([0]), np.array([1]), np.array([2]))
    return o.concat([o.reduce_sum(rows, np.array([2]), True), o.pad(rows, [0, 0, 1, 0], [0, 0, 0, 0], "constant")], 2)


def clamped(x: Any) -> Any:
    return o.clamp(o.convert(x, "i32"), -1.0, 3.0)


def reshaped(x: Any) -> Any:
    return o.add(o.reduce_sum(x, np.arange(4)), o.reshape(np.ones(35, np.float32), np.array([5, 7]), False))


def pooled(x: Any) -> Any:
    return o.max_pool(x, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)


WRONG = {
    "an axis": (lambda x: o.softmax(x, 1), r' axis="1"', ' axis="7"',
                "Softmax.*: axis 7 is not a dimension of a tensor of rank 4"),
    "a negative axis": (lambda x: o.log_softmax(x, 1), r' axis="1"', ' axis="-5"', "axis -5 is not a dimension"),
    "strides": (transposed, r' strides="[^"]*"', ' strides="2"', r"attribute strides must have 2 items, found \[2\]"),
    "a long axis": (resized, r"<dim>8</dim>\s*</port>\s*</output>", "<dim>99999999</dim></port></output>",
                    "Interpolate.*more than 16777216 along an axis"),
    "a hidden size": (recurrent, r' hidden_size="3"', ' hidden_size="6"', "GRUSequence.*: hidden_size must be 3"),
    "gates": (recurrent, r' linear_before_reset="false"', ' linear_before_reset="true"',
              r"GRUSequence.*: its bias must have 12 elements for each direction, found sizes \(1, 9\)"),
    "directions": (recurrent, r' direction="forward"', ' direction="bidirectional"',
                   r"GRUSequence.*: GRU\.WeightTensor: must have sizes \(1, 2, 9, 4\)"),
    "many axes": (resized, "<dim>8</dim>\\s*<dim>8</dim>\\s*</port>\\s*</output>", "<dim>8</dim></port></output>",
                  r"Interpolate.*do not become \(1, 2, 8\)"),
    "a limit": (clamped, ' max="[^"]*"', ' max="nan"', "Clamp.*: min and max must be numbers, found -1.0 and nan"),
    "sizes of a constant": (reshaped, r'(?s)(type="Reshape".*?<output>.*?<dim>)5', r"\g<1>6",
                            "Reshape.*cannot reshape array of size 35"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told(device: dml.Device, tmp_path: Path, what: str) -> None:
    make, pattern, replacement, message = WRONG[what]
    path = saved(tmp_path, make)
    changed, count = re.subn(pattern, replacement, path.read_text("utf-8"))
    assert count == 1
    path.write_text(changed, "utf-8")
    with pytest.raises(dml.DMLError, match=message):
        read_model(path).compile(device)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: o.split(x, np.array(1), 2).output(0),
        lambda x: o.cum_sum(x, np.array(1)),
        lambda x: o.swish(x, np.float32(2)),
    ],
)
def test_an_empty_constant_in_place_of_a_number(device: dml.Device, tmp_path: Path, make: Callable[[Any], Any]) -> None:
    path = saved(tmp_path, make)
    text = path.read_text("utf-8")
    for pattern, replacement in (
        (r'shape="" offset="0" size="\d"', 'shape="0" offset="0" size="0"'),
        (r'(?s)(type="Const".*?<port id="0" precision="\w+") ?/>', r"\1><dim>0</dim></port>"),
    ):
        text, count = re.subn(pattern, replacement, text)
        assert count == 1
    path.write_text(text, "utf-8")
    with pytest.raises(dml.DMLError, match="input 1 must hold a number, found an empty constant"):
        read_model(path).compile(device)


def test_a_range_that_cannot_be(device: dml.Device, tmp_path: Path) -> None:
    for step, message in ((0.0, "Range.*Maximum allowed size exceeded|Range.*zero"), (1e-30, "Range.*size exceeded")):
        path = saved(tmp_path, lambda x: o.add(o.range(np.float32(0), np.float32(4), np.float32(1), "f32"), x))
        data = path.with_suffix(".bin")
        data.write_bytes(data.read_bytes().replace(np.float32(1).tobytes(), np.float32(step).tobytes()))
        with pytest.raises(dml.DMLError, match=message):
            read_model(path).compile(device)


@pytest.mark.parametrize("layer", [
    lambda x: o.fake_quantize(x, np.float32(0), np.float32(1), np.float32(0), np.float32(1), 16),
    lambda x: o.group_normalization(x, np.ones(2, np.float32), np.ones(2, np.float32), 2, 1e-5),
])  # fmt: skip
def test_a_missing_last_input(device: dml.Device, tmp_path: Path, layer: Callable[[Any], Any]) -> None:
    path = saved(tmp_path, layer)
    tree = ElementTree.parse(path)
    kinds = ("FakeQuantize", "GroupNormalization")
    (node,) = (node for node in tree.iterfind("layers/layer") if node.get("type") in kinds)
    inputs, edges = node.find("input"), tree.find("edges")
    assert inputs is not None
    assert edges is not None
    (edge,) = (
        edge for edge in edges if (edge.get("to-layer"), edge.get("to-port")) == (node.get("id"), inputs[-1].get("id"))
    )
    index = len(inputs) - 1
    inputs.remove(inputs[-1])
    edges.remove(edge)
    tree.write(path)
    with pytest.raises(dml.DMLError, match=f"{node.get('type')}.*input {index}"):
        read_model(path).compile(device)


@pytest.mark.parametrize("layer", [o.multiply, o.subtract, lambda a, b: o.matmul(a, b, False, False)])
def test_a_missing_input(device: dml.Device, tmp_path: Path, layer: Callable[[Any, Any], Any]) -> None:
    path = saved(tmp_path, lambda x: layer(x, x))
    text = path.read_text("utf-8")
    for pattern in (r'<edge [^>]*to-layer="1" to-port="1" ?/>', r'(?s)<port id="1".*?</port>'):
        text, count = re.subn(pattern, "", text)
        assert count == 1
    path.write_text(text, "utf-8")
    with pytest.raises(dml.DMLError, match="input 1 is missing"):
        read_model(path).compile(device)


def test_windows_without_strides(device: dml.Device, tmp_path: Path) -> None:
    path = saved(tmp_path, pooled)
    text, count = re.subn(' strides="[^"]*"', "", path.read_text("utf-8"))
    assert count == 1
    path.write_text(text, "utf-8")
    x = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    (found,) = read_model(path).compile(device)({"x": x}).values()
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))
    np.testing.assert_array_equal(found, windows.max(axis=(-2, -1)))


def test_a_slice_of_nothing(device: dml.Device, tmp_path: Path) -> None:
    path = saved(tmp_path, sliced)
    data = bytearray(path.with_suffix(".bin").read_bytes())
    numbers = np.frombuffer(data, np.int64)
    assert sorted(numbers.tolist()) == [1, 2, 3]  # a constant of equal numbers is stored once
    path.with_suffix(".bin").write_bytes(np.where(numbers == 3, 0, numbers).tobytes())
    with pytest.raises(dml.DMLError, match=r"Slice.*selects no element of dimension 2 of sizes \(1, 2, 4, 4\)"):
        read_model(path).compile(device)


VALUES = ("0", "-1", "1", "2", "99999999999999999999", "", "nan", "x", "true", "0,0", "1,2,3,4,5,6,7,8,9", "i64")


def damaged(text: str, chance: random.Random) -> str:
    """Return the text with one value, size or element changed or removed."""
    values = [*re.finditer(r'="([^"]*)"', text), *re.finditer(r"<dim>([^<]*)</dim>", text)]
    elements = list(re.finditer(r"<(?:edge|dim|data)\b[^>]*/>|<dim>[^<]*</dim>| [a-z_]+=\"[^\"]*\"", text))
    if chance.random() < 0.7:
        found = chance.choice(values)
        return text[: found.start(1)] + chance.choice(VALUES) + text[found.end(1) :]
    found = chance.choice(elements)
    return text[: found.start()] + text[found.end() :]


MODELS = (transposed, resized, recurrent, sliced, decompressed, without_elements, clamped, pooled)


@pytest.mark.parametrize("make", [*MODELS, lambda x: o.split(x, 1, 2).output(0)])
def test_damaged_files_are_models_or_dml_errors(device: dml.Device, tmp_path: Path, make: Callable[[Any], Any]) -> None:
    path = saved(tmp_path, make)
    text, chance = path.read_text("utf-8"), random.Random(0)
    refused = 0
    for _ in range(150):
        path.write_text(damaged(text, chance), "utf-8")
        try:
            read_model(path).compile(device)
        except dml.DMLError:
            refused += 1
    assert refused > 30


def on_host(folder: Path) -> Path:
    """A RegionYolo and a ReorgYolo, which run on the host, in OpenVINO."""
    older = pytest.importorskip("openvino.opset1")
    x = o.parameter([1, 18, 4, 4], np.float32, name="x")
    regions = older.region_yolo(x, 4, 1, 2, True, [0, 1, 2], 1, -1, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    results = [o.result(regions), o.result(o.reorg_yolo(x, [2]))]
    ov.save_model(ov.Model(results, [x], "m"), str(folder / "m.xml"), compress_to_fp16=False)
    return folder / "m.xml"


@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ('stride="2"', 'stride="0"', "ReorgYolo.*OpenVINO's process ended with status"),
        ('num="2"', 'num="-1"', "RegionYolo.*attribute num must be from 0 to 18, found -1"),
        ('classes="1"', 'classes="4294967296"', "RegionYolo.*attribute classes must be from 0 to 18"),
    ],
)
def test_openvino_ends_its_own_process_on_damaged_files(
    device: dml.Device, tmp_path: Path, pattern: str, replacement: str, message: str
) -> None:
    path = on_host(tmp_path)
    text, feeds = path.read_text("utf-8"), {"x": np.ones((1, 18, 4, 4), np.float32)}
    before = read_model(path).compile(device)
    expected = before(feeds)
    path.write_text(text.replace(pattern, replacement), "utf-8")
    for _ in range(2):
        with pytest.raises(dml.DMLError, match=message):
            read_model(path).compile(device)(feeds)
    for name, array in before(feeds).items():  # the second run is in a new process
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
def test_damaged_layers_on_the_host(device: dml.Device, tmp_path: Path) -> None:
    path = on_host(tmp_path)
    text, chance = path.read_text("utf-8"), random.Random(0)
    numbers = list(re.finditer(r'(?:axis|num|coords|classes|mask|anchors|stride)="([^"]*)"', text))
    refused = 0
    for _ in range(60):
        one = chance.choice(numbers)
        value = chance.choice(["0", "-1", "1", "3", "99", "100000", "4294967296", "-5", "1,2,3", "", "nan"])
        path.write_text(text[: one.start(1)] + value + text[one.end(1) :], "utf-8")
        try:
            read_model(path).compile(device)({"x": np.ones((1, 18, 4, 4), np.float32)})
        except dml.DMLError:
            refused += 1
    assert refused > 15
