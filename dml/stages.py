"""Timed stages of preparing and running a model, reported while somebody collects them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

#: Called with (stage, done, total) as work proceeds, from any thread.
Watcher = Callable[[str, int, int], None]


@dataclass
class Spent:
    """A stage's entries, wall seconds and CPU seconds."""

    count: int = 0
    wall: float = 0.0
    cpu: float = 0.0


@dataclass
class Collected:
    """Results of ``collect``. stages: in order of first entry. distinct: objects seen, by kind."""

    stages: dict[str, Spent] = field(default_factory=dict)
    distinct: dict[str, set[Hashable]] = field(default_factory=dict)


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the child processes it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


class _Collector:
    """Times the stages of its own thread, exclusive of inner ones, so that they add up; counts those of other
    threads."""

    def __init__(self, watcher: Watcher | None) -> None:
        self.collected = Collected()
        self.watcher = watcher
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._stack: list[Spent] = []
        self._since = 0.0, 0.0

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        with self._lock:
            spent = self.collected.stages.setdefault(name, Spent())
            spent.count += 1
        if threading.get_ident() != self._thread:
            yield
            return
        self._charge()
        self._stack.append(spent)
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()

    def _charge(self) -> None:
        """Charge the time since the last change to the innermost stage."""
        now = time.perf_counter(), cpu_seconds()
        if self._stack:
            self._stack[-1].wall += now[0] - self._since[0]
            self._stack[-1].cpu += now[1] - self._since[1]
        self._since = now

    def saw(self, kind: str, what: Hashable) -> None:
        with self._lock:
            self.collected.distinct.setdefault(kind, set()).add(what)


_collector: _Collector | None = None
_NOTHING: AbstractContextManager[None] = nullcontext()


@contextlib.contextmanager
def collect(watcher: Watcher | None = None) -> Iterator[Collected]:
    """Time this thread's stages. One collector at a time: an inner one hides the outer one."""
    global _collector
    outer = _collector
    _collector = inner = _Collector(watcher)
    try:
        yield inner.collected
    finally:
        _collector = outer


def stage(name: str) -> AbstractContextManager[None]:
    """Attribute the work inside to a stage."""
    return _NOTHING if _collector is None else _collector.stage(name)


def saw(kind: str, what: Hashable) -> None:
    """Record the use of an object; equal ones count once."""
    if _collector is not None:
        _collector.saw(kind, what)


def progress(name: str, done: int, total: int) -> None:
    """Report the progress of a stage."""
    if _collector is not None and _collector.watcher is not None:
        _collector.watcher(name, done, total)


__all__ = ["Collected", "Spent", "Watcher", "collect", "cpu_seconds", "progress", "saw", "stage"]
