"""A worker process as the runner sees it: it answers requests in time, or is lost with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dml.conformance.places import DeviceAxis

#: The worker ends itself when its time is up; it is killed this many seconds later.
GRACE = 15.0
#: Maximum lines of its standard error, or of its main thread's stack, in a message.
LINES = 12

WORKER = (sys.executable, "-m", "dml.conformance.worker")


class WorkerLostError(Exception):
    """The process has ended. reason: one line. str(): adds the last lines of its standard error."""

    def __init__(self, reason: str, lines: Sequence[str] = ()) -> None:
        super().__init__("\n".join((reason, *lines)))
        self.reason = reason


class WorkerProcess:
    """A worker for one device on one axis. Raises WorkerLostError if it cannot open the device in time."""

    def __init__(self, place: DeviceAxis, seed: int, seconds: float, **variables: str) -> None:
        self._process = subprocess.Popen(
            WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            encoding="utf-8", errors="replace", env={**os.environ, **variables}, start_new_session=True,
        )  # fmt: skip
        #: Number of answered requests.
        self.answered = 0
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lines: deque[str] = deque(maxlen=200)
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._listen)]
        for reader in self._readers:
            reader.start()
        opening = {"device": place.device.index, "name": place.device.name, "axis": place.axis, "seed": seed}
        self.ask(opening, seconds)

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer to a request. Raises WorkerLostError if none comes in time, after killing the process."""
        start = time.monotonic()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the missing answer will show that the process has ended
            self._process.stdin.write(json.dumps({**request, "seconds": seconds}) + "\n")
            self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=seconds + GRACE)
        except queue.Empty:
            line = None
        if line is not None and "lost" not in (answer := json.loads(line)):
            self.answered += 1
            return dict(answer)
        is_late = line is None and time.monotonic() - start >= seconds
        status = self.close()
        if line is not None:
            raise WorkerLostError(str(json.loads(line)["lost"]), _telling(self._lines))
        reason = f"no answer within {seconds:g} seconds" if is_late else f"the process {_ended(status)}"
        raise WorkerLostError(reason, _telling(self._lines))

    def close(self) -> int | None:
        """End the process; return its exit status, None if it hangs in the driver even then."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            if self._process.poll() is None:
                self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        for reader in self._readers:
            reader.join(1.0)
        return self._process.returncode

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        # Its exit status may be available before its missing answer is noticed.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5.0)
        self._answers.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line.rstrip())


def _telling(lines: Iterable[str]) -> list[str]:
    """Return the most informative lines: the error and the main thread's innermost calls if Python printed them (it
    prints other threads first), else the last ones."""
    found = [line for line in lines if line and not line.startswith("Extension modules:")]
    threads = [index for index, line in enumerate(found) if re.match(r"(Current thread|Thread) 0x", line)]
    if not threads:
        return found[-LINES:]
    fatal = [line for line in found if line.startswith("Fatal Python error")]
    return fatal[-1:] + found[threads[-1] :][:LINES]


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        with contextlib.suppress(ValueError):
            return f"ended with {signal.Signals(-status).name}"
    return f"ended with exit status {status}"
