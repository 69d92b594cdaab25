"""Run one peer with one case in its own process: python worker.py PEER CASE RESULTS [DEVICE]

The worker writes its outputs to RESULTS, an .npz file, then prints a line of JSON: {} if the peer lacks the operator.
After that each input line asks for one evaluation; the answer is its seconds or an error.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
from cases import CASES
from peers import PEERS

import dml


def main(peer: str, name: str, results: str, device: str | None = None) -> None:
    # Send the output of libraries to stderr, to keep the answers clean.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    case = CASES[name]()
    made = PEERS[peer](case, dml.create_device(device))
    if made is None:
        say({})
        return
    run, found = made
    np.savez(results, **{str(output): value for output, value in found.items()})
    say({"case": case.name, "flops": case.flops})
    for _ in sys.stdin:
        try:
            say({"seconds": run()})
        except RuntimeError as error:
            say({"error": (str(error).splitlines() or [type(error).__name__])[0]})


if __name__ == "__main__":
    main(*sys.argv[1:])
