"""Run the suite's cases with mutants: a JSON line in for each mutant, a JSON line out with its outcome.

In: {"root": folder of the mutant's shaders, "cases": [[axis, case], ...], "most": cases to run, "seconds": most}.
Out: {"outcome": "caught" | "survived" | "invalid" | "unused", "by": the case, "reason", "run": cases that ran}. A
mutant that hangs or crashes ends the process, which the suite also counts as a failure.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
from pathlib import Path
from typing import Any

from dml import glslang
from dml.compiler import repeated
from dml.compiler.kernels import sources
from dml.conformance.axes import open_as
from dml.conformance.case import Case
from dml.conformance.execution import run_case
from dml.conformance.graphs import program_of
from dml.errors import DMLError
from dml.glslang import Source
from dml.runtime.devices import choose

_ORIGINAL = sources.directory()
_known: dict[Source, bytes] = {}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    vulkan = choose(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        faulthandler.dump_traceback_later(request["seconds"], exit=True)
        answers.write(json.dumps(_outcome(vulkan, request)) + "\n")
        answers.flush()
        faulthandler.cancel_dump_traceback_later()


def _outcome(vulkan: Any, request: dict[str, Any]) -> dict[str, Any]:
    ran = 0
    changes = False
    for axis, name in request["cases"]:
        device, case = open_as(vulkan, axis), Case.parse(name)
        _use(Path(request["root"]))
        try:
            differs = _differs(case, device.vulkan.target, Path(request["root"]))
        except DMLError as error:
            return {"outcome": "invalid", "by": name, "reason": str(error).splitlines()[0], "run": ran}
        if not differs:
            continue
        changes = True
        outcome = run_case(device, case)
        ran += 1
        if outcome["status"] in ("failed", "loose"):
            return {"outcome": "caught", "by": name, "reason": outcome["status"], "run": ran}
        if ran >= request["most"]:
            break
    return {"outcome": "survived" if changes else "unused", "by": "", "reason": "", "run": ran}


def _differs(case: Case, target: Any, root: Path) -> bool:
    """Return whether the mutant changes the SPIR-V of any of the case's kernels."""
    program = program_of(case.desc, target)
    kernels = list(dict.fromkeys(d.source for d in (*program.adopt, *program.initialize, *program.dispatches)))
    found = glslang.compile_many(kernels, include_dirs=(root,))
    _use(_ORIGINAL)
    originals = program_of(case.desc, target)
    original = list(dict.fromkeys(d.source for d in (*originals.adopt, *originals.initialize, *originals.dispatches)))
    missing = [source for source in original if source not in _known]
    _known.update(zip(missing, glslang.compile_many(missing, include_dirs=(_ORIGINAL,)), strict=True))
    _use(root)
    return found != [_known[source] for source in original]


def _use(root: Path) -> None:
    """Make the compiler read kernels from a folder."""
    if sources.directory() != root:
        sources.directory = lambda: root  # type: ignore[assignment]
        sources._text.cache_clear()
        sources.identifiers.cache_clear()
        repeated._kept.clear()


if __name__ == "__main__":
    main()
