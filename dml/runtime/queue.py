"""Work in flight: fences, and a count of the threads inside the driver, needed when the process forks or exits."""

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

#: Seconds after which a wait returns to Python, so that Ctrl-C is noticed.
WAIT_SLICE = 0.05
#: Seconds to poll a GPU before sleeping: NVIDIA's driver takes half a millisecond to wake a thread.
ASKING = 0.001


class Gate:
    """Count the threads inside driver calls that release the GIL, and refuse more when closed.

    At exit the interpreter kills daemon threads as they return from such a call, in the middle of C++ code, which
    aborts the process. So ``close`` waits until all have returned and admits no more.

    Use it as ``with gate:`` around each such call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        #: Identifiers of the threads of the calls inside.
        self._inside: list[int] = []
        self._closed = False

    # ``with`` on the lock itself, which is C: Ctrl-C between the lines of Condition's methods would leave it locked.

    def __enter__(self) -> None:
        with self._lock:
            closed = self._closed
            if not closed:
                self._inside.append(threading.get_ident())
        if closed:
            if threading.current_thread().daemon:
                threading.Event().wait()  # until the interpreter ends this thread
            raise DMLError("the interpreter is exiting: the device accepts no more work", HRESULT.E_FAIL)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside.remove(threading.get_ident())
            if self._closed:
                self._changed.notify_all()

    def close(self) -> None:
        """Admit no more calls, and wait until other threads have left.

        This thread is not inside, even if one of its calls is listed: Ctrl-C may have prevented the removal.
        """
        with self._lock:
            self._closed = True
            while set(self._inside) - {threading.get_ident()}:
                self._changed.wait()


class Fence:
    """Reports when submitted work is done. ``CommandList.execute(wait=False)`` returns one."""

    def __init__(self, queue: Queue, submission: Any, keep: object) -> None:
        self._queue = queue
        self._submission = submission
        self._keep = keep

    @staticmethod
    def done(queue: Queue) -> Fence:
        """Return a fence that is already done."""
        return Fence(queue, None, None)

    def __repr__(self) -> str:
        """Return the last known state: asking the driver may raise."""
        return f"<Fence: {'done' if self._submission is None else 'not known to be done'}>"

    @property
    def is_done(self) -> bool:
        """Whether the work is done. Raises DMLError if the device was lost."""
        return self._poll(0.0)

    @checked
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the work is done, at most ``timeout`` seconds; return whether it is.

        Raises DMLError (DXGI_ERROR_DEVICE_REMOVED) if the device is lost.
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
    """The device's queue: accepts sequences from any thread, in call order.

    manager: Kompute's. lost: called when the device is lost. asking: seconds to poll before sleeping; 0 for a CPU
    driver, which needs the core.
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
        """Convert an exception from a driver call to a DMLError."""
        error = as_dml_error(f"{what} {self._name}", thrown)
        if error.hresult == HRESULT.DXGI_ERROR_DEVICE_REMOVED:
            self._lost(error.hresult)
        return error

    def submit(self, sequences: list[Any], keep: object) -> Fence:
        """Submit recorded sequences in one submission. ``keep``: objects that must live until they are done."""
        self._forget_done()
        try:
            with self.gate:
                fence = Fence(self, self._manager.submit(sequences), (keep, sequences))
        except THROWN as error:
            raise self.failed("submitting to", error) from error
        self._in_flight.append(fence)
        return fence

    def finish(self) -> None:
        """Wait for all submitted work."""
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
                # another thread has already done it
                return
