"""Work in flight: fences, and who may still be inside the driver when the process forks or ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.runtime.native import THROWN, as_dml_error

#: A wait returns to Python this often, in seconds: an interrupt (Ctrl-C) is noticed there.
WAIT_SLICE = 0.05
#: So long, in seconds, a GPU is asked again and again whether it is done, before the thread sleeps: NVIDIA's driver
#: takes half a millisecond to wake one up.
ASKING = 0.001


class Gate:
    """Counts the calls into the driver that let other Python threads run, and can refuse more of them.

    When the interpreter ends, it kills daemon threads as they return from such a call, in the middle of C++ code, which
    aborts the process. So ``close`` waits until all have returned, and lets nobody in again.

    ``with gate:`` stands around each such call.
    """

    def __init__(self) -> None:
        self._inside = 0
        self._changed = threading.Condition(threading.Lock())
        self._closed = False

    def __enter__(self) -> None:
        with self._changed:
            closed = self._closed
            self._inside += not closed
        if closed:
            if threading.current_thread().daemon:
                threading.Event().wait()  # until the interpreter ends it, without a word
            raise DMLError("the interpreter is ending: the device takes no more work", HRESULT.E_FAIL)

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside -= 1
            if self._closed:
                self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            while self._inside:
                self._changed.wait()


class Fence:
    """Tells when work that was given to the device is done. Made by ``CommandList.execute(wait=False)``."""

    def __init__(self, queue: Queue, submission: Any, keep: object) -> None:
        self._queue = queue
        self._submission = submission
        self._keep = keep

    @staticmethod
    def done(queue: Queue) -> Fence:
        """Of no work at all."""
        return Fence(queue, None, None)

    @property
    def is_done(self) -> bool:
        """Whether the work is done. Raises DMLError where the device was lost."""
        return self._poll(0.0)

    @checked
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work is done, at most ``timeout`` seconds; returns whether it is.

        Raises DMLError (DXGI_ERROR_DEVICE_REMOVED) where the device is lost.
        """
        if timeout is not None and not timeout >= 0:
            raise DMLError(f"Fence.wait: timeout takes seconds from 0 on, found {timeout!r}")
        if timeout != 0 and self._ask():
            return True
        if timeout is None:
            while not self._poll(WAIT_SLICE):
                pass
            return True
        end = time.monotonic() + timeout
        while True:
            if self._poll(min(WAIT_SLICE, max(0.0, end - time.monotonic()))):
                return True
            if time.monotonic() >= end:
                return False

    def _ask(self) -> bool:
        end = time.perf_counter() + self._queue.asking
        while time.perf_counter() < end:
            if self._poll(0.0):
                return True
        return False

    def _poll(self, seconds: float) -> bool:
        submission = self._submission
        if submission is None:
            return True
        try:
            with self._queue.gate:
                done: bool = submission.wait(int(seconds * 1e9))
        except THROWN as error:
            raise self._queue.failed("waiting for the device", error) from error
        if done:
            self._submission = self._keep = None
        return done


class Queue:
    """The device's queue: takes sequences from any thread, in the order of the calls.

    manager: Kompute's. lost: called where the device turns out to be lost. asking: seconds that a wait asks before it
    sleeps; 0 for a CPU's driver, which needs the core.
    """

    def __init__(
        self, manager: Any, gate: Gate, name: str, lost: Callable[[HRESULT], None], asking: float = 0.0
    ) -> None:
        self._manager = manager
        self.gate = gate
        self._name = name
        self._lost = lost
        self.asking = asking
        self._in_flight: deque[Fence] = deque()

    def failed(self, what: str, thrown: Exception) -> DMLError:
        """The error to raise where a call into the driver threw something."""
        error = as_dml_error(f"{what} {self._name}", thrown)
        if error.hresult == HRESULT.DXGI_ERROR_DEVICE_REMOVED:
            self._lost(error.hresult)
        return error

    def submit(self, sequences: list[Any], keep: object) -> Fence:
        """Hand recorded sequences to the device in one submission. ``keep``: what must live until they are done."""
        self._forget_done()
        try:
            with self.gate:
                fence = Fence(self, self._manager.submit(sequences), (keep, sequences))
        except THROWN as error:
            raise self.failed("submitting to", error) from error
        self._in_flight.append(fence)
        return fence

    def finish(self) -> None:
        """Wait for all that was submitted."""
        while self._in_flight:
            try:
                fence = self._in_flight[0]
                fence.wait()
            except IndexError:
                return
            with contextlib.suppress(ValueError):
                self._in_flight.remove(fence)

    def _forget_done(self) -> None:
        while self._in_flight:
            try:
                fence = self._in_flight[0]
                if not fence.is_done:
                    return
                self._in_flight.remove(fence)
            except (IndexError, ValueError):
                # Another thread was quicker
                return
