"""Dispatches recorded once and replayed, with a barrier exactly where a later one depends on an earlier one."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dml import stages
from dml.compiler.kernels import sources
from dml.compiler.program import Dispatch, Region
from dml.glslang import compile_many
from dml.runtime.buffer import Buffer, Mirror
from dml.runtime.context import Context
from dml.runtime.dump import dump
from dml.runtime.native import vulkan_errors
from dml.runtime.parameters import Parameters
from dml.runtime.pipelines import Pipeline
from dml.runtime.queue import Fence
from dml.runtime.writing import Writer, joined, most_work


class Place(NamedTuple):
    """Location of a region: a buffer and the byte in it at which the region's resource begins."""

    buffer: Buffer
    offset: int = 0


class Batch(NamedTuple):
    """Sequences for one submission, and their estimated work."""

    sequences: list[Any]
    work: float


class KernelTime(NamedTuple):
    """Duration of one dispatch in nanoseconds, with the graph nodes that it computes and its kernel."""

    node: str
    kernel: str
    nanoseconds: int


def spirv(dispatches: Sequence[Dispatch]) -> list[bytes]:
    """Compile the dispatches' shaders to SPIR-V, in order, on all cores. ``dump`` can show them."""
    with stages.stage("glslang"):
        kernels = compile_many([dispatch.source for dispatch in dispatches], include_dirs=(sources.directory(),))
    dump(dispatches, kernels)
    return kernels


class Recording:
    """Dispatches over buffers, recorded for repeated runs.

    place: location of each region's resource. uploads, downloads: copies to the device before, and to the host after,
    each run (none if memory is shared). kernels: as ``spirv`` returns them. timed: for ``profile``; each dispatch is
    timed, by the device if it has timestamps, else by the host around a separate submission.

    Long work is split into several submissions (SUBMISSION_SECONDS). Thread-safe: runs are serialized.
    """

    def __init__(
        self,
        context: Context,
        dispatches: Sequence[Dispatch],
        kernels: Sequence[bytes],
        place: Callable[[Region], Place],
        uploads: Sequence[Mirror] = (),
        downloads: Sequence[Mirror] = (),
        *,
        timed: bool = False,
    ) -> None:
        context.check_process()
        self._context = context
        self._dispatches = tuple(dispatches) if timed else ()
        self.lock = threading.Lock()
        #: Fences of the last run; the recording is submitted again only after they are done.
        self.fences: list[Fence] = []
        # Keeps alive the objects that the device works on; the writer holds the others.
        self._kept = *uploads, *downloads
        writer = Writer(context, Parameters(context, dispatches), timed=timed)
        if dispatches or uploads or downloads:
            writer.begin(uploads)
        for index, (dispatch, kernel) in enumerate(zip(dispatches, kernels, strict=True), 1):
            writer.dispatch(dispatch, kernel, [place(binding.region) for binding in dispatch.bindings])
            stages.progress("pipelines", index, len(dispatches))
        writer.end(downloads)
        self._sequences = writer.record()
        #: The writer of the sequences, kept to record them again.
        self.writer = writer
        self._positions = writer.positions if timed else []
        self._pipelines = list(writer.pipelines)
        self._may_be_new = context.compiles_late
        self.batches = [Batch([self._sequences[n] for n in numbers], work) for numbers, work in writer.batches]
        #: Whether to record again in fewer sequences once the driver has compiled all kernels.
        self._is_loose = not timed and len(self._sequences) > len(self.batches)

    @property
    def pipelines(self) -> Sequence[Pipeline]:
        """Pipelines of the recording."""
        return self._pipelines

    @property
    def is_new(self) -> bool:
        """Whether the driver has yet to compile some of its kernels."""
        if self._may_be_new and all(pipeline.ran for pipeline in self._pipelines):
            self._may_be_new = False
        return self._may_be_new

    def run(self) -> None:
        """Run and wait, in as few submissions as its work allows.

        Raises DMLError (DXGI_ERROR_DEVICE_REMOVED) if the device is lost.
        """
        self._context.check_process()
        with self.lock:
            self.settle()
            if self.is_new:
                self.run_step_by_step()
            else:
                for batch in self.batches:
                    self.start(batch.sequences)
                self.settle()

    def settle(self) -> None:
        """Wait for the last run and prepare for the next."""
        for fence in self.fences:
            fence.wait()
        self.fences.clear()
        if self._is_loose and not self.is_new:
            self._sequences = self.writer.record_batches()
            works = [batch.work for batch in self.batches]
            self.batches = [Batch([sequence], work) for sequence, work in zip(self._sequences, works, strict=True)]
            self._is_loose = False

    def start(self, sequences: list[Any]) -> Fence:
        """Submit sequences of this recording."""
        self.fences.append(self._context.queue.submit(sequences, self))
        return self.fences[-1]

    def run_step_by_step(self) -> None:
        """Run one sequence at a time: each compiles a kernel, and Ctrl-C is noticed in between."""
        for index, sequence in enumerate(self._sequences, 1):
            with stages.stage("first run"):
                self.start([sequence]).wait()
            stages.progress("first run", index, len(self._sequences))
        for pipeline in self._pipelines:
            pipeline.ran = True

    def profile(self) -> list[KernelTime]:
        """Run and return the duration of each dispatch. Needs a ``timed`` recording."""
        self._context.check_process()
        with self.lock:
            self.settle()
            waited: list[int] = []
            for sequence in self._sequences:
                start = time.perf_counter_ns()
                self.start([sequence]).wait()
                waited.append(time.perf_counter_ns() - start)
            if self._context.has_timestamps:
                took = self._read_timestamps()
            else:
                took = [sum(waited[sequence] for sequence, _ in parts) for parts in self._positions]
        return [KernelTime(d.node, d.label, t) for d, t in zip(self._dispatches, took, strict=True)]

    def _read_timestamps(self) -> list[int]:
        """Read each dispatch's nanoseconds from the device's timestamps, one before and one after each part."""
        with vulkan_errors("reading timestamps"):
            stamps = [sequence.get_timestamps() for sequence in self._sequences]
        # The clock has timestamp_bits bits and may wrap between two stamps.
        mask = (1 << self._context.device.timestamp_bits) - 1
        period = self._context.device.timestamp_period
        return [
            int(
                sum((stamps[sequence][index + 1] - stamps[sequence][index]) & mask for sequence, index in parts)
                * period
            )
            for parts in self._positions
        ]


class JoinedRecordings:
    """Recordings that always run together, none of them new, merged into one sequence per submission.

    A GPU idles longer between two sequences than at a barrier.
    """

    def __init__(self, context: Context, recordings: Sequence[Recording]) -> None:
        self.lock = threading.Lock()
        self.fences: list[Fence] = []
        self._kept = tuple(recordings)
        writers = [recording.writer for recording in recordings]
        self.batches = [Batch([sequence], work) for sequence, work in joined(context, writers)]

    def settle(self) -> None:
        """Wait for the last run."""
        for fence in self.fences:
            fence.wait()
        self.fences.clear()


def execute(context: Context, recordings: Sequence[Recording | JoinedRecordings], *, wait: bool) -> Fence | None:
    """Run the recordings in order, in as few submissions as their work allows.

    Returns the last submission's fence, None if there was nothing to do; ``wait`` waits for it. A recording still in
    flight is waited for first.
    """
    context.check_process()
    last: Fence | None = None
    with contextlib.ExitStack() as locks:
        # One lock order everywhere, so that two threads with the same recordings cannot deadlock
        for recording in sorted(set(recordings), key=id):
            locks.enter_context(recording.lock)
            recording.settle()
        together = _Together(context)
        for recording in recordings:
            if together.holds(recording):
                together.submit()
                recording.settle()
            if wait and isinstance(recording, Recording) and recording.is_new:
                together.submit()
                recording.run_step_by_step()
                last = recording.fences[-1]
            else:
                together.add(recording)
        last = together.submit() or last
    if wait and last is not None:
        last.wait()
    return last


class _Together:
    """Collects batches of several recordings into one submission."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._most_work = most_work(context)
        self._recordings: list[Recording | JoinedRecordings] = []
        self._sequences: list[Any] = []
        self._work = 0.0
        self._last: Fence | None = None

    def holds(self, recording: Recording | JoinedRecordings) -> bool:
        return recording in self._recordings

    def add(self, recording: Recording | JoinedRecordings) -> None:
        for batch in recording.batches:
            if self._sequences and self._work + batch.work > self._most_work:
                self._flush()
            if not self.holds(recording):
                self._recordings.append(recording)
            self._sequences += batch.sequences
            self._work += batch.work

    def submit(self) -> Fence | None:
        """Submit the collected batches; return the fence of the last submission so far."""
        if self._sequences:
            self._flush()
        return self._last

    def _flush(self) -> None:
        self._last = self._context.queue.submit(self._sequences, self._recordings)
        for recording in self._recordings:
            recording.fences.append(self._last)
        self._recordings, self._sequences, self._work = [], [], 0.0
