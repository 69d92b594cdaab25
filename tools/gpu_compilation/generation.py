"""All kernels compiled for one generation of GPUs, by a process that has the driver to itself."""

from __future__ import annotations

import pickle
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dml.compiler.kernels import sources
from dml.compiler.target import DeviceClass, Target
from dml.glslang import compile_many
from dml.runtime.devices import VulkanDevice
from tools.gpu_compilation.drivers import Installation, NoDriverError, environment
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.pipelines import Kernel
from tools.gpu_compilation.workloads import Workload

_ROOT = Path(__file__).resolve().parents[2]
# One generation at a time has its GLSL compiled, on all cores; the others find it done.
_lowering = threading.Lock()


@dataclass
class Report:
    """mesa: the driver's version. kernels: by name. refused: what the driver did not compile, and why."""

    generation: str
    mesa: str
    kernels: dict[str, Figures] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def compile_generation(
    installation: Installation, generation: str, workloads: Sequence[Workload], *, loops: bool = False
) -> Report:
    """loops: whether the figures tell of the innermost loops.

    Raises NoDriverError where the driver makes no device of this generation."""
    command = [*installation.python, "-m", "tools.gpu_compilation.worker", *(["--loops"] if loops else [])]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment(installation, generation), stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        # The driver's own remarks would fill a pipe that nobody reads.
        remarks: list[bytes] = []
        listener = threading.Thread(target=lambda: remarks.extend(process.stderr or ()))
        listener.start()
        try:
            device = _receive(process)
            if not isinstance(device, VulkanDevice) or not device.name.startswith("Null hardware"):
                found = device.name if isinstance(device, VulkanDevice) else _last_line(process, listener, remarks)
                raise NoDriverError(f"it makes no {generation} out of nothing: {found}")
            report = Report(generation, _version(device.driver))
            with _lowering:
                kernels = named_kernels(workloads, target_of(device))
            assert process.stdin is not None
            pickle.dump(list(kernels.values()), process.stdin)
            process.stdin.flush()
            for name in kernels:
                answer = _receive(process)
                if isinstance(answer, Figures):
                    report.kernels[name] = answer
                elif answer is not None:
                    report.refused[name] = str(answer)
                else:
                    report.refused[name] = f"ended the compiler: {_last_line(process, listener, remarks)}"
                    break
            return report
        finally:
            process.kill()


def _receive(process: subprocess.Popen[bytes]) -> Any:
    """The next message, None where the process has ended."""
    assert process.stdout is not None
    try:
        return pickle.load(process.stdout)
    except (EOFError, pickle.UnpicklingError):
        return None


def _last_line(process: subprocess.Popen[bytes], listener: threading.Thread, remarks: list[bytes]) -> str:
    """What a process that has ended said last."""
    status = process.wait()
    listener.join()
    said = b"".join(remarks[-1:]).decode(errors="replace").strip()
    return f"{said or 'no word'} (exit {status})"


def _version(driver: str) -> str:
    """22.3.6 of "radv Mesa 22.3.6": a distribution's own revision compiles nothing differently."""
    found = re.search(r"\d+\.\d+\.\d+", driver)
    return found[0] if found else driver


def target_of(device: VulkanDevice) -> Target:
    """A card, whatever the device out of nothing calls itself."""
    return replace(device.target, device_class=DeviceClass.DISCRETE)


def named_kernels(workloads: Sequence[Workload], target: Target) -> dict[str, Kernel]:
    """The distinct kernels of the workloads by workload, shader and, from a shader's second on, number.

    A kernel that several have bears the name of the first. The names say nothing of the code, which may change.
    """
    dispatches = [
        (f"{workload.name}: {dispatch.label.removesuffix('.comp')}", dispatch)
        for workload in workloads
        for program in [workload.lower(target)]
        for dispatch in (*program.adopt, *program.initialize, *program.dispatches)
    ]
    spirv = compile_many([dispatch.source for _, dispatch in dispatches], include_dirs=(sources.directory(),))
    named: dict[str, Kernel] = {}
    known: set[Kernel] = set()
    found: Counter[str] = Counter()
    for (stem, dispatch), code in zip(dispatches, spirv, strict=True):
        buffers = len(dispatch.bindings)
        # The bindings' offsets stand before what the dispatch itself pushes.
        kernel = Kernel(code, buffers, buffers + len(dispatch.push), bool(dispatch.parameters))
        if kernel not in known:
            known.add(kernel)
            found[stem] += 1
            named[stem if found[stem] == 1 else f"{stem} {found[stem]}"] = kernel
    return named
