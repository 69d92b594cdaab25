"""tools/zoo: a few of its models, and its detection of wrong results."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tools.zoo_of_models.comparing import WrongError, compare, steps
from tools.zoo_of_models.entry import Entry
from tools.zoo_of_models.rows import NOT_EXPORTED, REFUSED, RIGHT
from tools.zoo_of_models.running import run

ROOT = Path(__file__).resolve().parents[2]
needs_runtime = pytest.mark.skipif(importlib.util.find_spec("onnxruntime") is None, reason="needs onnxruntime")

#: Models of both exporters, one with a part on the host, a recurrent one, and one of 8-bit integers.
SELECTION = ["lenet", "resnext", "ssdlite with non-maximum suppression", "gru tagger", "quantized u-net"]


@needs_runtime
@pytest.mark.slow
@pytest.mark.parametrize("name", SELECTION)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_models_are_right(device, tmp_path, name):
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    from tools.zoo_of_models.models import ENTRIES

    row = run(ENTRIES[name], tmp_path, str(device.vulkan.index), check=True)
    assert (row.verdict, row.why) == (RIGHT, "")
    assert row.nodes > 5
    assert row.error is not None


def relu(path):
    """Write a model of one node; return its input."""
    entries = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4,)) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", entries[:1], entries[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return {"x": np.array([-1, 2, -3, 4], np.float32)}


@needs_runtime
def test_times_of_cold_warm_and_steady_runs(device, tmp_path):
    row = run(Entry("relu", relu, "onnx"), tmp_path, str(device.vulkan.index), check=False)
    assert (row.verdict, row.error, row.opset, row.nodes, row.host_parts) == (RIGHT, 0, 17, 1, 0)
    assert None not in (row.cold, row.warm, row.steady, row.theirs)


@needs_runtime
def test_models_without_results_have_distinct_verdicts(device, tmp_path):
    def broken(path):
        raise LookupError("no such operator")

    index = str(device.vulkan.index)
    row = run(Entry("broken", broken, "nobody"), tmp_path / "broken", index, check=True)
    assert (row.verdict, row.why) == (NOT_EXPORTED, "LookupError: no such operator")
    assert "absent_package" in run(Entry("a", relu, "onnx", needs=["absent_package"]), tmp_path, index, True).why

    entry = Entry("relu", relu, "onnx")
    assert run(entry, tmp_path / "kept", index, check=True).verdict == RIGHT
    refused = run(entry, tmp_path / "kept", "no such device", check=True)
    assert refused.verdict == REFUSED
    assert "no such device" in refused.why


def test_compare_finds_wrong_results():
    y = np.array([1, -4], np.float32)
    assert compare([y], [y], "float32", [None]) == 0
    assert compare([y + np.float32(2**-16)], [y], "float32", [None]) == pytest.approx(2**-18)
    assert compare([y + np.float32(0.5)], [y], "quantized", [0.5]) == 1
    for ours, theirs, precision, step in [
        ([y * 1.001], [y], "float32", None),
        ([y * np.nan], [y], "float32", None),
        ([y[:1]], [y], "float32", None),
        ([y.astype(np.float16)], [y], "float32", None),
        ([y, y], [y], "float32", None),
        ([y + np.float32(1)], [y], "quantized", 0.5),
        ([np.array([1, 2])], [np.array([1, 3])], "float32", None),
        ([np.array(["a"])], [np.array(["b"])], "float32", None),
    ]:
        with pytest.raises(WrongError):
            compare(ours, theirs, precision, [step] * len(theirs))


def test_steps_are_the_scales_of_the_outputs_nodes(tmp_path):
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "scale"], ["y"]),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    entries = [helper.make_tensor_value_info("x", TensorProto.UINT8, (4,))]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4,)) for name in ("y", "z")]
    numbers = [numpy_helper.from_array(np.array(0.25, np.float32), "scale")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "steps", entries, results, numbers)), tmp_path / "model.onnx")
    assert steps(tmp_path / "model.onnx") == [0.25, None]


def test_the_command_names_missing_packages(tmp_path):
    """A package that cannot be imported hides PyTorch."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch', name='torch')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tools.zoo_of_models", "--list"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "needs torch: tools/setup --zoo" in done.stderr
