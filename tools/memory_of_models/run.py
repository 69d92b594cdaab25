"""Run one model in its own process: python -m tools.memory_of_models.run WHO MODEL FEEDS [once]; print JSON.

WHO: onnxruntime, or an axis of dml/conformance/axes.py. FEEDS: an .npz file. once: stop after the first result.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

#: Maximum number of steady runs, and the CPU seconds after which no further one starts.
_STEADY, _ENOUGH = 3, 6.0


def cpu_seconds() -> float:
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime


def peak_bytes() -> int:
    """Return the peak bytes of this process, from VmHWM on Linux: ru_maxrss starts at the parent's peak."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _session(who: str, path: str) -> Any:
    if who == "onnxruntime":
        import onnxruntime

        return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    from dml.conformance.axes import open_as
    from dml.frontends.onnx import prepare
    from dml.runtime.devices import choose

    return prepare(path, open_as(choose(None), who))


def main() -> None:
    who, path, feeds_path, *once = sys.argv[1:]
    feeds = dict(np.load(feeds_path))
    start, cpu = time.perf_counter(), cpu_seconds()
    session = _session(who, path)

    def run() -> Any:
        return session.run(None, feeds) if who == "onnxruntime" else session.run(feeds)

    results = run()
    first = {"wall": time.perf_counter() - start, "cpu": cpu_seconds() - cpu}
    if once:
        print(json.dumps({"first": first}))
        return
    walls: list[float] = []
    cpus: list[float] = []
    while len(cpus) < _STEADY and sum(cpus) < _ENOUGH:
        start, cpu = time.perf_counter(), cpu_seconds()
        run()
        walls.append(time.perf_counter() - start)
        cpus.append(cpu_seconds() - cpu)
    steady = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
    found = {"first": first, "steady": steady, "peak": peak_bytes()}
    mean = float(np.abs(np.asarray(results[-1], np.float64)).mean())
    print(json.dumps({**found, "mean": mean}))


if __name__ == "__main__":
    main()
