"""A process that runs cases on one device, presented as one axis. Requests and answers are JSON lines.

The first request is ``{"device": 0, "name": "...", "axis": "plain", "seed": 0}``; each further one ``{"case": id,
"seconds": most}``, answered with its outcome, or ``{"smallest": id, "seconds": most}``, answered with the smallest case
that fails like it. ``{"lost": why}`` is the last answer if the device can run nothing more. A case that takes longer
than its seconds ends the process, whatever the driver does; what drivers print goes to standard error.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import queue
import sys
import threading
from typing import Any, TextIO

from dml.conformance import execution, shrink
from dml.conformance.axes import open_as
from dml.conformance.case import Case
from dml.conformance.graphs import GraphDesc
from dml.errors import DMLError
from dml.frontends.dxdispatch.writing import dispatchable
from dml.runtime.devices import list_devices


def main() -> None:
    """Answer requests until there are no more."""
    answers = _own_output()
    faulthandler.enable(all_threads=False)
    requests = _requests()
    try:
        device = _open(requests.get())
    except DMLError as error:
        return _answer(answers, {"lost": str(error)})
    _answer(answers, {"ready": True})
    while (request := requests.get()) is not None:
        # Runs without the GIL, which a hung driver may hold.
        faulthandler.dump_traceback_later(request["seconds"], exit=True)
        try:
            _answer(answers, _answer_to(request, *device))
        except DMLError as error:
            return _answer(answers, {"lost": str(error)})
        faulthandler.cancel_dump_traceback_later()


def _open(request: Any) -> tuple[Any, int]:
    found = list_devices()
    number = request["device"]
    if number >= len(found) or found[number].name != request["name"]:
        raise DMLError(f"device {number} is no longer {request['name']}")
    return open_as(found[number], request["axis"]), request["seed"]


def _answer_to(request: dict[str, Any], device: Any, seed: int) -> dict[str, Any]:
    if "smallest" in request:
        case = Case.parse(request["smallest"])
        return {"smallest": shrink.smallest(device, case, seed, seconds=request["seconds"] / 2)}
    case = Case.parse(request["case"])
    outcome = execution.run_case(device, case, seed)
    if outcome["failure"] is not None:
        outcome["failure"] = {**outcome["failure"], "descriptor": descriptor(case)}
    return outcome


def descriptor(case: Case) -> dict[str, Any] | None:
    """Return DxDispatch's JSON of a case; None for a case that it cannot write, and for graphs."""
    if issubclass(case.subject.operator, GraphDesc):
        return None
    try:
        return dispatchable(case.desc)
    except DMLError:
        return None


def _answer(to: TextIO, answer: dict[str, Any]) -> None:
    to.write(json.dumps(_finite(answer), allow_nan=False) + "\n")
    to.flush()


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON lacks, by null."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _own_output() -> TextIO:
    """Reserve standard output for answers: other output to it goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def _requests() -> queue.SimpleQueue[Any]:
    """Return the request queue; None marks its end."""
    found: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            found.put(json.loads(line))
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    return found


if __name__ == "__main__":
    main()
