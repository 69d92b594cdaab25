"""A program's constants on the device, and the results of initialization, computed from constants and owned inputs.

Programs of one device share equal contents: a model compiled for another batch size reuses its weights. Constants are
identified by their bytes, initialization's results by the kernels and what these read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from dml.compiler.program import Dispatch, Program, Region, Space
from dml.runtime.arena import Arena, Islands, bound_regions
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context
from dml.runtime.recording import Place, Recording
from dml.stages import stage
from dml.stored import read_into

#: Constants that only initialization reads are uploaded in parts: of at most _PART_BYTES bytes or 1 / _PARTS of all,
#: whichever is larger. Fresh memory is slow, and a model that fills the device leaves too little for all of them.
_PART_BYTES, _PARTS = 8 << 20, 64

#: A dispatch and its kernel.
_Work = tuple[Dispatch, bytes]


def _digest(*parts: Any) -> bytes:
    """Return a digest of bytes and plain values."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part if isinstance(part, bytes | memoryview) else repr(part).encode()
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.digest()


def constant_name(program: Program, region: Region) -> bytes:
    """Return a digest of a region's bytes in the program's constants."""
    return _digest(program.constants[region.index].digest, region.offset, region.size)


class Constants:
    """The constants on the device that the program's dispatches read. keep: as in ``Pool.take``."""

    def __init__(
        self, context: Context, program: Program, dispatches: Sequence[Dispatch], *, keep: bool = False
    ) -> None:
        regions: dict[int, list[Region]] = {}
        for region in bound_regions(Space.CONSTANT, dispatches):
            regions.setdefault(region.index, []).append(region)
        self._arenas: dict[int, Arena] = {}
        for index, bound in regions.items():
            # programs share only whole constants
            key = program.constants[index].digest, frozenset((region.offset, region.size) for region in bound)
            arena = context.shared(key)
            if arena is None:
                islands = Islands(bound)
                buffers = [self._buffer(context, program, index, *span, keep) for span in islands.spans]
                arena = Arena(context, islands, buffers)
                context.share(key, arena)
            self._arenas[index] = arena
        if not keep:
            context.release_kept()  # staging memory

    def place(self, region: Region) -> Place:
        return self._arenas[region.index].place(region)

    def _buffer(self, context: Context, program: Program, index: int, start: int, end: int, keep: bool) -> Buffer:
        key = constant_name(program, Region(Space.CONSTANT, index, start, end - start))
        buffer: Buffer | None = context.shared(key)
        if buffer is None:
            data = program.constants[index].Data
            buffer = context.buffer(end - start, zero=end > len(data), keep=keep)
            with stage("upload"):
                size = min(end, len(data)) - start
                buffer.write_parts(size, lambda offset, part: read_into(part, data, start + offset))
            context.share(key, buffer)
        return buffer


class Weights:
    """A program's persistent resource, initialized: one buffer per island, a contiguous byte range (see ``Islands``).

    kernels: those of ``program.initialize``. given: the bytes of each owned input.
    """

    def __init__(
        self, context: Context, program: Program, kernels: Sequence[bytes], given: Mapping[int, npt.NDArray[Any]]
    ) -> None:
        self._context = context
        self._program = program
        self._islands = Islands([*bound_regions(Space.PERSISTENT, program.initialize), *self._regions_kept()])
        self._numbers_kept = {self._islands.number(region) for region in self._regions_kept()}
        keys = self._keys(kernels, given)
        #: Island number -> buffer (see ``Islands``): for islands that runs read, and during initialization also for
        #: those that only initialization reads.
        self._buffers: dict[int, Buffer] = {}
        for number, key in enumerate(keys):
            shared = None if key is None else context.shared(key)
            if shared is not None:
                self._buffers[number] = shared
        work, missing = self._work(kernels)
        for number in sorted(missing):
            start, end = self._islands.spans[number]
            self._buffers[number] = context.buffer(end - start, zero=False)
        self._initialize(work, given, missing)
        self._buffers = {number: self._buffers[number] for number in sorted(self._numbers_kept)}
        # Publish only after submitting the work that fills the buffers: other programs' submissions then run after it.
        for number, buffer in self._buffers.items():
            key = keys[number]
            if key is not None:
                context.share(key, buffer)

    def place(self, region: Region) -> Place:
        number = self._islands.number(region)
        return Place(self._buffers[number], -self._islands.starts[number])

    @property
    def buffers(self) -> list[Buffer]:
        """Backing buffers; equal contents share them."""
        return list(self._buffers.values())

    def _regions_kept(self) -> list[Region]:
        """Return the regions that runs read, and the owned inputs."""
        return [*bound_regions(Space.PERSISTENT, self._program.dispatches), *self._program.owned.values()]

    def _keys(self, kernels: Sequence[bytes], given: Mapping[int, npt.NDArray[Any]]) -> list[bytes | None]:
        """Return a digest of each island's contents; None if it is rewritten after being read."""
        islands, program = self._islands, self._program
        keys = [_digest(end - start) for start, end in islands.spans]
        for slot, region in program.owned.items():
            number = islands.number(region)
            keys[number] = _digest(keys[number], self._relative(region), given[slot].data)
        read: set[int] = set()
        rewritten: set[int] = set()
        for dispatch, kernel in zip(program.initialize, kernels, strict=True):
            parts: list[Any] = [kernel, dispatch.push, dispatch.parameters, dispatch.groups]
            numbers = []
            for binding in dispatch.bindings:
                region = binding.region
                if region.space is Space.CONSTANT:
                    parts += [binding.access, constant_name(program, region)]
                else:
                    number = islands.number(region)
                    parts += [binding.access, self._relative(region), keys[number]]
                    numbers.append((number, binding.access.writes))
            own = _digest(*parts)
            for index, (number, writes) in enumerate(numbers):
                if writes:
                    keys[number] = _digest(own, index)
                    rewritten |= {number} & read
            read |= {number for number, writes in numbers if not writes}
        return [None if number in rewritten else key for number, key in enumerate(keys)]

    def _relative(self, region: Region) -> tuple[int, int]:
        return region.offset - self._islands.spans[self._islands.number(region)][0], region.size

    def _work(self, kernels: Sequence[bytes]) -> tuple[list[_Work], set[int]]:
        """Return the dispatches that compute the islands without a buffer, and the numbers of all islands that these
        dispatches need."""
        islands, present = self._islands, set(self._buffers)
        missing = self._numbers_kept - present
        work: list[_Work] = []
        for dispatch, kernel in zip(reversed(self._program.initialize), reversed(kernels), strict=True):
            bound = [b for b in dispatch.bindings if b.region.space is not Space.CONSTANT]
            if any(b.access.writes and islands.number(b.region) in missing for b in bound):
                missing |= {islands.number(b.region) for b in bound} - present
                work.append((dispatch, kernel))
        return work[::-1], missing

    def _initialize(self, work: Sequence[_Work], given: Mapping[int, npt.NDArray[Any]], missing: set[int]) -> None:
        """Upload the owned inputs that lie in ``missing`` islands, and run the dispatches that compute the others."""
        for slot, region in self._program.owned.items():
            if self._islands.number(region) in missing:
                place = self.place(region)
                with stage("upload"):
                    place.buffer.write(given[slot], place.offset + region.offset)
        if work:
            for part in _in_parts(work):
                self._run(part)
            self._context.release_kept()

    def _run(self, work: Sequence[_Work]) -> None:
        dispatches = [dispatch for dispatch, _ in work]
        known = Constants(self._context, self._program, dispatches, keep=True)

        def place_of(region: Region) -> Place:
            return known.place(region) if region.space is Space.CONSTANT else self.place(region)

        Recording(self._context, dispatches, [kernel for _, kernel in work], place_of).run()


def _in_parts(work: Sequence[_Work]) -> Iterator[Sequence[_Work]]:
    """Split the work, in order, into parts that read few constants each."""
    sizes = [sum(region.size for region in bound_regions(Space.CONSTANT, [dispatch])) for dispatch, _ in work]
    most = max(_PART_BYTES, sum(sizes) // _PARTS)
    start = constant_bytes = 0
    for index, size in enumerate(sizes):
        if index > start and constant_bytes + size > most:
            yield work[start:index]
            start, constant_bytes = index, 0
        constant_bytes += size
    yield work[start:]
