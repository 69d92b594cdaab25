"""Layers of OpenVINO's IR with data-dependent output sizes, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ir_peer import agree, both

import dml
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")


def opset(version: int) -> Any:
    return importlib.import_module(f"openvino.opset{version}")


def boxes_and_scores(seed: int, images: int, classes: int, count: int, encoding: str) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    middle, extent = rng.random((images, count, 2)), 0.5 * rng.random((images, count, 2))
    pair = (middle, extent) if encoding == "center" else (middle - extent / 2, middle + extent / 2)
    scores = np.round(rng.random((images, classes, count)), 2)  # some scores are equal
    return [np.concatenate(pair, -1).astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("version", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("encoding", ["corner", "center"])
@pytest.mark.parametrize("descending", [False, True])
def test_suppression(device: dml.Device, tmp_path: Path, version: int, encoding: str, descending: bool) -> None:
    def make(boxes: Any, scores: Any) -> Any:
        more = {"output_type": "i32" if descending else "i64"} if version > 1 else {}
        numbers = np.array(6), np.float32(0.3), np.float32(0.2)
        return list(opset(version).non_max_suppression(
            boxes, scores, *numbers, box_encoding=encoding, sort_result_descending=descending, **more
        ).outputs())  # fmt: skip

    arrays = boxes_and_scores(version, 2, 3, 20, encoding)
    both(device, tmp_path, make, *arrays, tolerance=0)


@pytest.mark.parametrize("limit, overlap, least", [(0, 0.5, 0.0), (5, 1 / 3, 0.0), (5, 0.0, 0.0), (100, 1.0, 0.9)])
def test_numbers_at_their_ends(device: dml.Device, tmp_path: Path, limit: int, overlap: float, least: float) -> None:
    """Boxes whose intersection over union equals the threshold (a third, or 0) are removed."""
    corners = [(0, 0, 1, 1), (0, 0.5, 1, 1.5), (0, 5, 1, 6), (0, 0, 0, 0), (1, 1, 0, 0), (2, 2, 2, 2)]
    scores = np.array([[[1, 1, 1, 0.5, 0.25, 0.9]]], np.float32)

    def make(boxes: Any, scores: Any) -> Any:
        return list(
            o.non_max_suppression(boxes, scores, np.array(limit), np.float32(overlap), np.float32(least)).outputs()
        )

    if limit:
        both(device, tmp_path, make, np.array([corners], np.float32), scores, tolerance=0)
        return
    given = [o.parameter([1, 6, 4], np.float32, name="boxes"), o.parameter([1, 1, 6], np.float32, name="scores")]
    ov.save_model(ov.Model([o.result(one) for one in make(*given)], given, "m"), str(tmp_path / "m.xml"))
    found = read_model(tmp_path / "m.xml").compile(device)({"boxes": np.array([corners]), "scores": scores})
    # in this case the plugin does not write the number of outputs
    assert [one.shape for one in found.values()] == [(0, 3), (0, 3), (1,)]
    assert list(found.values())[2] == [0]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint64, np.uint8, np.bool_, np.float16])
def test_nonzero(device: dml.Device, tmp_path: Path, dtype: Any) -> None:
    x = np.random.default_rng(3).integers(0, 3, (1, 3, 4)).astype(dtype)
    both(device, tmp_path, lambda a: [o.non_zero(a, output_type="i32"), o.non_zero(a)], x, tolerance=0)
    agree(device, tmp_path / "model.xml", {"x0": np.zeros_like(x)}, 0)


@pytest.mark.parametrize("attribute, wrong, message", [
    ('box_encoding="corner"', 'box_encoding="round"', "box_encoding must be corner or center, found 'round'"),
    ('sort_result_descending="true"', 'sort_result_descending="perhaps"', "must be true or false, found 'perhaps'"),
])  # fmt: skip
def test_wrong_attributes(device: dml.Device, tmp_path: Path, attribute: str, wrong: str, message: str) -> None:
    given = [o.parameter([1, 6, 4], np.float32, name="boxes"), o.parameter([1, 1, 6], np.float32, name="scores")]
    node = o.non_max_suppression(*given, np.array(3))
    ov.save_model(ov.Model([o.result(node.output(0))], given, "m"), str(tmp_path / "m.xml"))
    text = (tmp_path / "m.xml").read_text()
    assert attribute in text
    (tmp_path / "m.xml").write_text(text.replace(attribute, wrong))
    with pytest.raises(dml.DMLError, match=rf"NonMaxSuppression '.*'\): .*{message}"):
        read_model(tmp_path / "m.xml").compile(device)


def test_soft_suppression_is_refused(device: dml.Device, tmp_path: Path) -> None:
    given = [o.parameter([1, 6, 4], np.float32, name="boxes"), o.parameter([1, 1, 6], np.float32, name="scores")]
    node = o.non_max_suppression(*given, np.array(3), np.float32(0.5), np.float32(0), np.float32(0.5))
    ov.save_model(ov.Model([o.result(node.output(0))], given, "m"), str(tmp_path / "m.xml"))
    with pytest.raises(dml.DMLError, match="soft_nms_sigma other than 0"):
        read_model(tmp_path / "m.xml").compile(device)


def test_damaged_sizes_of_counted_results(device: dml.Device, tmp_path: Path) -> None:
    """Wrong sizes of a data-dependent output, and a result without an input, raise a DMLError."""
    x = o.parameter([2, 3], np.float32, name="x")
    ov.save_model(ov.Model([o.result(o.transpose(o.non_zero(x), np.array([1, 0])))], [x], "m"), str(tmp_path / "m.xml"))
    text = (tmp_path / "m.xml").read_text()
    (tmp_path / "m.xml").write_text(text.replace("<dim>-1</dim>", ""))
    model = read_model(tmp_path / "m.xml").compile(device)
    with pytest.raises(dml.DMLError, match=r"its sizes must be \(2,\), found \(2, 2\)"):
        model({"x": np.eye(2, 3)})
    (tmp_path / "m.xml").write_text(text.replace('type="NonZero"', 'type="Result"'))
    with pytest.raises(dml.DMLError):
        read_model(tmp_path / "m.xml").compile(device)
    layer = '<layer id="0" name="r" type="Result" version="opset1"/>'
    (tmp_path / "m.xml").write_text(f'<net name="m" version="11"><layers>{layer}</layers><edges/></net>')
    with pytest.raises(dml.DMLError, match="input 0 is missing"):
        read_model(tmp_path / "m.xml").compile(device)


def test_a_result_of_other_sizes(device: dml.Device, tmp_path: Path) -> None:
    given = [o.parameter([1, 6, 4], np.float32, name="boxes"), o.parameter([1, 1, 6], np.float32, name="scores")]
    ov.save_model(ov.Model([o.result(o.non_max_suppression(*given, np.array(3)).output(2))], given, "m"),
                  str(tmp_path / "m.xml"))  # fmt: skip
    text = (tmp_path / "m.xml").read_text()
    head, _, rest = text.rpartition('type="NonMaxSuppression"')
    (tmp_path / "m.xml").write_text(head + 'type="NonMaxSuppression"' + rest.replace("<dim>1</dim>\n\t\t\t\t</port>\n"
                                    "\t\t\t</output>", "<dim>7</dim></port></output>"))  # fmt: skip
    with pytest.raises(dml.DMLError, match=r"its sizes must be \(7,\), found \(1,\)"):
        read_model(tmp_path / "m.xml").compile(device)
