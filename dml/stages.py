"""Where the time goes until a model answers: stages that are timed, and told of, while somebody collects them."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

#: Told (stage, done, of how many) as work goes on, from whichever thread does it.
Watcher = Callable[[str, int, int], None]


@dataclass
class Spent:
    """Of one stage: how often it was entered, and seconds by the wall's clock and of all CPUs."""

    count: int = 0
    wall: float = 0.0
    cpu: float = 0.0


@dataclass
class Collected:
    """What ``collect`` found. stages: in the order in which they first came. distinct: what was seen, by kind."""

    stages: dict[str, Spent] = field(default_factory=dict)
    distinct: dict[str, set[Hashable]] = field(default_factory=dict)


def cpu_seconds() -> float:
    """CPU time of this process, all threads, and of the child processes that it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


class _Collector:
    """Times stages of its own thread, each without those inside it, so that they add up; of others it counts them."""

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
        """The time since the last change of stage goes to the innermost one."""
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
    """Time the stages that this thread goes through. One at a time in a process: an inner one hides the outer one."""
    global _collector
    outer = _collector
    _collector = inner = _Collector(watcher)
    try:
        yield inner.collected
    finally:
        _collector = outer


def stage(name: str) -> AbstractContextManager[None]:
    """What is done inside belongs to that stage."""
    return _NOTHING if _collector is None else _collector.stage(name)


def saw(kind: str, what: Hashable) -> None:
    """Something of that kind was used; equal ones count once."""
    if _collector is not None:
        _collector.saw(kind, what)


def progress(name: str, done: int, total: int) -> None:
    """Tell whoever waits how far a stage is."""
    if _collector is not None and _collector.watcher is not None:
        _collector.watcher(name, done, total)


__all__ = ["Collected", "Spent", "Watcher", "collect", "cpu_seconds", "progress", "saw", "stage"]
