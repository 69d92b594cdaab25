"""Score a folder of inputs with an ONNX model on every Vulkan device of a Ray cluster.

    python examples/batch_scoring.py model.onnx inputs results [--address auto] [--device NAME] [--attempts 3]

Without --address, a local cluster is started for the run; with it (or inside a Ray job), the program uses all machines
of a cluster that have dml. Each Vulkan device gets an actor: the GPUs, or the CPU's driver on machines without a GPU,
or the devices whose name contains NAME.

``inputs`` has .npy files (for a model with one input) and .npz archives (arrays by the inputs' names). Each becomes
``results/NAME.npz``, outputs by name, which appears when it is complete. An existing result is not computed again, so
that an interrupted run can be continued. Only this program reads and writes the files: the machines share no disk. An
input whose worker is lost goes to another worker, and the device gets a new worker; an input that used up its attempts,
or that the model refuses, is reported at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import zipfile
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import dml
from dml.frontends.npy import read_npy
from dml.frontends.onnx import InferenceSession

try:
    import ray
    from ray.exceptions import RayActorError, RayTaskError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ModuleNotFoundError:
    sys.exit('this example needs Ray: pip install "directml-vulkan[ray]", or tools/setup --ray')

Arrays = dict[str, npt.NDArray[Any]]


class Place(NamedTuple):
    """A Vulkan device of the cluster."""

    node: str
    host: str
    number: int
    name: str
    is_cpu: bool


def devices_here(node: str) -> list[Place]:
    host = platform.node()
    return [Place(node, host, one.index, one.name, one.device_class.name == "CPU") for one in dml.list_devices()]


class Scorer:
    """A worker: the model on one device, in its own process, so that a crashing driver ends nothing else."""

    def __init__(self, model: bytes, device: int) -> None:
        self.session = InferenceSession(model, device=device)
        self.inputs = [entry.name for entry in self.session.get_inputs()]
        self.outputs = [entry.name for entry in self.session.get_outputs()]

    def process(self) -> int:
        return os.getpid()

    def score(self, arrays: Arrays) -> Arrays:
        feeds = dict(zip(self.inputs, arrays.values(), strict=True)) if list(arrays) == [""] else arrays
        return dict(zip(self.outputs, self.session.run(None, feeds), strict=True))


def on(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node, soft=False)


def places(wanted: str | None) -> list[Place]:
    """Return the devices to use: those with ``wanted`` in their name, else each machine's GPUs, else its CPU's
    drivers."""
    found: list[Place] = []
    look = ray.remote(num_cpus=0)(devices_here)
    nodes = [node for node in ray.nodes() if node["Alive"]]
    asked = [look.options(scheduling_strategy=on(node["NodeID"])).remote(node["NodeID"]) for node in nodes]
    for node, answer in zip(nodes, asked, strict=True):
        try:
            here = ray.get(answer)
        except (RayTaskError, RayActorError) as error:
            print(f"{node['NodeManagerHostname']} is left out: {reason(error)}", file=sys.stderr)
            continue
        if wanted is not None:
            found += [place for place in here if wanted.lower() in place.name.lower()]
        else:
            found += [place for place in here if not place.is_cpu] or here
    return found


def read(path: Path) -> Arrays:
    """Return an input's arrays by name, "" for an .npy. Raises ValueError that says what is wrong with the file."""
    try:
        if path.suffix == ".npy":
            return {"": read_npy(path)}
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (dml.DMLError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error


def write(path: Path, arrays: Arrays) -> None:
    """Write the whole file or nothing, even if the machine stops in between."""
    partial = path.with_name(f".{path.name}.partial")
    with open(partial, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def reason(error: Exception) -> str:
    """Return a worker's error as one line."""
    cause = getattr(error, "cause", None) or error
    return next(iter(str(cause).strip().splitlines()[-1:]), type(cause).__name__)


class Run:
    """Inputs assigned to workers. ``failed`` has the reason for each failed input."""

    def __init__(self, model: bytes, results: Path, attempts: int) -> None:
        self.model = ray.put(model)
        self.results = results
        self.attempts = attempts
        self.pending: deque[Path] = deque()
        self.lost: Counter[Path] = Counter()
        self.failed: dict[Path, str] = {}
        self.done = self.workers = 0
        #: The pending answer of each worker: to an input, or to its start.
        self.running: dict[Any, tuple[Any, Place, Path | None]] = {}
        self.idle: list[tuple[Any, Place]] = []

    def score(self, files: Iterable[Path], where: Iterable[Place]) -> None:
        """Score the files. A device on which no worker starts is dropped."""
        self.pending.extend(files)
        self.total, self.told, self.began = len(self.pending), 0.0, time.monotonic()
        for place in where:
            self.start(place)
        while self.running and (self.pending or any(path for _, _, path in self.running.values())):
            (answer, *_), _ = ray.wait(list(self.running))
            worker, place, path = self.running.pop(answer)
            self.take(answer, worker, place, path)
            self.give()
        self.failed |= dict.fromkeys(self.pending, "no worker was left")
        self.tell(last=True)

    def start(self, place: Place) -> None:
        worker = ray.remote(num_cpus=0)(Scorer).options(scheduling_strategy=on(place.node))
        worker = worker.remote(self.model, place.number)
        self.running[worker.process.remote()] = worker, place, None

    def take(self, answer: Any, worker: Any, place: Place, path: Path | None) -> None:
        try:
            found = ray.get(answer)
        except RayTaskError as error:  # an input that the model refuses is refused everywhere
            assert path is not None
            self.failed[path] = reason(error)
        except RayActorError as error:
            self.lose(place, path, reason(error))
            return
        else:
            if path is None:
                self.workers += 1
                print(f"worker: {place.name} at {place.host}, process {found}", flush=True)
            else:
                write(self.results / f"{path.stem}.npz", found)
                self.done += 1
                self.tell()
        self.idle.append((worker, place))

    def lose(self, place: Place, path: Path | None, why: str) -> None:
        """Handle a lost worker and the input that it had."""
        if path is None:
            print(f"no worker starts on {place.name} at {place.host}: {why}", file=sys.stderr)
            return
        self.workers -= 1
        self.lost[path] += 1
        if self.lost[path] < self.attempts:
            self.pending.append(path)
        else:
            self.failed[path] = f"lost its worker {self.attempts} times: {why}"
        print(f"worker lost: {place.name} at {place.host}, with {path.name}", file=sys.stderr)
        self.start(place)

    def give(self) -> None:
        """Give inputs to the workers that have none."""
        while self.pending and self.idle:
            path = self.pending.popleft()
            try:
                arrays = read(path)
            except ValueError as error:
                self.failed[path] = str(error)
                continue
            worker, place = self.idle.pop()
            self.running[worker.score.remote(arrays)] = worker, place, path

    def tell(self, last: bool = False) -> None:
        """Print a line for the first result, every second, and at the end."""
        now = time.monotonic()
        if last or self.done == 1 or now - self.told >= 1:
            self.told = now
            speed = self.done / (now - self.began)
            print(f"{self.done} of {self.total}, {speed:.1f} per second, {self.workers} workers", flush=True)


def inputs_of(folder: Path) -> dict[str, Path]:
    """Return the inputs by the names of their results. Raises ValueError if two have the same name."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in (".npy", ".npz") and not path.name.startswith("."):
            if path.stem in found:
                raise ValueError(f"{found[path.stem]} and {path} would have the same result; rename one")
            found[path.stem] = path
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Score a folder of inputs on every Vulkan device of a Ray cluster.")
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument(
        "--address", help="address of the cluster, as for ray.init; by default, a local cluster is started"
    )
    parser.add_argument("--device", help="use the devices whose name contains this, CPU drivers included")
    parser.add_argument(
        "--attempts", type=int, default=3, help="number of workers that an input may lose before it fails"
    )
    options = parser.parse_args()

    try:
        model, inputs = options.model.read_bytes(), inputs_of(options.inputs)
        options.results.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    files = [path for name, path in inputs.items() if not (options.results / f"{name}.npz").exists()]
    print(f"{len(files)} inputs to score, {len(inputs) - len(files)} already have results")
    if not files:
        return 0

    # Inside a Ray task, RAY_ADDRESS names the task's own cluster.
    address = options.address or os.environ.get("RAY_ADDRESS") or "local"
    ray.init(address=address, log_to_driver=False, **({"include_dashboard": False} if address == "local" else {}))
    where = places(options.device)
    print("devices:", "; ".join(f"{place.name} at {place.host}" for place in where), flush=True)
    run = Run(model, options.results, options.attempts)
    run.score(files, where)
    ray.shutdown()
    if not where:
        print(
            f"the cluster has no Vulkan device{f' named {options.device}' if options.device else ''}", file=sys.stderr
        )
        return 1
    for path, why in run.failed.items():
        print(f"{path.name}: {why}", file=sys.stderr)
    print(f"{run.done} scored, {len(run.failed)} failed", flush=True)
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
