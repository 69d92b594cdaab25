"""The peers: each returns a function that times a case with its data on the device; None if it lacks the operator."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ncnn_networks
import numpy as np
from cases import Case
from ncnn_networks import NcnnNetwork, evaluate

import dml
from dml.graph.builder import Builder

#: Measures one evaluation of the case and returns its seconds.
Run = Callable[[], float]


def seconds(function: Callable[[], Any], times: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(times):
        function()
    return time.perf_counter() - start


def timed(function: Callable[[], Any]) -> Run:
    """Time a call as a quarter of the difference between five calls in a row and one, so that the effects of caches and
    threads left by the previous peer cancel."""
    return lambda: max(0.0, (seconds(function, 5) - seconds(function)) / 4)


def ours(case: Case, device: dml.Device) -> tuple[Run, dict[Any, np.ndarray]]:
    graph = Builder(device)
    tensors = {name: graph.input(name, a.shape, dml.data_type_of(a.dtype)) for name, a in case.inputs.items()}
    compiled = graph.compile(case.ours(graph, tensors))
    results = compiled.dispatch(case.inputs)
    # The inputs stay on the device after that dispatch.
    return timed(compiled.run_again), results


def onnxruntime(case: Case, device: dml.Device) -> tuple[Run, dict[Any, np.ndarray]] | None:
    try:
        import onnxruntime as ort
    except ImportError:
        return None
    session = ort.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    results = dict(zip(names, session.run(None, case.inputs), strict=True))
    return timed(lambda: session.run(None, case.inputs)), results


def iree(case: Case, device: dml.Device) -> tuple[Run, dict[Any, np.ndarray]] | None:
    try:
        import iree.runtime as rt
    except ImportError:
        return None
    target = "llvmpipe" if device.vulkan.target.is_cpu else "vulkan"
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "case")
        base.with_suffix(".onnx").write_bytes(case.model.SerializeToString())
        commands = (
            [sys.executable, "-m", "iree.compiler.tools.import_onnx", f"{base}.onnx", "-o", f"{base}.mlir"],
            [
                str(Path(sys.executable).with_name("iree-compile")),
                f"{base}.mlir",
                "--iree-hal-target-device=vulkan",
                *([f"--iree-vulkan-target={target}"] if target != "vulkan" else []),
                "-o",
                f"{base}.vmfb",
            ],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, timeout=900)
            if done.returncode:
                print(f"  IREE does not compile {case.name}: {done.stderr.strip().splitlines()[:1]}", file=sys.stderr)
                return None
        code = base.with_suffix(".vmfb").read_bytes()
    driver = rt.get_driver("vulkan")
    chosen = [info for info in driver.query_available_devices() if info["name"].startswith(device.vulkan.name)]
    config = rt.Config(device=driver.create_device(chosen[0]))
    module = rt.VmModule.copy_buffer(config.vm_instance, code)
    function = rt.load_vm_module(module, config)[case.model.graph.name]
    arguments = [rt.asdevicearray(config.device, array) for array in case.inputs.values()]

    def evaluate() -> Any:
        result = function(*arguments)
        return result if isinstance(result, tuple) else (result,)

    names = [output.name for output in case.model.graph.output]
    try:
        results = {name: np.asarray(value) for name, value in zip(names, evaluate(), strict=True)}
    except ValueError:
        results = {}  # IREE cannot read back some buffers of software Vulkan drivers: results are not compared
    # A call returns when the device is done; its results stay there.
    return timed(evaluate), results


def ncnn(case: Case, device: dml.Device) -> tuple[Run, dict[Any, np.ndarray]] | None:
    """Time a layer as the slope from a chain of one to a chain of five: ncnn's Python API takes host memory only.

    A whole network is timed directly, including the copies of its small input and output.
    """
    try:
        import ncnn  # noqa: F401
    except ImportError:
        return None
    index = device.vulkan.index
    if case.network is not None:
        whole = case.network
        net = ncnn_networks.load(whole, index)
        given = {whole.input: next(iter(case.inputs.values()))[0]}
        return timed(lambda: evaluate(net, given, whole.output)), {"y": evaluate(net, given, whole.output)}
    if case.ncnn is None:
        return None
    spec = case.ncnn

    def chain(length: int) -> Callable[[], np.ndarray]:
        others = [f"b{i}" for i in range(length)]
        lines = ["Input x 0 1 x0"]
        if spec.second is not None:
            lines += ["Input b 0 1 b", f"Split split 1 {length} b {' '.join(others)}"]
        lines += [spec.layer(i, f"x{i}", f"x{i + 1}").replace(" b ", f" {others[i]} ") for i in range(length)]
        blobs = 1 + length + (1 + length if spec.second is not None else 0)
        net = ncnn_networks.load(NcnnNetwork(lines, blobs, spec.weights * length), index)
        given = {"x0": np.ones(spec.shape, np.float32)} | ({} if spec.second is None else {"b": spec.second})
        return lambda: evaluate(net, given, f"x{length}")

    short, long = chain(1), chain(5)
    return (lambda: max(0.0, (seconds(long) - seconds(short)) / 4)), {}


PEERS = {"dml": ours, "ncnn": ncnn, "IREE": iree, "onnxruntime (CPU)": onnxruntime}
VULKAN = ("ncnn", "IREE")
