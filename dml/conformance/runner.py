"""Runs cases on a device in separate processes: a case that hangs or ends its process fails, and the run continues."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from dml.conformance import execution, worker
from dml.conformance.axes import seen_as
from dml.conformance.case import Case
from dml.conformance.graphs import program_of
from dml.conformance.places import DeviceAxis
from dml.conformance.process import WorkerLostError, WorkerProcess
from dml.conformance.report import Record

#: Cases per process: each leaves kernels on the device that no other case needs (about 0.7 MB on llvmpipe).
CASES_OF_A_PROCESS = 1000
#: After this many consecutive lost processes the device is abandoned.
MOST_LOST = 5
#: Maximum number of failures minimized per DeviceAxis: the first of each operator and data type.
MOST_SMALLEST = 20
#: Maximum seconds to minimize one.
SMALLEST_SECONDS = 60.0


@dataclass(frozen=True)
class Conduct:
    """Options of a run. seconds: limit per case. jobs: number of cases that run at the same time on a DeviceAxis.
    smallest: whether to minimize failures. variables: additional environment variables of the processes."""

    seconds: float = 300.0
    jobs: int = 1
    smallest: bool = True
    variables: dict[str, str] = field(default_factory=dict)


class PlaceRun:
    """A run of cases on one DeviceAxis: threads, each with a worker process, take the cases from one queue.

    left: why cases without an outcome were skipped; empty as long as the device works.
    """

    def __init__(self, place: DeviceAxis, cases: Sequence[str], seed: int, conduct: Conduct) -> None:
        self.left = ""
        self._place, self._seed, self._conduct = place, seed, conduct
        self._line = deque(cases)
        self._found: queue.SimpleQueue[Record | Exception | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._processes: set[WorkerProcess] = set()
        self._stopped = False
        self._lost = 0
        self._shrunk: set[tuple[str, str]] = set()

    def outcomes(self) -> Generator[Record, None, None]:
        """Yield each case's outcome when it is known; a failure's outcome is yielded again after minimization.

        Leaving the iteration ends the processes.
        """
        count = max(1, min(self._conduct.jobs, len(self._line)))
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            while count:
                outcome = self._found.get()
                if outcome is None:
                    count -= 1
                elif isinstance(outcome, Exception):
                    raise outcome
                else:
                    yield outcome
        finally:
            self._stop()
            for thread in threads:
                thread.join(10.0)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            processes = list(self._processes)
        for process in processes:
            process.close()

    def _work(self) -> None:
        process: WorkerProcess | None = None
        try:
            while (case := self._next()) is not None:
                if process is not None and process.answered > CASES_OF_A_PROCESS:
                    self._drop(process)
                    process = None
                process = self._run(process, case)
        except Exception as error:  # a bug in dml: raise it where outcomes are consumed
            self._found.put(error)
        finally:
            self._drop(process)
            self._found.put(None)

    def _next(self) -> str | None:
        with self._lock:
            goes_on = self._line and not self._stopped and not self.left
            return self._line.popleft() if goes_on else None

    def _run(self, process: WorkerProcess | None, case: str) -> WorkerProcess | None:
        """Run one case; return the process for the next one, None if it is gone."""
        if process is None:
            try:
                process = self._start()
            except WorkerLostError as lost:
                self.left = f"the device cannot be opened: {lost}"
                return None
        start = time.monotonic()
        try:
            outcome = process.ask({"case": case}, self._conduct.seconds)
        except WorkerLostError as lost:
            self._drop(process)
            if not self._stopped:
                self._count(lost)
                seconds = round(time.monotonic() - start, 3)
                self._found.put(ended(self._place, case, self._seed, lost, seconds))
            return None
        self._lost = 0
        outcome = finished(self._place, outcome, self._seed)
        self._found.put(outcome)
        return self._look_for_smallest(process, outcome) if self._is_to_shrink(outcome) else process

    def _start(self) -> WorkerProcess:
        process = WorkerProcess(self._place, self._seed, self._conduct.seconds, **self._conduct.variables)
        with self._lock:
            self._processes.add(process)
        return process

    def _drop(self, process: WorkerProcess | None) -> None:
        """End a process."""
        if process is not None:
            with self._lock:
                self._processes.discard(process)
            process.close()

    def _count(self, lost: WorkerLostError) -> None:
        with self._lock:
            self._lost += 1
            if self._lost >= MOST_LOST:
                self.left = f"{MOST_LOST} cases in a row ended their process; the last one: {lost.reason}"

    def _is_to_shrink(self, outcome: Record) -> bool:
        kind = outcome["operator"], outcome["data_type"]
        with self._lock:
            if not (self._conduct.smallest and outcome["status"] == "failed" and outcome["failure"]["tensor"]):
                return False
            if kind in self._shrunk or len(self._shrunk) >= MOST_SMALLEST:
                return False
            self._shrunk.add(kind)
            return True

    def _look_for_smallest(self, process: WorkerProcess, outcome: Record) -> WorkerProcess | None:
        try:
            answer = process.ask({"smallest": outcome["case"]}, min(SMALLEST_SECONDS, self._conduct.seconds))
        except WorkerLostError:
            self._drop(process)
            return None
        found = answer["smallest"]
        if found is not None:
            found = {**found, "command": self._place.command(found["case"], self._seed)}
            self._found.put({**outcome, "failure": {**outcome["failure"], "smallest": found}})
        return process


def finished(place: DeviceAxis, outcome: Record, seed: int) -> Record:
    """Complete a worker's outcome: a failure gets the command that runs the case again."""
    if outcome["failure"] is None:
        return outcome
    command = place.command(outcome["case"], seed)
    return {**outcome, "failure": {**outcome["failure"], "command": command, "smallest": None}}


def not_run(text: str, reason: str) -> Record:
    """Return the outcome of a case that was not tested."""
    return {**execution.without_results(Case.parse(text), "not_tested", reason), "case": text}


def ended(place: DeviceAxis, text: str, seed: int, lost: WorkerLostError, seconds: float) -> Record:
    """Return the outcome of a case that ended its process."""
    case = Case.parse(text)
    failure = {
        **execution.NO_ELEMENT,
        "kind": "ended",
        "tensor": None,
        "message": str(lost),
        "kernels": _kernels(place, case),
        "descriptor": worker.descriptor(case),
    }
    outcome = {**not_run(text, lost.reason), "status": "failed", "seconds": seconds, "failure": failure}
    return finished(place, outcome, seed)


def _kernels(place: DeviceAxis, case: Case) -> list[str]:
    """Return the kernels that the case would have run; none if its compilation may have ended the process."""
    try:
        program = program_of(case.desc, seen_as(place.device, place.axis).target)
    except Exception:
        return []
    return list(dict.fromkeys(dispatch.source.name for dispatch in program.dispatches))
