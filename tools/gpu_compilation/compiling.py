"""Compile all kernels for one chip, in processes that load only the vendor's driver."""

from __future__ import annotations

import pickle
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dml.compiler.kernels import sources
from dml.compiler.program import Dispatch
from dml.compiler.target import DeviceClass, Target
from dml.errors import DMLError
from dml.glslang import compile_many
from dml.runtime import features
from dml.runtime.devices import VulkanDevice
from tools.gpu_compilation.drivers import Installation, NoDriverError, Vendor, mesa
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.pipelines import Kernel
from tools.gpu_compilation.workloads import Workload

_ROOT = Path(__file__).resolve().parents[2]
#: Kernels per process: RADV 26.1 on its shim crashes at the 517th pipeline, whichever it is.
_KERNELS_OF_A_PROCESS = 400
#: Timeout, in seconds, of compiling a kernel or opening a device. Broadcom's compiler repeats register allocation after
#: every spill, so kernels with hundreds of spills take minutes.
LONGEST = 120.0
#: Timeout, in seconds, for drivers that run in an emulator, on a loaded machine.
EMULATED_LONGEST = 5 * LONGEST
#: VkDriverId of NVK, Mesa's driver for NVIDIA
_NVK = 24
# One chip at a time compiles its GLSL, on all cores; the others then find the SPIR-V in the cache.
_lowering = threading.Lock()


@dataclass
class Report:
    """A chip's results.

    mesa: the driver's version. kernels: figures by name. refused: kernel or workload -> error. known: number of kernels
    that were not compiled again. workloads: number of workloads. lowering: CPU seconds until the SPIR-V was ready.
    """

    vendor: str
    chip: str
    mesa: str
    kernels: dict[str, Figures] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    known: int = 0
    workloads: int = 0
    lowering: float = 0.0

    @property
    def spilling(self) -> int:
        """Number of kernels that spill."""
        return sum(found.does_spill for found in self.kernels.values())

    @property
    def slowest(self) -> float:
        """Milliseconds of the kernel that took longest to compile."""
        return max((found.milliseconds for found in self.kernels.values()), default=0.0)

    @property
    def seconds(self) -> float:
        """CPU seconds of the whole: lowering and the driver's compiler."""
        return self.lowering + sum(found.milliseconds for found in self.kernels.values()) / 1e3


class _Process:
    """A worker process. device: the device it opened, or None."""

    def __init__(self, process: subprocess.Popen[bytes], longest: float) -> None:
        self._process, self._longest = process, longest
        # Drain stderr, since a full pipe would block the process.
        self._remarks: list[bytes] = []
        self._listener = threading.Thread(target=lambda: self._remarks.extend(process.stderr or ()))
        self._listener.start()
        self.device = self.receive()

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def receive(self) -> Any:
        """Return the next message; None if the process has ended or was ended for taking too long."""
        assert self._process.stdout is not None
        timer = threading.Timer(self._longest, self._process.kill)
        timer.start()
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return None
        finally:
            timer.cancel()

    def end(self) -> int:
        """Wait for the process and for all that it printed; return its exit status."""
        status = self._process.wait()
        self._listener.join()
        return status

    def last_line(self) -> str:
        """Return the last line that a finished process printed, and its exit status."""
        status = self.end()
        said = b"".join(self._remarks[-1:]).decode(errors="replace").strip()
        return f"{said or 'no message'} (exit {status})"


@contextmanager
def _started(vendor: Vendor, installation: Installation, chip: str, *, loops: bool) -> Iterator[_Process]:
    """Start a worker and yield it. Raises NoDriverError if the driver opens no device."""
    command = [*installation.python, "-m", "tools.gpu_compilation.worker", vendor.name, *(["--loops"] if loops else [])]
    pipe, environment = subprocess.PIPE, vendor.environment(installation, chip)
    with subprocess.Popen(command, cwd=_ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        worker = None
        try:
            worker = _Process(process, EMULATED_LONGEST if vendor.is_emulated else LONGEST)
            if not isinstance(worker.device, VulkanDevice):
                raise NoDriverError(f"the driver opens no {chip}: {worker.last_line()}")
            worker.device = _identified(worker.device, vendor, chip)
            yield worker
        finally:
            process.kill()
            if worker is not None:
                worker.end()  # before the pipes are closed


def _identified(device: VulkanDevice, vendor: Vendor, chip: str) -> VulkanDevice:
    """Return the device with the deviceID of the chip (see ``Vendor.devices``)."""
    found = vendor.devices.get(chip)
    return device if found is None else replace(device, target=replace(device.target, device=found))


#: Vendor, chip and version of Mesa -> figures by kernel
Known = Callable[[str, str, str], Mapping[str, Figures]]


def compile_chip(
    vendor: Vendor,
    installation: Installation,
    chip: str,
    workloads: Sequence[Workload],
    *,
    loops: bool = False,
    known: Known = lambda *_: {},
) -> Report:
    """Compile the workloads' kernels for a chip, except those with the digest of their ``known`` figures.

    loops: also count the instructions of innermost loops. Raises NoDriverError if the driver cannot open the chip."""
    with _started(vendor, installation, chip, loops=loops) as worker:
        report = Report(vendor.name, chip, _version(worker.device.driver), workloads=len(workloads))
        with _lowering:
            start = time.process_time()
            named = named_kernels(workloads, target_of(worker.device), report.refused)
            report.lowering = time.process_time() - start
        opening = features.opening(worker.device.target.features, worker.device.api_version)
        digests = {name: kernel.digest(opening) for name, kernel in named.items()}
        same = {
            name: found
            for name, found in known(vendor.name, chip, report.mesa).items()
            if found.digest == digests.get(name)
        }
        left = [item for item in named.items() if item[0] not in same]
        _compile_some(worker, left, report)
    while left:
        with _started(vendor, installation, chip, loops=loops) as worker:
            _compile_some(worker, left, report)
    compiled = {name: replace(found, digest=digests[name]) for name, found in report.kernels.items()}
    report.known = len(same)
    report.kernels = {name: found for name in named if (found := same.get(name) or compiled.get(name))}
    return report


def lower_chip(vendor: Vendor, installation: Installation, chip: str, workloads: Sequence[Workload]) -> Report:
    """Return a report of the workloads that cannot be lowered for the chip; compile nothing.

    Raises NoDriverError if the driver cannot open the chip.
    """
    with _started(vendor, installation, chip, loops=False) as worker:
        report = Report(vendor.name, chip, _version(worker.device.driver))
        target = target_of(worker.device)
    for workload in workloads:
        _lowered(workload, target, report.refused)
    return report


def _lowered(workload: Workload, target: Target, refused: dict[str, str]) -> list[Dispatch]:
    try:
        program = workload.lower(target)
    except DMLError as error:
        refused[workload.name] = str(error)
        return []
    return [*program.adopt, *program.initialize, *program.dispatches]


def _compile_some(worker: _Process, left: list[tuple[str, Kernel]], report: Report) -> None:
    """Compile kernels from the front of ``left`` and remove them; stop after one that crashes the process."""
    part = left[:_KERNELS_OF_A_PROCESS]
    worker.send([kernel for _, kernel in part])
    for name, _ in part:
        left.pop(0)
        answer = worker.receive()
        if isinstance(answer, Figures):
            report.kernels[name] = answer
            continue
        if answer is None:
            report.refused[name] = f"ended the compiler: {worker.last_line()}"
            return
        report.refused[name] = str(answer)


def target_of_chip(vendor: Vendor, chip: str) -> Target:
    """Return the target that the driver reports for a chip. Raises NoDriverError if it opens none."""
    with _started(vendor, vendor.find(), chip, loops=False) as worker:
        return target_of(worker.device)


def _version(driver: str) -> str:
    """Return "26.1.6" for "radv Mesa 26.1.6-1": a distribution's revision does not change the compiler.

    driver: as the device reports it; if it reports none (Adreno 702), the version is that of the packages.
    """
    found = re.search(r"\d+\.\d+\.\d+", driver or mesa())
    return found[0] if found else driver


def target_of(device: VulkanDevice) -> Target:
    """Return the device's target as a GPU. For NVIDIA the number of cores is left out: its shim always reports two."""
    target = device.target
    if target.driver == _NVK:
        target = replace(target, cores=0)
    is_gpu = target.device_class in (DeviceClass.DISCRETE, DeviceClass.INTEGRATED)
    return target if is_gpu else replace(target, device_class=DeviceClass.DISCRETE)


def named_kernels(workloads: Sequence[Workload], target: Target, refused: dict[str, str]) -> dict[str, Kernel]:
    """Return the workloads' distinct kernels by workload, shader and, from a shader's second kernel on, a number.

    A kernel of several workloads is named after the first. Names do not depend on the code, which may change.
    refused: receives the workloads that cannot be lowered for the target.
    """
    dispatches = []
    for workload in workloads:
        every = _lowered(workload, target, refused)
        dispatches += [(f"{workload.name}: {dispatch.label.removesuffix('.comp')}", dispatch) for dispatch in every]
    spirv = compile_many([dispatch.source for _, dispatch in dispatches], include_dirs=(sources.directory(),))
    named: dict[str, Kernel] = {}
    known: set[Kernel] = set()
    found: Counter[str] = Counter()
    for (stem, dispatch), code in zip(dispatches, spirv, strict=True):
        buffers = len(dispatch.bindings)
        # The bindings' offsets come before the dispatch's own push constants.
        kernel = Kernel(code, buffers, buffers + len(dispatch.push), bool(dispatch.parameters))
        if kernel not in known:
            known.add(kernel)
            found[stem] += 1
            named[stem if found[stem] == 1 else f"{stem} {found[stem]}"] = kernel
    return named
