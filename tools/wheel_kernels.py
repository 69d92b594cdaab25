"""Compiles kernels that models use again and again, for a wheel to bring; DML_CACHE_DIR says where to.

They are those of the models of ``tools/bench --first-result`` on this machine's devices, and lie in its folder spirv
under the identity of their source and of the compiler: what has changed since is not found there, and compiled as ever.
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
    """The kernels of the models' first step on such a device. How many there are."""
    found = set()
    for model in models:
        planner: Any = Planner(target)  # which asks of a device what it does itself
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
