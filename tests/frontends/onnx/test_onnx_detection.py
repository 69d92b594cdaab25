"""Postprocessing of detectors as torchvision exports it: NonZero and TopK per class, NonMaxSuppression."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from models import assert_close, in_onnxruntime, model_of
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.device_part import DevicePart

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
SIDE, CLASSES, BEST, MOST = 6, 4, 12, 20


class Net:
    """Collects nodes and initializers of a model."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def constant(self, array: Any) -> str:
        self.held.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.held)}"))
        return str(self.held[-1].name)

    def __call__(self, op: str, *inputs: Any, outputs: Any = (), **attributes: Any) -> str:
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        made = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, names, made, **attributes))
        return made[0]


def detector() -> Any:
    """Return a model from an image to boxes, scores and labels, with a random convolution."""
    rng, net, count = np.random.default_rng(3), Net(), SIDE * SIDE
    weights = rng.standard_normal((CLASSES + 4, 3, 3, 3)).astype(np.float32)
    found = net("Conv", "image", weights, strides=[2, 2], pads=[1, 1, 1, 1])
    found = net("Transpose", net("Reshape", found, [CLASSES + 4, count]), perm=[1, 0])
    net("Split", found, np.array([CLASSES, 4]), outputs=["logits", "offsets"], axis=1)
    scores = net("Softmax", "logits", axis=1)
    corners = 4 * np.stack(np.mgrid[:SIDE, :SIDE], -1).reshape(count, 2)
    anchors = np.concatenate([corners, corners + 7], 1).astype(np.float32)
    boxes = net("Add", net("Tanh", "offsets"), anchors)
    per_class: dict[str, list[str]] = {"boxes": [], "scores": [], "labels": []}
    for label in range(1, CLASSES):
        own = net("Gather", scores, label, axis=1)
        likely = net("Squeeze", net("NonZero", net("Greater", own, np.float32(0.4))), [0])
        some = net("Gather", own, likely)
        most = net("Min", net("Shape", some), [BEST])
        best = net("TopK", some, most, outputs=[f"best{label}", f"which{label}"])
        per_class["scores"].append(best)
        per_class["boxes"].append(net("Gather", net("Gather", boxes, likely), f"which{label}"))
        per_class["labels"].append(net("Expand", [label], net("Shape", best)))
    together = {name: net("Concat", *items, axis=0) for name, items in per_class.items()}
    # An offset per class separates the classes' boxes, so that one suppression serves all
    apart = net("Mul", net("Cast", together["labels"], to=FLOAT), np.float32(100))
    moved = net("Unsqueeze", net("Add", together["boxes"], net("Unsqueeze", apart, [1])), [0])
    rows = net("Unsqueeze", together["scores"], [0, 1])
    chosen = net("NonMaxSuppression", moved, rows, [2**31], np.array([0.3], np.float32))
    chosen = net("Slice", net("Squeeze", net("Gather", chosen, [2], axis=1), [1]), [0], [MOST])
    kinds = {"boxes": (FLOAT, ["count", 4]), "scores": (FLOAT, ["count"]), "labels": (INT64, ["count"])}
    for name, value in together.items():
        net("Gather", value, chosen, outputs=[name])
    graph = helper.make_graph(
        net.nodes,
        "detector",
        [helper.make_tensor_value_info("image", FLOAT, [1, 3, 2 * SIDE, 2 * SIDE])],
        [helper.make_tensor_value_info(name, *kind) for name, kind in kinds.items()],
        net.held,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_detector_is_onnxruntimes(device: dml.Device) -> None:
    """The network runs once per image, regardless of the counts after it; no plan depends on computed values."""
    model, rng = detector(), np.random.default_rng(5)
    prepared = prepare(model, device, fallback=False)
    counts = set()
    for scale in (1, 0, 0.1, 1):
        feeds = {"image": (scale * rng.standard_normal((1, 3, 2 * SIDE, 2 * SIDE))).astype(np.float32)}
        found, expected = prepared.run(feeds), in_onnxruntime(model, feeds)
        counts.add(len(expected[0]))
        # Coordinates up to 30, float32 sums of 27 products
        assert_close(found, expected, 1e-4)
    assert {0, MOST} < counts, "none, the maximum, and between"
    assert [part.on_host for part in prepared.parts] == [False, False, False]
    plans = [[plan for _, (_, plan) in part.plans._plans.items()] for part in prepared.parts]
    assert len(plans[0]) == 1
    assert not any(plan.guards for plan in plans[0])
    assert "Conv" not in {row.node for of_part in plans[1:] for plan in of_part for row in plan.record}


def test_selected_boxes_are_gathered(device: dml.Device) -> None:
    rng = np.random.default_rng(1)
    corners = rng.uniform(0, 8, (1, 40, 2)).astype(np.float32)
    boxes = np.concatenate([corners, corners + rng.uniform(1, 4, (1, 40, 2)).astype(np.float32)], 2)
    scores = rng.uniform(0, 1, (1, 2, 40)).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["most"], value_ints=[5]),
        helper.make_node("Constant", [], ["overlap"], value_floats=[0.4]),
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["picked"]),
        helper.make_node("Slice", ["picked", "from", "to", "axis"], ["where"]),
        helper.make_node("Squeeze", ["boxes", "first"], ["flat"]),
        helper.make_node("GatherND", ["flat", "where"], ["y"]),
    ]
    initializers = {"from": np.array([2]), "to": np.array([3]), "axis": np.array([1]), "first": np.array([0])}
    feeds = {"boxes": boxes, "scores": scores}
    model = model_of(nodes, feeds, ["y"], 21, initializers=initializers, ranks={"y": 2})
    prepared = prepare(model, device, fallback=False)
    assert_close(prepared.run(feeds), in_onnxruntime(model, feeds), 0)


def test_counted_results_can_stay_on_the_device_or_be_outputs(device: dml.Device) -> None:
    """Coordinates are read on the device, kept there, and may be empty."""
    x = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
    nodes = [
        helper.make_node("Abs", ["x"], ["size"]),
        helper.make_node("NonZero", ["size"], ["where"]),
        helper.make_node("Transpose", ["where"], ["rows"]),
        helper.make_node("GatherND", ["size", "rows"], ["y"]),
    ]
    model = model_of(nodes, {"x": x}, ["where", "y"], 21, ranks={"y": 1})
    model.graph.output[0].type.tensor_type.elem_type = INT64
    prepared = prepare(model, device)
    for given in (x, -x[::-1], np.zeros_like(x)):
        where, y = prepared.run([given])
        assert where.dtype == np.int64
        assert where.tolist() == [list(axis) for axis in np.nonzero(given)]
        assert y.tolist() == np.abs(given[np.nonzero(given)]).tolist()
    assert [part.on_host for part in prepared.parts] == [False, False]
    where, y = prepared.run([device.to_device(x)], keep=["where", "y"])
    assert isinstance(where, dml.DeviceArray)
    assert where.numpy().tolist() == [[0, 1, 1], [1, 0, 2]]
    assert y.numpy().tolist() == [2, 3, 4]


def test_each_part_before_a_count_is_compiled_once(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is cut again after each NonZero that is found, and the parts before it are kept."""
    cut: list[DevicePart] = []
    make = DevicePart.__init__

    def counted(self: DevicePart, *args: Any, **named: Any) -> None:
        cut.append(self)
        make(self, *args, **named)

    monkeypatch.setattr(DevicePart, "__init__", counted)
    x = np.array([[0, 2, 0], [3, 0, 4], [5, 0, 0]], np.float32)
    nodes, last = [], "x"
    for index in range(3):
        nodes += [
            helper.make_node("NonZero", [last], [f"where{index}"]),
            helper.make_node("Transpose", [f"where{index}"], [f"rows{index}"]),
            helper.make_node("Cast", [f"rows{index}"], [f"found{index}"], to=FLOAT),
        ]
        last = f"found{index}"
    prepared = prepare(model_of(nodes, {"x": x}, [last], 21, ranks={last: 2}), device)
    expected = x
    for _ in range(3):
        expected = np.argwhere(expected).astype(np.float32)
    for _ in range(2):
        assert_close(prepared.run([x]), [expected], 0)
    # Each count that is found cuts the last part in two.
    assert len(prepared.parts) == 4
    assert len(cut) == 1 + 3 * 2


def test_counts_of_constant_shapes_are_known_beforehand(device: dml.Device) -> None:
    """Older exporters write a range as NonZero of ones; its size is known, so the model is not split."""
    x = np.arange(5000, dtype=np.float32)
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("ConstantOfShape", ["shape"], ["ones"], value=helper.make_tensor("one", INT64, [1], [1])),
        helper.make_node("NonZero", ["ones"], ["where"]),
        helper.make_node("Squeeze", ["where", "first"], ["range"]),
        helper.make_node("Gather", ["x", "range"], ["y"]),
    ]
    model = model_of(nodes, {"x": x}, ["y"], 21, symbolic=True, initializers={"first": np.array([0])})
    prepared = prepare(model, device)
    assert prepared.run([x])[0].tolist() == x.tolist()
    assert len(prepared.parts) == 1


def test_counts_inside_a_loop_are_guards(device: dml.Device) -> None:
    """A loop's body cannot be split into parts."""
    body = helper.make_graph(
        [
            helper.make_node("NonZero", ["state"], ["where"]),
            helper.make_node("Shape", ["where"], ["counts"], start=1),
            helper.make_node("Cast", ["counts"], ["count"], to=FLOAT),
            helper.make_node("Sub", ["state", "count"], ["next"]),
            helper.make_node("Identity", ["going"], ["go"]),
        ],
        "body",
        [helper.make_tensor_value_info("at", INT64, []), helper.make_tensor_value_info("going", 9, []),
         helper.make_tensor_value_info("state", FLOAT, [3])],
        [helper.make_tensor_value_info("go", 9, []), helper.make_tensor_value_info("next", FLOAT, [3])],
    )  # fmt: skip
    x = np.array([2, 0, 5], np.float32)
    nodes = [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)]
    model = model_of(nodes, {"x": x}, ["y"], 21, initializers={"times": np.array(2)})
    prepared = prepare(model, device)
    for given in (x, np.zeros_like(x), np.array([3, 3, 3], np.float32)):
        assert_close(prepared.run([given]), in_onnxruntime(model, {"x": given}), 0)
    assert len(prepared.parts) == 1
