"""Terminal output of long work: progress and, on request, the time of each stage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .stages import Collected, Spent, collect, cpu_seconds

#: Seconds before progress is shown.
PATIENCE = 1.0

_WORDS = {"glslang": "compiling kernels", "pipelines": "making pipelines", "first run": "first run of each kernel"}


class Waiting:
    """Context in which a terminal shows how many kernels are compiled, once that takes longer than PATIENCE.

    console: nothing is shown if it is not a terminal. verbose: prints the time of each stage at the end.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._progress: Progress | None = None
        self._at = "", 0, 0
        self._collecting = collect(self._told)

    def __enter__(self) -> Waiting:
        self._start = time.perf_counter(), cpu_seconds()
        self._collected = self._collecting.__enter__()
        self._wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._collecting.__exit__(kind, error, trace)
        self._hide()
        if self._verbose:
            taken = Spent(1, time.perf_counter() - self._start[0], cpu_seconds() - self._start[1])
            self._console.print(where_time_went(self._collected, taken))

    def say(self, print_: Callable[[str], None], text: str) -> None:
        """Print a line while the progress bar is shown."""
        self._hide()
        print_(text)
        self._wait()

    def _told(self, stage: str, done: int, total: int) -> None:
        with self._lock:
            is_new = stage != self._at[0]
            self._at = stage, done, total
            self._draw(at_once=is_new)

    def _wait(self) -> None:
        if self._console.is_terminal:
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            # Other output keeps its destination
            self._progress = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                console=self._console, transient=True, redirect_stdout=False, redirect_stderr=False,
            )  # fmt: skip
            self._progress.add_task("")
            self._draw(at_once=False)
            self._progress.start()

    def _draw(self, *, at_once: bool) -> None:
        """Draw the progress bar. at_once: now, instead of at the next of ten updates a second."""
        stage, done, total = self._at
        if self._progress is not None:
            words, is_seen = _WORDS.get(stage, stage), done < total
            (task,) = self._progress.task_ids
            self._progress.update(
                task, description=words, completed=done, total=total, visible=is_seen, refresh=at_once
            )

    def _hide(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._progress is not None:
                self._progress.stop()
            self._timer = self._progress = None


def where_time_went(collected: Collected, taken: Spent) -> Table:
    """Build a table of the stages' times, the remainder and the total."""
    table = Table(title="Where the time went", title_justify="left")
    for column in ("stage", "times", "seconds", "CPU seconds"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    stages = collected.stages.values()
    rest = Spent(0, taken.wall - sum(s.wall for s in stages), taken.cpu - sum(s.cpu for s in stages))
    for name, spent in {**collected.stages, "the rest": rest, "all": taken}.items():
        table.add_row(name, str(spent.count or ""), f"{spent.wall:.3f}", f"{spent.cpu:.3f}")
    kinds = ("compilations", "kernels", "pipelines")
    table.caption = ", ".join(f"{len(collected.distinct.get(kind, ()))} {kind}" for kind in kinds)
    return table


__all__ = ["PATIENCE", "Waiting", "where_time_went"]
