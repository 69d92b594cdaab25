"""Compile kernels that models commonly use, to ship with a wheel, into the cache at DML_CACHE_DIR.

The kernels are those of ``tools/bench --first-result``'s models on this machine's devices. Files in the cache's folder
spirv are named by the identities of source and compiler, so changed kernels are not found and compile as usual.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dml import glslang
from dml.compiler.kernels import sources
from dml.frontends.onnx.load.loading import load
from dml.frontends.onnx.run.backend import PreparedModel
from dml.planning.planner import Planner
from dml.runtime.devices import list_devices


def compile_for(target: Any, models: Iterable[Any]) -> int:
    """Compile the kernels of the models' first step for a target; return their number."""
    found = set()
    for model in models:
        planner: Any = Planner(target)  # replaces a device: only ``target`` is read
        plan, _ = PreparedModel(load(model.proto), planner).compiled_for(model.steps()["first"])
        assert plan.compiled is not None
        program = plan.compiled.program
        found |= {dispatch.source for dispatch in (*program.initialize, *program.dispatches)}
    glslang.compile_many(sorted(found, key=repr), include_dirs=(sources.directory(),))
    return len(found)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).with_name("benchmarks")))
    from networks import MODELS

    for device in list_devices():
        count = compile_for(device.target, [model() for model in MODELS.values()])
        print(f"{count} kernels for {device.name}", file=sys.stderr)
