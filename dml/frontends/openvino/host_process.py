"""The process in which OpenVINO runs layers on the host; if it dies, callers get a DMLError."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dml.errors import DMLError

from .host_worker import arrays_of, described, receive, send

_Array = npt.NDArray[Any]
_WORKER = Path(__file__).with_name("host_worker.py")


class HostModel:
    """A model on OpenVINO's CPU plugin. make: returns the bytes of its .xml and .bin; called again if the process has
    ended.

    Raises DMLError for a model that OpenVINO refuses.
    """

    _numbers = itertools.count()

    def __init__(self, make: Callable[[], tuple[bytes, bytes]]) -> None:
        self._made = make
        self._number = next(self._numbers)
        #: The process that holds the loaded model.
        self._process: _Process | None = None
        with _lock:
            self._loaded()

    def run(self, arrays: Sequence[_Array]) -> list[_Array]:
        """Run on arrays for the parameters, in order; return the results."""
        with _lock:
            kinds, data = described(arrays)
            header, parts = self._loaded().ask({"does": "run", "model": self._number, "arrays": kinds}, data)
        return [np.array(array) for array in arrays_of(header["arrays"], parts)]

    def _loaded(self) -> _Process:
        process = _current()
        if process is not self._process:
            process.ask({"does": "load", "model": self._number}, self._made())
            self._process = process
        return process

    def __del__(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None:
            process.dropped.append(self._number)


class _Process:
    def __init__(self) -> None:
        # the child finds packages where this process does
        path = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)] if sys.version_info >= (3, 11) else [sys.executable, str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self._owner = os.getpid()
        #: Models no longer referenced; the next request frees them.
        self.dropped: list[int] = []

    def is_alive(self) -> bool:
        """Whether the process runs and belongs to this one: a forked child cannot use its parent's."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, header: dict[str, Any], parts: Sequence[Any] = ()) -> tuple[dict[str, Any], list[bytes]]:
        """Send a request and return the reply. Raises DMLError if the reply is an error, or the process ends."""
        while self.dropped:
            self._exchange({"does": "drop", "model": self.dropped.pop()})
        reply, data = self._exchange(header, parts)
        if "error" in reply:
            raise DMLError(reply["error"])
        return reply, data

    def _exchange(self, header: dict[str, Any], parts: Sequence[Any] = ()) -> tuple[dict[str, Any], list[bytes]]:
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        try:
            send(requests, header, parts)
            return receive(replies)
        except (EOFError, OSError):
            status = self._ended(requests, replies)
            raise DMLError(f"OpenVINO's process ended with status {status}") from None
        except BaseException:  # interrupted between a request and its reply: the next request would get this reply
            self._ended(requests, replies)
            raise

    def _ended(self, requests: IO[bytes], replies: IO[bytes]) -> int:
        for stream in (requests, replies):
            try:
                stream.close()
            except OSError:
                continue
        try:
            return self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_lock = threading.RLock()
_process: _Process | None = None


def _current() -> _Process:
    global _process
    if _process is None or not _process.is_alive():
        _process = _Process()
    return _process
