"""Measure one contender on one model in its own process, from an open device to each result, and write JSON.

    python answers.py CONTENDER FOLDER DEVICE REPORT STEP...

FOLDER holds model.onnx and the inputs of each step, STEP.npz. The results are written to REPORT's folder.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from ncnn_networks import UnknownNodeError, evaluate, load, ncnn_network

from dml.stages import Collected, collect, cpu_seconds

Arrays = Mapping[str, np.ndarray]

#: Runs whose median is the steady time, after one warm-up run.
STEADY_RUNS = 5


class Absent(Exception):
    """The contender cannot run here; the message is the reason."""


class Contender(Protocol):
    """An engine to measure. Its constructor imports packages and opens the device; the time of ``load`` is part of the
    first result's."""

    def prepare(self, path: Path) -> None:
        """Prepare as users of this engine do once in advance; this is not measured."""

    def load(self, path: Path) -> None: ...

    def run(self, inputs: Arrays) -> list[np.ndarray]: ...


class Ours(Contender):
    def __init__(self, device: str | None) -> None:
        import dml
        import dml.frontends.onnx as onnx

        self._device = dml.create_device(device)
        self._context = self._device.context  # this opens the device
        self._prepare = onnx.prepare

    def load(self, path: Path) -> None:
        self._model = self._prepare(path, self._device)

    def run(self, inputs: Arrays) -> list[np.ndarray]:
        return list(self._model.run(inputs))


class OnnxRuntime(Contender):
    """ONNX Runtime's CPU provider."""

    provider = "CPUExecutionProvider"

    def __init__(self, device: str | None) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise Absent("onnxruntime is not installed") from None
        if self.provider not in onnxruntime.get_available_providers():
            raise Absent(f"the onnxruntime installed has no {self.provider}")
        self._options = onnxruntime.SessionOptions()
        self._options.log_severity_level = 4
        self._session_of = onnxruntime.InferenceSession

    def load(self, path: Path) -> None:
        self._session = self._session_of(path, self._options, providers=[self.provider])
        if self.provider not in self._session.get_providers():
            raise Absent(f"{self.provider} finds no device that it takes")

    def run(self, inputs: Arrays) -> list[np.ndarray]:
        return [np.asarray(result) for result in self._session.run(None, dict(inputs))]


class WebGPU(OnnxRuntime):
    """ONNX Runtime's WebGPU provider, which is Dawn over Vulkan. It chooses the device itself."""

    provider = "WebGpuExecutionProvider"


class Ncnn(Contender):
    """ncnn over Vulkan, for networks of convolutions, one image at a time."""

    def __init__(self, device: str | None) -> None:
        try:
            import ncnn
        except ImportError:
            raise Absent("ncnn is not installed") from None
        import dml

        self._device = dml.create_device(device).vulkan.index
        self._opened = ncnn.get_gpu_device(self._device)

    def prepare(self, path: Path) -> None:
        import onnx

        try:
            self._network = ncnn_network(onnx.load(path))
        except UnknownNodeError as error:
            raise Absent(str(error)) from None

    def load(self, path: Path) -> None:
        self._net = load(self._network, self._device)

    def run(self, inputs: Arrays) -> list[np.ndarray]:
        (images,) = inputs.values()
        whole = self._network
        return [np.stack([evaluate(self._net, {whole.input: image}, whole.output) for image in images])]


CONTENDERS: dict[str, Callable[[str | None], Contender]] = {
    "dml": Ours,
    "onnxruntime (CPU)": OnnxRuntime,
    "onnxruntime (WebGPU)": WebGPU,
    "ncnn": Ncnn,
}


@contextmanager
def _clock() -> Iterator[dict[str, float]]:
    found: dict[str, float] = {}
    wall, cpu = time.perf_counter(), cpu_seconds()
    yield found
    found["wall"], found["cpu"] = time.perf_counter() - wall, cpu_seconds() - cpu


def _answer(contender: Contender, inputs: Arrays, before: Callable[[], None]) -> tuple[dict[str, Any], Any]:
    """Return the figures of the first run at a shape (``before`` included) and of a steady run, and the results."""
    watch: AbstractContextManager[Collected] = collect() if isinstance(contender, Ours) else nullcontext(Collected())
    with watch as collected, _clock() as first:
        before()
        results = contender.run(inputs)
    runs = []
    for _ in range(1 + STEADY_RUNS):
        with _clock() as run:
            contender.run(inputs)
        runs.append(run)
    steady = {what: statistics.median(run[what] for run in runs[1:]) for what in ("wall", "cpu")}
    stages = {name: vars(spent) for name, spent in collected.stages.items()}
    counts = {kind: len(collected.distinct.get(kind, ())) for kind in ("compilations", "kernels", "pipelines")}
    kernels: Any = collected.distinct.get("kernels", ())
    made = sorted(label for label, _ in kernels)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": first, "steady": steady, "stages": stages, **counts, "made": made, "peak_mib": most}, results


def main(name: str, folder: Path, device: str, report: Path, steps: Sequence[str]) -> None:
    try:
        contender = CONTENDERS[name](device or None)
        contender.prepare(folder / "model.onnx")
        answers: dict[str, Any] = {}
        for step in steps:
            with np.load(folder / f"{step}.npz") as file:
                inputs = dict(file)
            before = (lambda: None) if answers else (lambda: contender.load(folder / "model.onnx"))
            answers[step], results = _answer(contender, inputs, before)
            np.savez(report.with_name(f"{report.stem}.{step}.npz"), *results)
    except Absent as reason:
        answers = {"absent": str(reason)}
    report.write_text(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), sys.argv[5:])
