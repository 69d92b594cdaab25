"""Overwriting a model's file while a session exists gives correct results or a DMLError, never a crash.

Each case is a separate process, because reading beyond the end of a mapped file would kill it.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dml.runtime.devices import VulkanDevice

PROGRAM = """
    import sys
    import warnings
    from pathlib import Path

    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    import dml
    from dml.conformance.axes import open_as
    from dml.frontends.onnx import prepare
    from dml.frontends.openvino import read_model
    from dml.runtime.devices import choose

    FORMAT, CHANGE, PATH = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    DEVICE = open_as(choose(int(sys.argv[4])), sys.argv[5])
    SIZE = 640  # weights of 1.6 MB: such a file is mapped


    def weights(seed, size):
        # permuted rows, so that their determinant is 1 or -1
        return np.eye(size, dtype=np.float32)[np.random.default_rng(seed).permutation(size)]


    def write(seed, size):
        # relu(x @ w) @ w, in place of what is at the path
        w = weights(seed, size)
        if FORMAT == "OpenVINO":
            import openvino as ov
            from openvino import opset13 as opset

            x, held = opset.parameter([-1, size], np.float32, name="x"), opset.constant(w)
            y = opset.matmul(opset.relu(opset.matmul(x, held, False, False)), held, False, False)
            ov.save_model(ov.Model([opset.result(y)], [x], "m"), PATH, compress_to_fp16=False)
            return
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MatMul", ["b", "w"], ["y"]),
        ]
        if FORMAT == "host":  # (a * determinant) @ w
            nodes[1:2] = [helper.make_node("Det", ["w"], ["d"]), helper.make_node("Mul", ["a", "d"], ["b"])]
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]) for name in "xy")
        held = numpy_helper.from_array(w, "w")
        outputs = [y, helper.make_tensor_value_info("w", TensorProto.FLOAT, [size, size])]
        if FORMAT == "external":
            (PATH.parent / "w.data").write_bytes(held.raw_data)
            held.ClearField("raw_data")
            held.data_location = TensorProto.EXTERNAL
            held.external_data.add(key="location", value="w.data")
        graph = helper.make_graph(nodes, "m", [x], outputs, [held])
        PATH.write_bytes(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
        )


    def load():
        return read_model(PATH).compile(DEVICE) if FORMAT == "OpenVINO" else prepare(PATH, DEVICE)


    def run(model, seed, size, rows=1):
        # the outputs, the first of them checked
        x = np.arange(rows * size, dtype=np.float32).reshape(rows, size)
        found = list(model({"x": x}).values()) if FORMAT == "OpenVINO" else model.run([x])
        w = weights(seed, size).astype(np.float64)
        a = x @ w
        wanted = (a * np.linalg.det(w) if FORMAT == "host" else np.maximum(a, 0)) @ w
        np.testing.assert_array_equal(found[0], np.round(wanted))  # integers below 2^24: products by 1 and 0
        return found


    def refused(made):
        try:
            made()
        except dml.DMLError as error:
            assert "was modified after it was opened" in error.message, error
        else:
            raise AssertionError("not refused")


    warnings.simplefilter("ignore")
    write(0, SIZE)
    first, late = load(), load()
    kept = run(first, 0, SIZE)
    write(1, size := {"smaller": 8, "same size": SIZE}[CHANGE])
    run(load(), 1, size)
    write(2, size)
    run(load(), 2, size)
    if FORMAT != "OpenVINO":
        np.testing.assert_array_equal(kept[1], weights(0, SIZE))
    if FORMAT == "host":
        refused(lambda: run(first, 0, SIZE))
    elif FORMAT == "OpenVINO":
        run(first, 0, SIZE)  # all that it needs is on the device
        refused(lambda: run(first, 0, SIZE, rows=3))
    refused(lambda: run(late, 0, SIZE))
"""


@pytest.mark.no_validation
@pytest.mark.parametrize("change", ["smaller", "same size"])
@pytest.mark.parametrize("kind", ["in the file", "external", "host", "OpenVINO"])
def test_a_file_may_be_overwritten(vulkan: VulkanDevice, tmp_path: Path, kind: str, change: str) -> None:
    if kind == "OpenVINO":
        pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    path = tmp_path / ("m.xml" if kind == "OpenVINO" else "m.onnx")
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), kind, change, path, str(vulkan.index), "plain"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, f"exit status {run.returncode}: {run.stderr}"
