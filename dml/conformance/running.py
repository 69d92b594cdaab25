"""A run from its options to its report: devices and axes, journal, progress."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from dml import cache
from dml.conformance import report
from dml.conformance.axes import seen_as
from dml.conformance.choosing import Choosing
from dml.conformance.journal import Journal, PlacePart
from dml.conformance.places import DeviceAxis, find, places
from dml.conformance.report import Record
from dml.conformance.runner import Conduct, PlaceRun
from dml.conformance.suite import Suite, from_record
from dml.errors import DMLError


@dataclass(frozen=True)
class RunRequest:
    """The requested run. resume: path of its journal, existing or new."""

    suite: Suite
    devices: tuple[str, ...] = ()
    axes: tuple[str, ...] = ()
    resume: Path | None = None


@dataclass(frozen=True)
class Ended:
    """How a run ended. journal: path to resume an unfinished run."""

    report: Record
    interrupted: bool
    journal: Path | None


def run(request: RunRequest, conduct: Conduct, console: Console) -> Ended:
    """Run a suite on its devices and axes, or the rest of one with a journal, showing progress on the console.

    Raises DMLError for a run that is not possible, or if the journal cannot be written.
    """
    is_there = request.resume is not None and request.resume.exists()
    if is_there:
        assert request.resume is not None
        journal = Journal.resume(request.resume)
        _check(request, journal)
        suite = from_record(journal.head["suite"])
        chosen = find(journal.devices)
        cases = _cases(suite, console)
    else:
        suite = request.suite
        cases = _cases(suite, console)
        chosen = places(request.devices, request.axes)
        head = report.started(suite.record(len(cases)))
        name = f"{head['created'].replace(':', '')}-{os.getpid()}.jsonl"
        path = request.resume or cache.root() / "conformance" / name
        journal = Journal.begin(path, head, [place.record() for place in chosen])
    parts = [PlacePart(cases, None, is_whole=False) for _ in chosen]
    left = ["the run ended before this case"] * len(chosen)
    interrupted = False
    try:
        with journal:
            for index, place in enumerate(chosen):
                with Choosing(suite, seen_as(place.device, place.axis).target) as choosing:
                    why = ""
                    if choosing.takes_time:
                        why = _run_place(index, place, cases, suite.seed, conduct, journal, console)
                        left[index] = why or left[index]
                    parts[index] = _part(suite, choosing, cases, console)
                if not why:
                    why = _run_place(index, place, parts[index].cases, suite.seed, conduct, journal, console)
                    left[index] = why or left[index]
    except KeyboardInterrupt:
        interrupted = True
    record = journal.report(parts, left)
    is_done = all(each["complete"] for each in record["runs"])
    if is_done and request.resume is None:
        journal.path.unlink(missing_ok=True)
    return Ended(record, interrupted, None if is_done else journal.path)


def _cases(suite: Suite, console: Console) -> list[str]:
    with console.status("choosing the cases"):  # takes up to a minute for the full suite
        return suite.cases()


def _part(suite: Suite, choosing: Choosing, cases: list[str], console: Console) -> PlacePart:
    """Return the cases for a device on an axis: the suite's, and those for kernels that selection may choose there."""
    with console.status("determining which kernels selection may choose"):
        found = choosing.result()
    return PlacePart(cases, None) if found is None else PlacePart([*cases, *suite.part(found.added)], found)


def _check(request: RunRequest, journal: Journal) -> None:
    """Refuse options that do not match the resumed journal."""
    recorded = journal.head["suite"]
    if request.suite != Suite() and request.suite.record(recorded["cases"]) != recorded:
        raise DMLError(
            f"{journal.path} is the journal of another suite: {_described(recorded)}; omit options that choose cases"
        )
    if request.devices or request.axes:
        wanted = {(place.device.name, place.axis) for place in places(request.devices, request.axes)}
        if wanted != {(device["name"], device["axis"]) for device in journal.devices}:
            names = ", ".join(report.title(device) for device in journal.devices)
            raise DMLError(f"{journal.path} is the journal of a run on {names}; leave out --device and --as")


def _described(suite: Record) -> str:
    return ", ".join(f"{name} {value}" for name, value in suite.items() if value not in ([], "1/1"))


def _run_place(
    index: int, place: DeviceAxis, cases: Sequence[str], seed: int, conduct: Conduct, journal: Journal, console: Console
) -> str:
    """Run the remaining cases of a device on an axis; return why any were skipped."""
    found = journal.found[index]
    rest = [case for case in cases if case not in found]
    if not rest:
        return ""
    before, start = journal.seconds[index], time.monotonic()
    going = PlaceRun(place, rest, seed, conduct)
    with _progress(console, report.title(place.record()), len(cases)) as progress:
        progress.told(found.values())
        # Closing the iterator, also after an interrupt, ends the processes at once.
        with contextlib.closing(going.outcomes()) as outcomes:
            for outcome in outcomes:
                is_new = outcome["case"] not in found
                journal.add(index, outcome, before + time.monotonic() - start)
                progress.told([outcome] if is_new else [])
    return going.left


class SuiteProgress:
    """Progress of one device on one axis: a bar at a terminal, else a line for each tenth of the cases; failures have
    their own lines."""

    def __init__(self, console: Console, title: str, total: int) -> None:
        self._console, self._title, self._total = console, title, total
        self._done = self._failed = self._tenths = 0
        self.bar: Progress | None = None
        if console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                TimeRemainingColumn(), console=console, transient=True,
            )  # fmt: skip
            self.bar.add_task(title, total=total)

    def told(self, outcomes: Iterable[Record]) -> None:
        """Report new outcomes."""
        for outcome in outcomes:
            self._done += 1
            if outcome["status"] == "failed":
                self._failed += 1
                self._console.print(Text(f"failed: {outcome['case']}: {outcome['reason']}", "red"), soft_wrap=True)
        failed = f", {self._failed} failed" if self._failed else ""
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self._done, description=f"{self._title}{failed}")
        elif self._done * 10 // max(1, self._total) > self._tenths:
            self._tenths = self._done * 10 // self._total
            self._console.print(Text(f"{self._title}: {self._done} of {self._total}{failed}"), soft_wrap=True)


@contextlib.contextmanager
def _progress(console: Console, title: str, total: int) -> Iterator[SuiteProgress]:
    progress = SuiteProgress(console, title, total)
    with progress.bar or contextlib.nullcontext():
        yield progress
