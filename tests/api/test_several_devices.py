"""Several Vulkan devices in one process, each with its own sessions and threads."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import two_drivers

PROGRAM = """
    import json
    import pickle
    import sys
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    import dml
    from dml.frontends.onnx import InferenceSession

    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 64])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 64])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = Path(sys.argv[1])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)

    devices = dml.list_devices()
    sessions = [InferenceSession(path, device=device.index) for device in devices]
    sessions += [pickle.loads(pickle.dumps(session)) for session in sessions]


    def errors(number):
        # Runs of several sizes; some of them keep results on the device
        session, rng, largest = sessions[number % len(sessions)], np.random.default_rng(number), 0.0
        for step in range(20):
            x = rng.standard_normal((1 + (number + step) % 5, 64)).astype(np.float32)
            fed = session.device.to_device(x) if step % 2 else x
            (y,) = session.run(None, {"x": fed})
            largest = max(largest, float(abs(y - np.maximum(x.astype(np.float64) @ weights, 0)).max()))
        return largest


    with ThreadPoolExecutor(8) as pool:
        worst = max(pool.map(errors, range(8)))
    refused = []
    for one, other in (sessions[:2], sessions[1::-1]):
        try:
            one.run(None, {"x": other.device.to_device(np.ones((2, 64), np.float32))})
        except dml.DMLError as error:
            refused.append(error.message)
    used = [session.get_provider_options()["DmlExecutionProvider"]["device"] for session in sessions]
    print(json.dumps({"used": used, "worst": worst, "refused": refused}))
"""


def test_each_device_has_sessions_and_threads(tmp_path):
    """Eight threads use four sessions on two devices, two of them pickled; devices refuse each other's arrays."""
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), tmp_path / "net.onnx"],
        env=two_drivers.environment(),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert len(set(told["used"])) == 2
    assert told["used"][:2] == told["used"][2:]
    # Sums of 64 float32 products in any order, around 50 at most: 64 rounding errors of 2**-24 each
    assert told["worst"] < 2e-4
    assert [message.partition("input 'x': ")[2] for message in told["refused"]] == [
        "the array is on another device"
    ] * 2
