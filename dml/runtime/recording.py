"""A list of dispatches recorded once and replayed, with a barrier exactly where a later one depends on an earlier."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dml.compiler.kernels import sources
from dml.compiler.program import Dispatch, Region
from dml.compiler.target import DeviceClass
from dml.glslang import compile_many
from dml.runtime import commands, names
from dml.runtime.buffer import Buffer, Mirror
from dml.runtime.context import Context, Pipeline
from dml.runtime.dump import dump
from dml.runtime.native import kompute, vulkan_errors
from dml.runtime.queue import Fence

#: Work of a submission, in seconds by the estimate below. Desktops kill what takes a GPU for 2 seconds, and the
#: estimate may be several times too low.
SUBMISSION_SECONDS = 0.25

#: Steps (Dispatch.work) per second: what slow devices of the class do in kernels that are not tuned.
STEPS_PER_SECOND = {
    DeviceClass.DISCRETE: 5e10,
    DeviceClass.INTEGRATED: 5e9,
    DeviceClass.VIRTUAL: 5e9,
    DeviceClass.CPU: 1e9,
    DeviceClass.OTHER: 1e9,
}

#: Vector accesses reach to the end of a region's last 16 bytes.
VECTOR_BYTES = 16


@dataclass(frozen=True)
class Place:
    """Where a region lies: a buffer and the byte at which the region's resource begins in it."""

    buffer: Buffer
    offset: int = 0


class _Range(NamedTuple):
    """Bytes of a Kompute Buffer as a descriptor binds them, and whether they are written."""

    native: Any
    start: int
    end: int
    writes: bool

    def conflicts(self, other: _Range) -> bool:
        return (
            (self.writes or other.writes)
            and self.native is other.native
            and self.start < other.end
            and other.start < self.end
        )


class KernelTime(NamedTuple):
    """How long one dispatch took: the graph's nodes that it computes, its kernel, and nanoseconds."""

    node: str
    kernel: str
    nanoseconds: int


def spirv(dispatches: Sequence[Dispatch]) -> list[bytes]:
    """The compiled shaders of the dispatches, in order; every core compiles. See ``dump`` for looking at them."""
    kernels = compile_many([dispatch.source for dispatch in dispatches], include_dirs=(sources.directory(),))
    dump(dispatches, kernels)
    return kernels


def _bind(place: Place, region: Region, alignment: int, writes: bool) -> tuple[_Range, int]:
    """The descriptor's range around a region, from a multiple of ``alignment``; the word where the region begins."""
    piece = place.buffer.piece
    first = piece.offset + place.offset + region.offset
    start = first // alignment * alignment
    end = min(-(-(first + region.size) // VECTOR_BYTES) * VECTOR_BYTES, piece.offset + piece.size)
    return _Range(piece.native, start, end, writes), (first - start) // 4


def _most_work(context: Context) -> float:
    """Of one submission, in the units of Dispatch.work."""
    return SUBMISSION_SECONDS * STEPS_PER_SECOND[context.device.device_class]


class Batch(NamedTuple):
    """Sequences for one submission, and their work."""

    sequences: list[Any]
    work: float


Groups = tuple[int, int, int]


def grid_parts(groups: Groups, most: int) -> Iterator[tuple[Groups, Groups]]:
    """(base, groups) of parts of a grid, of at most ``most`` workgroups each where slices of its outermost axis are
    that small. It is cut along that axis alone, since kernels count their workgroups by the sizes of the inner ones.
    """
    axis = max((a for a in range(3) if groups[a] > 1), default=0)
    slice_ = groups[0] * groups[1] * groups[2] // groups[axis]
    step = max(1, most // slice_)
    for start in range(0, groups[axis], step):
        base, size = [0, 0, 0], list(groups)
        base[axis], size[axis] = start, min(step, groups[axis] - start)
        yield (base[0], base[1], base[2]), (size[0], size[1], size[2])


class Recording:
    """Dispatches over buffers, ready to run again and again.

    place: where each region's resource lies. uploads, downloads: what to copy to the device before, and to the host
    after, each run (nothing where both share memory). kernels: as ``spirv`` gives them.
    timed: made for ``profile``; each dispatch is timed, by the device where it has timestamps, else by the host around
    a submission of its own.

    Work that the device may take long for goes in several submissions (SUBMISSION_SECONDS). Safe from any thread; runs
    follow each other.
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
        self._context = context
        self._dispatches = tuple(dispatches) if timed else ()
        self.lock = threading.Lock()
        #: Of the last run; a recording is handed to the device again only when it is done with it.
        self.fences: list[Fence] = []
        # What the device works on stays while this does.
        self._kept: list[object] = [*uploads, *downloads]
        writer = _Writer(context, timed=timed)
        if dispatches or uploads or downloads:
            writer.add(commands.before_all())
        if writer.copy(uploads, to_device=True):
            writer.add(commands.before_all())
        self._dispatch(writer, dispatches, kernels, place)
        if any(mirror.staging is not None for mirror in downloads):
            writer.add(commands.before_all())
            writer.copy(downloads, to_device=False)
        if writer.is_used:
            writer.add(commands.to_host())
        self._sequences = writer.record()
        self._positions = writer.positions
        self._pipelines = writer.pipelines
        self.batches = [Batch([self._sequences[n] for n in numbers], work) for numbers, work in writer.batches]

    def _dispatch(
        self,
        writer: _Writer,
        dispatches: Sequence[Dispatch],
        kernels: Sequence[bytes],
        place: Callable[[Region], Place],
    ) -> None:
        alignment = self._context.device.target.storage_buffer_alignment
        pending: list[_Range] = []
        for dispatch, kernel in zip(dispatches, kernels, strict=True):
            places = [place(binding.region) for binding in dispatch.bindings]
            self._kept += [p.buffer for p in places]
            bound = [
                _bind(p, binding.region, alignment, binding.access.writes)
                for p, binding in zip(places, dispatch.bindings, strict=True)
            ]
            ranges = [range_ for range_, _ in bound]
            if any(a.conflicts(b) for a in ranges for b in pending):
                writer.add(commands.between())
                pending = []
            pending += ranges
            push = [*(word for _, word in bound), *dispatch.push]
            pipeline = self._context.pipeline(kernel, dispatch)
            writer.dispatch(pipeline, [(r.native, r.start, r.end - r.start) for r in ranges], push, dispatch)

    @property
    def pipelines(self) -> int:
        """How many kernels it runs."""
        return len(self._pipelines)

    @property
    def is_new(self) -> bool:
        """Whether the driver compiles kernels of it as they first run."""
        return self._context.compiles_late and not all(pipeline.ran for pipeline in self._pipelines)

    def run(self) -> None:
        """Run and wait.

        Raises DMLError (DXGI_ERROR_DEVICE_REMOVED) where the device is lost.
        """
        fence = execute(self._context, [self], wait=True)
        assert fence is None or fence.is_done

    def settle(self) -> None:
        """Wait until the device is done with the last run."""
        for fence in self.fences:
            fence.wait()
        self.fences.clear()

    def start(self, sequences: list[Any]) -> Fence:
        """Hand sequences of this recording to the device."""
        self.fences.append(self._context.queue.submit(sequences, self))
        return self.fences[-1]

    def run_step_by_step(self) -> None:
        """Run sequence by sequence: a kernel is compiled in each, and Ctrl-C is heard between."""
        for sequence in self._sequences:
            self.start([sequence]).wait()
        for pipeline in self._pipelines:
            pipeline.ran = True

    def profile(self) -> list[KernelTime]:
        """Run, and say how long each dispatch took. Only of a ``timed`` recording."""
        context = self._context
        context.check_process()
        with self.lock:
            self.settle()
            host: list[int] = []
            for sequence in self._sequences:
                start = time.perf_counter_ns()
                self.start([sequence]).wait()
                host.append(time.perf_counter_ns() - start)
            if not context.has_timestamps:
                took = [sum(host[s] for s, _ in at) for at in self._positions]
            else:
                with vulkan_errors("reading timestamps"):
                    stamps = [sequence.get_timestamps() for sequence in self._sequences] if host else []
                # The counter has so many bits, and may pass its end between two stamps.
                mask = (1 << context.device.timestamp_bits) - 1
                period = context.device.timestamp_period
                took = [
                    int(sum((stamps[s][k + 1] - stamps[s][k]) & mask for s, k in at) * period) for at in self._positions
                ]
        return [KernelTime(d.node, d.label, t) for d, t in zip(self._dispatches, took, strict=True)]


def execute(context: Context, recordings: Sequence[Recording], *, wait: bool) -> Fence | None:
    """Run the recordings in order, in as few submissions as their work allows; None where there is nothing to do.

    Returns the fence of the last submission, which is done where ``wait`` asks for it. A recording that is under way
    already is waited for first.
    """
    context.check_process()
    last: Fence | None = None
    with contextlib.ExitStack() as held:
        # In one order everywhere, so that two threads with the same recordings do not wait for each other
        for recording in sorted(set(recordings), key=id):
            held.enter_context(recording.lock)
            recording.settle()
        together = _Together(context)
        for recording in recordings:
            if together.holds(recording):
                together.submit()
                recording.settle()
            if wait and recording.is_new:
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
    """Batches of several recordings on their way into one submission."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._most_work = _most_work(context)
        self._recordings: list[Recording] = []
        self._sequences: list[Any] = []
        self._work = 0.0
        self._last: Fence | None = None

    def holds(self, recording: Recording) -> bool:
        return recording in self._recordings

    def add(self, recording: Recording) -> None:
        for batch in recording.batches:
            if self._sequences and self._work + batch.work > self._most_work:
                self._flush()
            if not self.holds(recording):
                self._recordings.append(recording)
            self._sequences += batch.sequences
            self._work += batch.work

    def submit(self) -> Fence | None:
        """The fence of the last submission so far."""
        if self._sequences:
            self._flush()
        return self._last

    def _flush(self) -> None:
        self._last = self._context.queue.submit(self._sequences, self._recordings)
        for recording in self._recordings:
            recording.fences.append(self._last)
        self._recordings, self._sequences, self._work = [], [], 0.0


class _Writer:
    """Records operations into sequences.

    A sequence ends where the work so far is enough for a submission, before a kernel that a driver which compiles late
    has not run, and, where a dispatch is timed by the host, around it.
    """

    def __init__(self, context: Context, *, timed: bool) -> None:
        self._context = context
        self._timed = timed
        self._alone = timed and not context.has_timestamps
        self._most_work = _most_work(context)
        self._operations: list[list[Any]] = [[]]
        #: The numbers of the sequences of each submission, and its work.
        self.batches: list[tuple[list[int], float]] = [([0], 0.0)]
        #: Per dispatch, (sequence, operation in it) of each of its parts.
        self.positions: list[list[tuple[int, int]]] = []
        self.pipelines: list[Pipeline] = []

    @property
    def is_used(self) -> bool:
        return any(self._operations)

    def add(self, operation: Any) -> None:
        self._operations[-1].append(operation)

    def copy(self, mirrors: Iterable[Mirror], *, to_device: bool) -> bool:
        """Between staging memory and the buffers, whole; returns whether there is anything to copy."""
        staged = [mirror for mirror in mirrors if mirror.staging is not None]
        for mirror in staged:
            assert mirror.staging is not None
            source, target = mirror.staging, mirror.buffer.piece
            if not to_device:
                source, target = target, source
            size = min(source.size, target.size)
            self.add(kompute().OpCopy(source.native, source.offset, target.native, target.offset, size))
        return bool(staged)

    def dispatch(self, pipeline: Pipeline, ranges: list[tuple[Any, int, int]], push: list[int], of: Dispatch) -> None:
        is_first = pipeline not in self.pipelines
        if is_first:
            self.pipelines.append(pipeline)
        if self._alone or (is_first and self._context.compiles_late and not pipeline.ran):
            self._begin_sequence()
        named = {"label": names.of_dispatch(of)} if self._context.named else {}
        work = max(1, of.work)
        count = of.groups[0] * of.groups[1] * of.groups[2]
        parts: list[tuple[int, int]] = []
        for base, groups in grid_parts(of.groups, max(1, int(self._most_work * count / work))):
            share = work * groups[0] * groups[1] * groups[2] / count
            if self.batches[-1][1] and self.batches[-1][1] + share > self._most_work:
                self._begin_sequence(own_submission=True)
            self.batches[-1] = self.batches[-1][0], self.batches[-1][1] + share
            parts.append((len(self._operations) - 1, len(self._operations[-1])))
            with vulkan_errors("recording"):
                self.add(self._context.manager.dispatch(pipeline.native, ranges, push, base, groups, **named))
        self.positions.append(parts)
        if self._alone:
            self._begin_sequence()

    def _begin_sequence(self, *, own_submission: bool = False) -> None:
        if self._operations[-1]:
            self._operations.append([])
            if own_submission:
                self.batches.append(([], 0.0))
            self.batches[-1][0].append(len(self._operations) - 1)

    def record(self) -> list[Any]:
        """The sequences, by number; none where nothing was added."""
        if not self.is_used:
            self.batches = []
            return []
        return [self._recorded(operations) for operations in self._operations]

    def _recorded(self, operations: list[Any]) -> Any:
        with vulkan_errors("recording"):
            stamps = len(operations) + 1 if self._timed and not self._alone else 0
            sequence = self._context.manager.sequence(0, stamps)
            for operation in operations:
                sequence.record(operation)
        return sequence
