"""NonMaxSuppression on the device returns the same rows as onnxruntime's CPU provider."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import in_onnxruntime
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def suppression(
    boxes: Any, scores: Any, *, held: dict[str, Any] | None = None, fed: Any = (), opset: int = 11, **more: Any
):
    """Return a model of one operator. held: optional inputs that are constants. fed: names of optional model inputs."""
    held = held or {}
    kinds = {"limit": INT64, "overlap": FLOAT, "least": FLOAT}
    names = [name if name in held or name in fed else "" for name in kinds]
    while names and not names[-1]:
        names.pop()
    entries = [
        helper.make_tensor_value_info("boxes", FLOAT, np.shape(boxes)),
        helper.make_tensor_value_info("scores", FLOAT, np.shape(scores)),
        *(helper.make_tensor_value_info(name, kinds[name], [1]) for name in fed),
    ]
    arrays = {name: np.array([value], np.int64 if name == "limit" else np.float32) for name, value in held.items()}
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", *names], ["chosen"], **more)
    graph = helper.make_graph(
        [node], "suppression", entries, [helper.make_tensor_value_info("chosen", INT64, ["count", 3])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


def equal(device: dml.Device, model: Any, feeds: dict[str, Any]) -> np.ndarray:
    prepared = prepare(model, device, fallback=False)
    (found,) = prepared.run(feeds)
    (expected,) = in_onnxruntime(model, feeds)
    assert found.dtype == np.int64
    assert found.tolist() == expected.tolist()
    assert not any(part.on_host for part in prepared.parts)
    return found


def random_boxes(rng: Any, images: int, count: int, centers: int = 0, size: float = 0.3) -> np.ndarray:
    middle, extent = rng.random((images, count, 2)), size * rng.random((images, count, 2))
    pair = (middle, extent) if centers else (middle - extent / 2, middle + extent / 2)
    return np.concatenate(pair, -1).astype(np.float32)


#: Few coordinates and scores, so that boxes share corners and edges, overlap exactly at thresholds, are empty or
#: flipped, and scores are equal.
CORNERS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, 0.1, 0.7])
SCORES = st.sampled_from([0.0, -0.0, 0.5, 0.25, 1.0, -1.0, 0.1, 0.3, float("inf"), float("-inf")])


@st.composite
def suppressions(draw: Any) -> tuple[Any, dict[str, Any]]:
    images, classes, count = (draw(st.integers(1, most)) for most in (2, 3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        boxes, scores = random_boxes(rng, images, count, size=0.9), rng.random((images, classes, count))
    else:
        boxes = draw(st.lists(CORNERS, min_size=4 * count * images, max_size=4 * count * images))
        many = classes * count * images
        odd = st.one_of(SCORES, st.just(float("nan"))) if draw(st.booleans()) else SCORES
        scores = draw(st.lists(odd, min_size=many, max_size=many))
    feeds = {
        "boxes": np.array(boxes, np.float32).reshape(images, count, 4),
        "scores": np.array(scores, np.float32).reshape(images, classes, count),
    }
    numbers = {
        "limit": draw(st.sampled_from([0, 1, 2, 5, 12, 100, 2**31, 2**40, -3])),
        "overlap": draw(st.sampled_from([0.0, 0.5, 1.0, 0.25, 1 / 3, 0.1, 0.6])),
    }
    if draw(st.booleans()) or np.isnan(feeds["scores"]).any():  # without it, onnxruntime's order of NaN is arbitrary
        numbers["least"] = draw(st.sampled_from([0.0, -0.0, 0.25, 0.5, -2.0, float("-inf"), float("nan"), 1.0]))
    fed = [name for name in numbers if draw(st.booleans())]
    constants = {name: value for name, value in numbers.items() if name not in fed}
    if draw(st.booleans()) and "overlap" in constants:
        del constants["overlap"]
    for name in fed:
        feeds[name] = np.array([numbers[name]], np.int64 if name == "limit" else np.float32)
    centers = draw(st.sampled_from([0, 1]))
    model = suppression(feeds["boxes"], feeds["scores"], held=constants, fed=fed, center_point_box=centers)
    return model, feeds


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=suppressions())
def test_any_boxes_are_onnxruntimes(device: dml.Device, case: tuple[Any, dict[str, Any]]) -> None:
    equal(device, *case)


@pytest.mark.parametrize("opset", [10, 11])
@pytest.mark.parametrize("centers", [0, 1])
@pytest.mark.parametrize("equal_scores", [False, True])
def test_many_boxes(device: dml.Device, opset: int, centers: int, equal_scores: bool) -> None:
    """More boxes than one invocation handles, and quotients on both sides of the threshold. Boxes with equal scores are
    selected in index order."""
    rng = np.random.default_rng(7)
    boxes, scores = random_boxes(rng, 2, 700, centers), rng.random((2, 3, 700)).astype(np.float32)
    if equal_scores:
        scores = np.ceil(4 * scores) / 4
    held = {"limit": 300, "overlap": 0.3, "least": 0.05}
    model = suppression(boxes, scores, held=held, opset=opset, center_point_box=centers)
    found = equal(device, model, {"boxes": boxes, "scores": scores})
    per_class = np.bincount(3 * found[:, 0] + found[:, 1])
    assert per_class.max() <= 300
    assert 100 < per_class.min() < 600, "some boxes of a class are removed"


def test_rounds_in_several_dispatches(device: dml.Device) -> None:
    """Boxes that do not overlap take a round each, in all more rounds than one dispatch of a CPU driver may run."""
    rng = np.random.default_rng(8)
    corners = 2 * np.stack(np.mgrid[:45, :45], -1).reshape(1, -1, 2)
    boxes = np.concatenate([corners, corners + 1], -1).astype(np.float32)
    scores = rng.permutation(2 * 2025).astype(np.float32).reshape(1, 2, 2025)
    model = suppression(boxes, scores, held={"overlap": 0.5, "least": 100.0}, fed=["limit"])
    prepared = prepare(model, device, fallback=False)
    for limit in (2**62, 1500, 0):
        feeds = {"boxes": boxes, "scores": scores, "limit": np.array([limit])}
        (found,) = prepared.run(feeds)
        assert found.tolist() == in_onnxruntime(model, feeds)[0].tolist()
    plans = [plan for part in prepared.parts for _, (_, plan) in part.plans._plans.items()]
    assert len(plans) == 1, "an input is not a guard"
    assert not plans[0].guards


def test_nan_in_boxes_and_overflowing_areas(device: dml.Device) -> None:
    rng = np.random.default_rng(9)
    boxes, scores = random_boxes(rng, 1, 60, size=0.9), rng.random((1, 1, 60)).astype(np.float32)
    boxes[0, ::7, rng.integers(0, 4, 9)] = np.nan
    boxes[0, 1::7] *= np.float32(1e30)
    boxes[0, 2::14, 2:] = np.inf
    for centers in (0, 1):
        model = suppression(boxes, scores, held={"limit": 60, "overlap": 0.3}, center_point_box=centers)
        equal(device, model, {"boxes": boxes, "scores": scores})


def test_without_boxes_or_limit(device: dml.Device) -> None:
    boxes, scores = np.zeros((1, 0, 4), np.float32), np.zeros((1, 2, 0), np.float32)
    model = suppression(boxes, scores, held={"limit": 3})
    assert prepare(model, device, fallback=False).run([boxes, scores])[0].shape == (0, 3)
    boxes, scores = random_boxes(np.random.default_rng(1), 1, 4), np.ones((1, 1, 4), np.float32)
    assert not len(equal(device, suppression(boxes, scores), {"boxes": boxes, "scores": scores}))


def test_inside_a_branch(device: dml.Device) -> None:
    """A branch cannot be split into parts, so the number of rows becomes a guard."""
    rng = np.random.default_rng(10)
    boxes, scores = random_boxes(rng, 1, 30, size=0.6), rng.random((1, 2, 30)).astype(np.float32)
    rows = helper.make_tensor_value_info("rows", INT64, ["count", 3])
    taken = helper.make_graph(
        [helper.make_node("NonMaxSuppression", ["boxes", "scores", "limit", "overlap"], ["rows"])], "then", [], [rows]
    )
    other = helper.make_graph([helper.make_node("Identity", ["none"], ["rows"])], "else", [], [rows])
    entries = [helper.make_tensor_value_info("boxes", FLOAT, boxes.shape),
               helper.make_tensor_value_info("scores", FLOAT, scores.shape),
               helper.make_tensor_value_info("which", onnx.TensorProto.BOOL, [])]  # fmt: skip
    held = {"limit": np.array([9]), "overlap": np.array([0.2], np.float32), "none": np.zeros((0, 3), np.int64)}
    graph = helper.make_graph(
        [helper.make_node("If", ["which"], ["chosen"], then_branch=taken, else_branch=other)], "g", entries,
        [helper.make_tensor_value_info("chosen", INT64, ["count", 3])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)
    prepared = prepare(model, device, fallback=False)
    counts = set()
    for which, own in ((True, scores), (True, -scores), (True, scores[..., ::-1].copy()), (False, scores)):
        feeds = {"boxes": boxes, "scores": own, "which": np.array(which)}
        (found,), (expected,) = prepared.run(feeds), in_onnxruntime(model, feeds)
        assert found.tolist() == expected.tolist()
        counts.add(len(found))
    assert len(counts) > 1


@pytest.mark.parametrize("boxes, scores, more, message", [
    ((1, 3, 4), (1, 1, 3), {"held": {"limit": 1, "overlap": 1.5}}, "input 3 must be from 0 to 1, found 1.5"),
    ((1, 3, 4), (1, 1, 3), {"held": {"limit": 1}, "center_point_box": 2}, "'center_point_box' must be 0 or 1, found 2"),
    ((1, 3, 5), (1, 1, 3), {"held": {"limit": 1}}, r"boxes must have 4 numbers each, found shape \(1, 3, 5\)"),
    ((1, 3, 4), (1, 1, 2), {"held": {"limit": 1}}, r"scores must have shape \(1, classes, 3\)"),
    ((1, 3, 4), (2, 1, 3), {"held": {"limit": 1}}, r"scores must have shape \(1, classes, 3\)"),
    ((3, 4), (1, 1, 3), {"held": {"limit": 1}}, r"input 0 must have rank 3, found shape \(3, 4\)"),
])  # fmt: skip
def test_wrong_inputs(device: dml.Device, boxes: Any, scores: Any, more: Any, message: str) -> None:
    arrays = np.zeros(boxes, np.float32), np.zeros(scores, np.float32)
    with pytest.raises(dml.DMLError, match=message):
        prepare(suppression(*arrays, **more), device, fallback=False).run(list(arrays))
