"""Writes dispatches into Kompute sequences: barriers between dependent ones, split so that no watchdog fires."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dml.compiler.program import Access, Dispatch
from dml.compiler.target import DeviceClass
from dml.runtime import commands, names
from dml.runtime.buffer import Buffer, Mirror
from dml.runtime.context import Context
from dml.runtime.native import THROWN, as_dml_error, kompute, vulkan_errors
from dml.runtime.parameters import Parameters
from dml.runtime.pipelines import Pipeline
from dml.runtime.texels import view_size

if TYPE_CHECKING:
    from dml.runtime.recording import Place

#: Estimated seconds of work in one submission. Desktops kill GPU work after 2 seconds, and the estimate may be several
#: times too low.
SUBMISSION_SECONDS = 0.25

#: Steps (Dispatch.work) per second of slow devices of each class, in untuned kernels.
STEPS_PER_SECOND = {
    DeviceClass.DISCRETE: 5e10,
    DeviceClass.INTEGRATED: 5e9,
    DeviceClass.VIRTUAL: 5e9,
    DeviceClass.CPU: 1e9,
    DeviceClass.OTHER: 1e9,
}

#: Vector accesses may extend to the end of a region's last 16 bytes.
VECTOR_BYTES = 16


#: Factor for discrete GPUs with matrix units: even the slowest do this many times as many multiply-adds per second, and
#: splitting a submission costs time.
TIMES_AS_FAST = 8


def most_work(context: Context) -> float:
    """Return the maximum work for one submission, in units of Dispatch.work."""
    device = context.device
    is_faster = device.device_class is DeviceClass.DISCRETE and device.target.features.half_matrices
    return SUBMISSION_SECONDS * STEPS_PER_SECOND[device.device_class] * (TIMES_AS_FAST if is_faster else 1)


#: A byte range of a Kompute Buffer: the first byte, and the end.
_Span = tuple[Any, int, int]


class _Spans:
    """Byte ranges read and written, by one dispatch or by all since the last barrier."""

    def __init__(self) -> None:
        self.read: list[_Span] = []
        self.written: list[_Span] = []

    def conflict(self, later: _Spans) -> bool:
        """Whether later work touches a range written here, or writes a range read here."""
        return _meet(self.written, later.read + later.written) or _meet(self.read, later.written)

    def add(self, later: _Spans) -> None:
        self.read += later.read
        self.written += later.written


def _meet(some: list[_Span], others: list[_Span]) -> bool:
    """Whether a range of one list overlaps a range of the other. A hot loop over every binding of a plan: it makes no
    calls."""
    for native, start, end in others:
        for other, first, last in some:
            if start < last and first < end and native is other:
                return True
    return False


Groups = tuple[int, int, int]


def grid_parts(groups: Groups, most: int) -> Iterator[tuple[Groups, Groups]]:
    """Yield (base, groups) of parts of a grid, each of at most ``most`` workgroups if slices of the outermost axis are
    that small. Only that axis is split, since kernels count workgroups by the sizes of the inner ones."""
    axis = max((a for a in range(3) if groups[a] > 1), default=0)
    slice_ = groups[0] * groups[1] * groups[2] // groups[axis]
    step = max(1, most // slice_)
    for start in range(0, groups[axis], step):
        base, size = [0, 0, 0], list(groups)
        base[axis], size[axis] = start, min(step, groups[axis] - start)
        yield (base[0], base[1], base[2]), (size[0], size[1], size[2])


def _parts(dispatch: Dispatch, most: float) -> Iterable[tuple[Groups, Groups, float]]:
    """Return (base, groups, work) of each part of the dispatch; the whole if it is small enough."""
    work = max(1, dispatch.work)
    if work <= most:
        return [((0, 0, 0), dispatch.groups, work)]
    count = math.prod(dispatch.groups)
    parts = grid_parts(dispatch.groups, max(1, int(most * count / work)))
    return [(base, groups, work * math.prod(groups) / count) for base, groups in parts]


class Writer:
    """Records copies and dispatches into sequences, with barriers between dependent dispatches.

    A sequence ends when it holds enough work for one submission; before a kernel that the driver would compile at its
    first run; and, if the host times dispatches, around each.
    """

    def __init__(self, context: Context, parameters: Parameters, *, timed: bool) -> None:
        self._context = context
        self._parameters = parameters
        self._timed = timed
        self._alone = timed and not context.has_timestamps
        self._most_work = most_work(context)
        target = context.device.target
        self._alignment = max(target.storage_buffer_alignment, target.texel_alignment)
        self._operations: list[list[Any]] = [[]]
        #: Whether the last sequence holds more than barriers.
        self._works = False
        #: Whether the last operation makes writes visible to the host.
        self._shows_host = False
        #: Ranges used since the last barrier.
        self._pending = _Spans()
        #: Indices of each submission's sequences, and its work.
        self.batches: list[tuple[list[int], float]] = [([0], 0.0)]
        #: Per timed dispatch: (sequence, operation in it) of each of its parts.
        self.positions: list[list[tuple[int, int]]] = []
        #: Pipelines, in order of first use.
        self.pipelines: dict[Pipeline, None] = {}
        #: Keeps bound buffers alive.
        self._buffers: set[Buffer] = set()

    @property
    def _is_used(self) -> bool:
        return any(self._operations)

    def begin(self, uploads: Sequence[Mirror]) -> None:
        """Wait for earlier submissions, then copy the host's inputs."""
        self._add(commands.before_all())
        if any(mirror.staging is not None for mirror in uploads):
            self._copy(uploads, to_device=True)
            self._add(commands.before_all())

    def end(self, downloads: Sequence[Mirror]) -> None:
        """Copy the host's outputs, and make all writes visible to it."""
        if any(mirror.staging is not None for mirror in downloads):
            self._add(commands.before_all())
            self._copy(downloads, to_device=False)
        if self._is_used:
            self._add(commands.to_host())
            self._shows_host = True

    def _add(self, operation: Any) -> None:
        self._operations[-1].append(operation)

    def _copy(self, mirrors: Iterable[Mirror], *, to_device: bool) -> None:
        """Copy between staging memory, if any, and the buffers."""
        for mirror in mirrors:
            if mirror.staging is None:
                continue
            source, target = mirror.staging, mirror.buffer.piece
            if not to_device:
                source, target = target, source
            self._works = True
            self._add(kompute().OpCopy(source.native, source.offset, target.native, target.offset, mirror.words.nbytes))

    def dispatch(self, dispatch: Dispatch, kernel: bytes, places: Sequence[Place]) -> None:
        """Record a kernel over the regions of the dispatch's bindings. places: where each region's resource begins."""
        spans = _Spans()
        ranges, offsets = self._bind(dispatch, places, spans)
        if self._pending.conflict(spans):
            self._add(commands.between())
            self._pending = spans
        else:
            self._pending.add(spans)
        pipeline = self._context.pipelines.get(dispatch, kernel)
        is_first = pipeline not in self.pipelines
        if is_first:
            self.pipelines[pipeline] = None
        if self._alone or (is_first and self._context.compiles_late and not pipeline.ran):
            self._begin_sequence()
        self._dispatch_parts(pipeline, dispatch, ranges, [*offsets, *dispatch.push])
        if self._alone:
            self._begin_sequence()

    def _bind(
        self, dispatch: Dispatch, places: Sequence[Place], spans: _Spans
    ) -> tuple[list[tuple[Any, int, int]], list[int]]:
        """Return each region's descriptor range (buffer, offset, size), and the word in it where the region begins.
        Appends the ranges to ``spans``."""
        alignment, reading, margin = self._alignment, Access.READ, self._context.margin
        ranges: list[tuple[Any, int, int]] = []
        offsets: list[int] = []
        for (buffer, base), ((_, _, offset, size), access, texel) in zip(places, dispatch.bindings, strict=True):
            self._buffers.add(buffer)
            piece = buffer.piece
            first = piece.offset + base + offset
            start = first // alignment * alignment
            end = -(-(first + size) // VECTOR_BYTES) * VECTOR_BYTES
            if end > piece.offset + piece.size:
                end = piece.offset + piece.size
            if texel:
                end = start + view_size(end - start)
            (spans.read if access is reading else spans.written).append((piece.native, start, end))
            if margin:
                end = min(end + margin, piece.offset + piece.size)
            ranges.append((piece.native, start, end - start))
            offsets.append((first - start) // 4)
        return ranges, offsets

    def _dispatch_parts(
        self, pipeline: Pipeline, dispatch: Dispatch, ranges: Sequence[tuple[Any, int, int]], push: Sequence[int]
    ) -> None:
        """Record the dispatch, split so that no part exceeds a submission's work."""
        bound = [*ranges, *self._parameters.range(dispatch)]
        label = names.of_dispatch(dispatch) if self._context.named else ""
        positions: list[tuple[int, int]] = []
        for base, groups, work in _parts(dispatch, self._most_work):
            before = self.batches[-1][1]
            if before and before + work > self._most_work:
                self._begin_sequence(own_submission=True)
            self.batches[-1] = self.batches[-1][0], self.batches[-1][1] + work
            positions.append((len(self._operations) - 1, len(self._operations[-1])))
            self._works = True
            try:
                operation = self._context.manager.dispatch(pipeline.native, bound, push, base, groups, label)
            except THROWN as error:
                raise as_dml_error("recording", error) from error
            self._operations[-1].append(operation)
        if self._timed:
            self.positions.append(positions)

    def _begin_sequence(self, *, own_submission: bool = False) -> None:
        if self._works or (self._alone and self._operations[-1]):
            self._works = False
            self._operations.append([])
            if own_submission:
                self.batches.append(([], 0.0))
            self.batches[-1][0].append(len(self._operations) - 1)

    def record(self) -> list[Any]:
        """Record and return the sequences, by number; empty ones are left out."""
        if not self._is_used:
            self.batches = []
            return []
        return [self._recorded(operations) for operations in self._operations]

    def record_batches(self) -> list[Any]:
        """Record one sequence per submission, which is fastest once the driver has compiled the kernels."""
        return [
            self._recorded([operation for number in numbers for operation in self._operations[number]])
            for numbers, _ in self.batches
        ]

    def submissions(self) -> Iterator[tuple[list[Any], float]]:
        """Yield each submission's operations, without those that make writes visible to the host, and its work."""
        for numbers, work in self.batches:
            operations = [operation for number in numbers for operation in self._operations[number]]
            is_last = self._shows_host and bool(numbers) and numbers[-1] == len(self._operations) - 1
            yield operations[:-1] if is_last else operations, work

    def _recorded(self, operations: list[Any]) -> Any:
        return _sequence(self._context, operations, len(operations) + 1 if self._timed and not self._alone else 0)


def _sequence(context: Context, operations: Sequence[Any], stamps: int = 0) -> Any:
    with vulkan_errors("recording"):
        sequence = context.manager.sequence(0, stamps)
        for operation in operations:
            sequence.record(operation)
    return sequence


def joined(context: Context, writers: Sequence[Writer]) -> Iterator[tuple[Any, float]]:
    """Yield the writers' operations joined into as few sequences as a watchdog allows, each with its work."""
    most, together, total = most_work(context), list[Any](), 0.0
    for operations, work in (submission for writer in writers for submission in writer.submissions()):
        if together and total + work > most:
            yield _sequence(context, [*together, commands.to_host()]), total
            together, total = [], 0.0
        together += operations
        total += work
    if together:
        yield _sequence(context, [*together, commands.to_host()]), total
