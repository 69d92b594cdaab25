"""Run one model in its own process: results, times, and the nodes that ran on the host.

    python -m tools.zoo_of_models.answer FOLDER DEVICE RUNS

FOLDER holds model.onnx and inputs.npz. The results are written to results.npz, the figures to stdout as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dml
from dml.errors import DMLError
from dml.stages import cpu_seconds


def answer(folder: Path, device_name: str, runs: int) -> dict[str, Any]:
    """Run the model. Return the CPU seconds from an open device to the first result, of a steady run, and host
    nodes."""
    import dml.frontends.onnx as onnx

    device = dml.create_device(device_name or None)
    _ = device.context  # this opens the device
    with np.load(folder / "inputs.npz") as file:
        inputs = dict(file)
    warnings.simplefilter("ignore", dml.frontends.onnx.HostNodesWarning)
    begun = cpu_seconds()
    try:
        model = onnx.prepare(folder / "model.onnx", device)
        results = model.run(inputs)
    except DMLError as error:
        return {"refused": error.message}
    found: dict[str, Any] = {"first": cpu_seconds() - begun, "device": device.vulkan.name}
    np.savez(folder / "results.npz", *(tensor(result) for result in results))
    times = []
    for _ in range(runs):
        begun = cpu_seconds()
        model.run(inputs)
        times.append(cpu_seconds() - begun)
    if times:
        found["steady"] = statistics.median(times[1:] or times)
    host = [part for part in model.parts if part.on_host]
    found["host_parts"] = len(host)
    found["host_nodes"] = sorted({node.op_type for part in host for node in part.nodes})
    return found


def tensor(result: Any) -> np.ndarray:
    """Return a result as an array. scikit-learn's probabilities, a sequence of maps class -> number, become rows."""
    if isinstance(result, list) and result and isinstance(result[0], dict):
        return np.array([list(row.values()) for row in result])
    return np.asarray(result)


if __name__ == "__main__":
    print(json.dumps(answer(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
