"""Models that onnxruntime optimized for CPUs, with channels in blocks (com.microsoft.nchwc)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models import Array, assert_close, in_onnxruntime, model_of
from onnx import helper

import dml
from dml.compiler.target import DeviceClass, Target
from dml.errors import HostNodesWarning
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.blocked import NCHWC, _of_this_machine, block_size
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner

node = helper.make_node
RNG = np.random.default_rng(12)


def floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def optimized(model: Any, folder: Path) -> Path:
    """Save the model as onnxruntime optimizes it here; skip the test if it blocks no channels."""
    options, path = onnxruntime.SessionOptions(), folder / "blocked.onnx"
    options.log_severity_level = 4
    options.optimized_model_filepath = str(path)
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    if not any(one.domain == NCHWC for one in onnx.load(path).graph.node):
        pytest.skip("onnxruntime blocks no channels on this CPU")
    return path


def ops(path: Path) -> set[str]:
    return {one.op_type for one in onnx.load(path).graph.node if one.domain == NCHWC}


@pytest.mark.parametrize("channels", [3, 12, 16, 20, 24])
def test_channels_of_any_number(device: dml.Device, tmp_path: Path, channels: int) -> None:
    """Fewer channels than a block (unblocked), padded channels, depthwise with an activation, filters used twice."""
    x = floats(2, channels, 9, 7)
    initializers = {
        "v": floats(20, channels, 3, 3),
        "b": floats(20),
        "d": floats(20, 1, 3, 3),
        "w": floats(20, 20, 1, 1),
    }
    nodes = [
        node("Conv", ["x", "v", "b"], ["a"], pads=[1] * 4),
        node("Relu", ["a"], ["r"]),
        node("Conv", ["r", "d"], ["e"], pads=[1] * 4, group=20),
        node("HardSigmoid", ["e"], ["h"]),
        node("Conv", ["h", "w"], ["i"]),
        node("Add", ["i", "h"], ["s"]),
        node("Conv", ["s", "w"], ["y"]),
    ]
    model = model_of(nodes, {"x": x}, ["y"], 17, initializers=initializers)
    path = optimized(model, tmp_path)
    prepared = prepare(path, device, fallback=False)
    # Successive float32 sums of 20, 9 and 216 products of numbers around 1
    assert_close(prepared.run([x]), in_onnxruntime(model, {"x": x}), 2e-4)
    assert {one.how for one in inspect_model(path, Planner(Target(DeviceClass.DISCRETE))).operators} == {"mapped"}


def test_operators_between_blocked_ones(device: dml.Device, tmp_path: Path) -> None:
    """Groups, concatenated blocks, pooling, both kinds of resizing, additions, automatic padding."""
    x = floats(1, 32, 10, 12)
    initializers = {
        "w": floats(32, 32, 3, 3) / 10, "g": floats(32, 16, 3, 3) / 10, "v": floats(32, 64, 3, 3) / 20,
        "u": floats(32, 32, 1, 1) / 5, "twice": np.array([1, 1, 2, 2], np.float32),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
        node("Conv", ["a", "u"], ["b"]),
        node("Add", ["a", "b"], ["c"]),
        node("Relu", ["c"], ["d"]),
        node("Conv", ["d", "g"], ["e"], group=2, dilations=[2, 2], pads=[2] * 4),
        node("Concat", ["e", "d"], ["f"], axis=1),
        node("MaxPool", ["f"], ["h"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["h", "", "twice"], ["i"], mode="nearest", nearest_mode="floor",
             coordinate_transformation_mode="asymmetric"),
        node("AveragePool", ["i"], ["j"], kernel_shape=[3, 3], pads=[1] * 4),
        node("Sigmoid", ["j"], ["k"]),
        node("Mul", ["j", "k"], ["l"]),
        node("Resize", ["l", "", "twice"], ["m"], mode="linear", coordinate_transformation_mode="align_corners"),
        node("Conv", ["m", "v"], ["n"], auto_pad="SAME_UPPER", strides=[2, 2]),
        node("GlobalAveragePool", ["n"], ["p"]),
        node("Conv", ["n", "u"], ["q"]),
        node("GlobalMaxPool", ["q"], ["r"]),
        node("Add", ["p", "r"], ["y"]),
        node("Transpose", ["q"], ["z"], perm=[0, 2, 3, 1]),
    ]  # fmt: skip
    model = model_of(nodes, {"x": x}, ["y", "z"], 17, initializers=initializers)
    path = optimized(model, tmp_path)
    assert {"AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReorderInput", "ReorderOutput",
            "Upsample"} == ops(path)  # fmt: skip
    # Six convolutions, of at most 576 products each, in float32
    assert_close(prepare(path, device, fallback=False).run([x]), in_onnxruntime(model, {"x": x}), 2e-4)


def test_channels_last(device: dml.Device, tmp_path: Path) -> None:
    x = floats(2, 5, 6, 32)
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        node("Conv", ["t", "w"], ["a"], pads=[1] * 4),
        node("Transpose", ["a"], ["y"], perm=[0, 2, 3, 1]),
    ]
    model = model_of(nodes, {"x": x}, ["y"], 17, initializers={"w": floats(40, 32, 3, 3)})
    path = optimized(model, tmp_path)
    assert "Transpose" not in {one.op_type for one in onnx.load(path).graph.node}
    # Sums of 288 products of numbers around one
    assert_close(prepare(path, device, fallback=False).run([x]), in_onnxruntime(model, {"x": x}), 1e-4)


def in_blocks(filters: Array, size: int, inputs: int = 1) -> Array:
    """Return filters in the stored order: blocks of outputs, blocks of inputs, H, W, inputs and outputs of a block."""
    count, depth, height, width = filters.shape
    found = [
        filters[o + b, i + a, h, w]
        for o in range(0, count, size)
        for i in range(0, depth, inputs)
        for h in range(height)
        for w in range(width)
        for a in range(inputs)
        for b in range(size)
    ]
    return np.array(found, np.float32).reshape(filters.shape)


@pytest.mark.parametrize("size", [8, 16])
def test_blocks_of_either_size(device: dml.Device, size: int) -> None:
    """Models saved on other machines: 24 channels in blocks of 8, or 12 unblocked ones before blocks of 16."""
    counts = {8: (24, 16), 16: (12, 32)}[size]
    x = floats(1, counts[0], 5, 6)
    v, w = floats(counts[1], counts[0], 3, 3), floats(48, counts[1], 1, 1)
    d = floats(48, 1, 3, 3)
    stored = {"v": in_blocks(v, size, 8 if size == 8 else 1), "w": in_blocks(w, size, size), "d": in_blocks(d, size)}
    nodes = [
        node("ReorderInput", ["x"], ["r"], domain=NCHWC),
        node("Conv", ["r" if size == 8 else "x", "v"], ["a"], domain=NCHWC, activation="Relu"),
        node("Conv", ["a", "w"], ["b"], domain=NCHWC),
        node("Conv", ["b", "d"], ["c"], domain=NCHWC, group=48, pads=[1] * 4),
        node("ReorderOutput", ["c"], ["y"], domain=NCHWC, channels=41),
    ]
    nodes = nodes if size == 8 else nodes[1:]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, x.shape)], [helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(NCHWC, 1)])
    model.ir_version = 8
    plain = [
        node("Conv", ["x", "v"], ["a"]), node("Relu", ["a"], ["e"]), node("Conv", ["e", "w"], ["b"]),
        node("Conv", ["b", "d"], ["y"], group=48, pads=[1] * 4),
    ]  # fmt: skip
    (expected,) = in_onnxruntime(model_of(plain, {"x": x}, ["y"], 17, initializers={"v": v, "w": w, "d": d}), {"x": x})
    # Successive sums of 9, 32 and 216 products of numbers around 1
    assert_close(prepare(model, device, fallback=False).run([x]), [expected[:, :41]], 1e-3)


@pytest.mark.parametrize("filters, channels, expected", [
    ((24, 16), None, 8), ((16, 24), None, 8), ((16, 12), None, 16), ((16, 3), None, None), ((32, 16), None, None),
    ((32, 16), 20, 16), ((32, 16), 30, None), ((24, 12), None, None),
])  # fmt: skip
def test_the_size_by_the_channels(filters: tuple[int, int], channels: int | None, expected: int | None) -> None:
    """24 padded channels imply blocks of 8; 12 unblocked channels, or padding by more than 8, imply 16. With both, no
    size is returned."""
    nodes = [node("Conv", ["x", "w"], ["a"], domain=NCHWC)]
    if channels is not None:
        nodes.append(node("ReorderOutput", ["a"], ["y"], domain=NCHWC, channels=channels))
    assert block_size(nodes, {"w": np.zeros((*filters, 1, 1), np.float32)}) == expected


def test_blocked_operators_run_on_one_side(device: dml.Device) -> None:
    """A filter that is an input needs the host; values between these operators are blocked, so all run there."""
    size = _of_this_machine()
    if size is None:
        pytest.skip("onnxruntime blocks no channels on this CPU")
    x, v, w = floats(1, 3, 6, 6), floats(32, 3, 3, 3), floats(32, 32, 1, 1)
    feeds = {"x": x, "w": in_blocks(w, size, size)}
    nodes = [
        node("Conv", ["x", "v"], ["a"], domain=NCHWC),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "w"], ["c"], domain=NCHWC),
        node("ReorderOutput", ["c"], ["y"], domain=NCHWC, channels=30),
    ]
    model = model_of(
        nodes, feeds, ["y"], 17, initializers={"v": in_blocks(v, size)}, ranks={"y": 4}, domains={NCHWC: 1}
    )
    prepared = prepare(model, device)
    with pytest.warns(HostNodesWarning, match=r"2 com.microsoft.nchwc::Conv .*1 com.microsoft.nchwc::ReorderOutput"):
        found = prepared.run(feeds)
    plain = [node("Conv", ["x", "v"], ["a"]), node("Relu", ["a"], ["b"]), node("Conv", ["b", "w"], ["y"])]
    (expected,) = in_onnxruntime(model_of(plain, {"x": x}, ["y"], 17, initializers={"v": v, "w": w}), {"x": x})
    # Successive sums of 32 and 27 products of numbers around 1
    assert_close(found, [expected[:, :30]], 1e-4)
