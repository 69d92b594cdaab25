"""A worker with the few subjects whose cases misbehave as the environment variable ODD says: ``{case: "hang" | "die" |
...}``.

The key "opening" applies before the first case.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from dml.conformance import execution, families, worker
from dml.errors import HRESULT, DMLError

ODD = json.loads(os.environ.get("ODD", "{}"))


def behave(how: str) -> None:
    match how:
        case "hang":
            time.sleep(600)
        case "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "leave":
            print("the driver says why", file=sys.stderr, flush=True)
            os._exit(7)
        case "lost":
            raise DMLError("the device was lost", HRESULT.DXGI_ERROR_DEVICE_REMOVED)
        case "talk":
            os.write(1, b"what a driver prints\n")


def main() -> None:
    families.__path__ = [str(Path(__file__).parent / "few")]
    behave(ODD.get("opening", ""))
    run_case = execution.run_case

    def odd(device: Any, case: Any, seed: int = 0) -> Any:
        behave(ODD.get(case.id, ODD.get("all", "")))
        outcome = run_case(device, case, seed)
        if ODD.get("wrong") and ODD["wrong"] in case.id and outcome["status"] == "passed":
            nothing = dict.fromkeys(("found", "expected", "differing", "of", "ulp", "allowed_ulp"))
            failure = {**nothing, "tensor": "OutputTensor", "index": [0], "message": "made wrong", "kernels": []}
            outcome = {**outcome, "status": "failed", "reason": "made wrong", "failure": failure}
        return outcome

    execution.run_case = odd
    worker.main()


if __name__ == "__main__":
    main()
