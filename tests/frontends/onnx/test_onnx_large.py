"""Models with large weights: how much memory they take until their first result; weights in a file of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare

SIZE, LAYERS = 2560, 4
WEIGHTS = LAYERS * SIZE * SIZE * 4

#: Prints the most memory the process had before the large model, and with its first result; and the result's sum.
PROGRAM = """
    import json
    import sys

    import numpy as np

    import dml
    from dml.frontends.onnx import prepare


    def peak():
        # in bytes; getrusage's would be the parent's where that had more
        (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024


    small, large, device, size = *sys.argv[1:4], int(sys.argv[4])
    device = dml.create_device(int(device))
    prepare(small, device).run([np.ones((1, 64), np.float32)])
    before = peak()
    (y,) = prepare(large, device).run([np.ones((1, size), np.float32)])
    print(json.dumps([before, peak(), float(abs(y).sum())]))
"""


def made(path: Path, size: int, layers: int, external: bool) -> tuple[Path, float]:
    """A model of so many square products of random weights and ReLUs, and the sum of what it makes of ones."""
    rng, expected = np.random.default_rng(0), np.ones((1, size))
    nodes, held, last = [], [], "x"
    for at in range(layers):
        weights = rng.standard_normal((size, size), np.float32) / np.float32(size**0.5)
        expected = np.maximum(expected @ weights, 0)
        held.append(numpy_helper.from_array(weights, f"w{at}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{at}"], [f"product{at}"]))
        last = f"r{at}"
        nodes.append(helper.make_node("Relu", [f"product{at}"], [last]))
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", size]) for name in ("x", last)]
    graph = helper.make_graph(nodes, "large", entries[:1], entries[1:], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, path, save_as_external_data=external, location=f"{path.stem}.data", size_threshold=0)
    return path, float(expected.sum())


@pytest.mark.slow
@pytest.mark.no_validation
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("external", [False, True], ids=["in the file", "external"])
def test_weights_are_in_memory_twice_at_most(device: dml.Device, tmp_path: Path, external: bool) -> None:
    """Once on the host, once on the device, whose memory is the host's on a CPU; while a file is read, in it and as
    protobuf's. A third copy anywhere would be a hundred MiB."""
    small, _ = made(tmp_path / "small.onnx", 64, LAYERS, external)
    large, expected = made(tmp_path / "large.onnx", SIZE, LAYERS, external)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), small, large, str(device.vulkan.index), str(SIZE)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    before, peak, found = json.loads(run.stdout)
    # Four products of 2,560 terms in float32, of either sign: 1e-5 of a sum of positive numbers is generous
    assert found == pytest.approx(expected, rel=1e-5)
    # What else there is depends on what compilers take meanwhile; half a copy is far from it
    assert peak - before < 2 * WEIGHTS + WEIGHTS // 2


def test_external_weights_of_four_bits(device: dml.Device, tmp_path: Path) -> None:
    """Two to a byte in the other file."""
    numbers = np.random.default_rng(0).integers(0, 16, (64, 65))
    held = [
        helper.make_tensor("w", onnx.TensorProto.UINT4, numbers.shape, numbers.ravel()),
        numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale"], ["weights"]),
        helper.make_node("Mul", ["weights", "x"], ["y"]),
    ]
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [64, 65]) for name in "xy"]
    graph = helper.make_graph(nodes, "narrow", entries[:1], entries[1:], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    packed = (numbers.ravel()[0::2] | numbers.ravel()[1::2] << 4).astype(np.uint8)
    (tmp_path / "w.data").write_bytes(b"before" + packed.tobytes())
    weights = model.graph.initializer[0]
    weights.ClearField("int32_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": "w.data", "offset": "6", "length": str(packed.nbytes)}.items():
        weights.external_data.add(key=key, value=value)
    (tmp_path / "narrow.onnx").write_bytes(model.SerializeToString())
    (y,) = prepare(tmp_path / "narrow.onnx", device).run([np.full((64, 65), 2, np.float32)])
    assert y.tolist() == numbers.tolist()
