"""Repetition of dispatch commands and the report of their times: DxDispatch's options of the group "Timing"."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from dml.errors import DMLError


@dataclass(frozen=True)
class Timing:
    """Repetition and report of a dispatch command.

    iterations: minimum number of measurements; more follow until ``milliseconds`` have passed. repeat: dispatches per
    measurement, which is their mean. interval: minimum milliseconds from the start of a measurement to the next start.
    warmup: number of first measurements that count as cold, but never all of them. verbosity: 0 reports the hot ones, 1
    also the cold ones, 2 each measurement.
    """

    iterations: int = 1
    repeat: int = 1
    milliseconds: float = 0.0
    interval: float = 0.0
    warmup: int = 1
    verbosity: int = 0

    def __post_init__(self) -> None:
        if self.iterations < 1 or self.repeat < 1:
            raise DMLError(f"Timing: iterations and repeat must be at least 1, found {self.iterations}, {self.repeat}")
        if min(self.milliseconds, self.interval, self.warmup, self.verbosity) < 0:
            raise DMLError("Timing: milliseconds, interval, warmup and verbosity must not be negative")

    def measure(self, dispatch: Callable[[], None]) -> list[float]:
        """Return the milliseconds of a dispatch in each measurement."""
        taken: list[float] = []
        begin = time.perf_counter()
        while len(taken) < self.iterations or (time.perf_counter() - begin) * 1000 < self.milliseconds:
            start = time.perf_counter()
            for _ in range(self.repeat):
                dispatch()
            spent = (time.perf_counter() - start) * 1000
            taken.append(spent / self.repeat)
            if spent < self.interval:
                time.sleep((self.interval - spent) / 1000)
        return taken

    def report(self, name: str, taken: list[float]) -> list[str]:
        """Report the measurements of a dispatchable. The first are cold: they use buffers and pipelines for the first
        time."""
        cold = min(self.warmup, len(taken) - 1)
        hot = taken[cold:]
        lines = [f"Dispatch '{name}': {len(taken)} iterations, {statistics.median(hot):.4f} ms median (CPU)"]
        if self.verbosity >= 1:
            lines.append(f"  hot: {_range(hot)}")
            if cold:
                lines.append(f"  cold: {_range(taken[:cold])}")
        if self.verbosity >= 2:
            lines += [f"  [{index}] {duration:.4f} ms" for index, duration in enumerate(taken)]
        return lines


def _range(taken: list[float]) -> str:
    mean = statistics.fmean(taken)
    return f"{len(taken)} iterations, {min(taken):.4f} ms least, {mean:.4f} ms mean, {max(taken):.4f} ms most"
