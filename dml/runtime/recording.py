"""A list of dispatches recorded once and replayed, with a barrier exactly where a later one depends on an earlier."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dml import shaders
from dml.compiler.program import Dispatch, Region
from dml.errors import HRESULT, DMLError
from dml.glslang import compile_many
from dml.runtime.context import Buffer, Context, kompute, vulkan_errors


@dataclass(frozen=True)
class Place:
    """Where a region lies: a buffer and the byte at which the region's resource begins in it."""

    buffer: Buffer
    offset: int = 0


@dataclass(frozen=True)
class _Use:
    """A dispatch's use of a buffer. A descriptor covers the whole buffer, so that is what may be read and written."""

    buffer: Buffer
    writes: bool

    def conflicts(self, other: _Use) -> bool:
        return (self.writes or other.writes) and self.buffer is other.buffer


class KernelTime(NamedTuple):
    """How long one dispatch took: the graph's nodes that it computes, its kernel, and nanoseconds."""

    node: str
    kernel: str
    nanoseconds: int


def spirv(dispatches: Sequence[Dispatch]) -> list[bytes]:
    """The compiled shaders of the dispatches, in order; every core compiles."""
    return compile_many([dispatch.source for dispatch in dispatches], include_dirs=(shaders.directory(),))


class Recording:
    """Dispatches over buffers, ready to run again and again.

    place: where each region's resource lies. inputs, outputs: the buffers to copy to the device before, and to the
    host after, each run (nothing on devices that share the host's memory). Kernels, as ``spirv`` gives them.
    timed: made for ``profile``; each dispatch is timed, by the device where it has timestamps, else by the host around
    a submission of its own.
    """

    def __init__(
        self,
        context: Context,
        dispatches: Sequence[Dispatch],
        kernels: Sequence[bytes],
        place: Callable[[Region], Place],
        inputs: Sequence[Buffer] = (),
        outputs: Sequence[Buffer] = (),
        *,
        timed: bool = False,
    ) -> None:
        self._context = context
        self._dispatches = tuple(dispatches) if timed else ()
        self._sequences: list[Any] = []
        self._pipelines: list[Any] = []
        self._operations = 0
        #: Per dispatch, the number of the sequence and of the operation in it.
        self._positions: list[tuple[int, int]] = []
        alone = timed and not context.has_timestamps
        # An operation each: dispatches, a barrier before each of them, and the copies around
        self._timestamps = len(dispatches) * 2 + 3 if timed and not alone else 0
        kp = kompute()
        self._begin()
        staged = list({b.serial: b.tensor for b in inputs if b.staged}.values())
        if staged:
            self._record(kp.OpTensorSyncDevice(staged))
        pending: list[_Use] = []
        for dispatch, kernel in zip(dispatches, kernels, strict=True):
            places = [place(binding.region) for binding in dispatch.bindings]
            offsets = [p.offset + b.region.offset for p, b in zip(places, dispatch.bindings, strict=True)]
            uses = [_Use(p.buffer, b.access.writes) for p, b in zip(places, dispatch.bindings, strict=True)]
            conflicts = [before for before in pending if any(use.conflicts(before) for use in uses)]
            if conflicts:
                self._barrier([*conflicts, *(before for before in pending if before.writes)])
                pending = []
            pending += uses
            push = np.array([*(offset // 4 for offset in offsets), *dispatch.push], np.uint32)
            pipeline = context.pipeline(
                kernel, dispatch.constants, [p.buffer for p in places], dispatch.groups, len(push)
            )
            self._pipelines.append(pipeline)
            if alone and self._operations:
                self._begin()
            self._positions.append((len(self._sequences) - 1, self._operations))
            self._record(kp.OpAlgoDispatch(pipeline, push))
        results = list({b.serial: b for b in outputs}.values())
        staged = [b.tensor for b in results if b.staged]
        shared = [b.tensor for b in results if not b.staged and b.words is not None]
        if alone and self._operations and (staged or (shared and context.has_barriers)):
            self._begin()
        if staged:
            self._record(kp.OpTensorSyncLocal(staged))
        if shared and context.has_barriers:
            self._record(_memory_barrier(shared, to_host=True))
        self.is_empty = self._operations == 0 and len(self._sequences) == 1

    def _begin(self) -> None:
        with vulkan_errors("recording"):
            self._sequences.append(self._context.manager.sequence(0, self._timestamps))
        self._operations = 0

    def _record(self, operation: Any) -> None:
        with vulkan_errors("recording"):
            self._sequences[-1].record(operation)
        self._operations += 1

    def _barrier(self, uses: Sequence[_Use]) -> None:
        """Uses of these buffers before it end before those after it begin. Stock Kompute: by another submission."""
        if self._context.has_barriers:
            tensors = {use.buffer.serial: use.buffer.tensor for use in uses}
            self._record(_memory_barrier(list(tensors.values()), to_host=False))
        else:
            self._begin()

    def run(self) -> None:
        """Run and wait.

        Raises DMLError (DXGI_ERROR_DEVICE_REMOVED) where the device is lost.
        """
        self._run()

    def _run(self) -> list[int]:
        """Nanoseconds of the host's clock that each sequence took."""
        times: list[int] = []
        if self.is_empty:
            return times
        context = self._context
        with context.lock:
            try:
                with vulkan_errors(f"running on {context.device.name}"):
                    for sequence in self._sequences:
                        start = time.perf_counter_ns()
                        sequence.eval()
                        times.append(time.perf_counter_ns() - start)
            except DMLError as error:
                if error.hresult == HRESULT.DXGI_ERROR_DEVICE_REMOVED:
                    context.removed_reason = error.hresult
                raise
        return times

    def profile(self) -> list[KernelTime]:
        """Run, and say how long each dispatch took. Only of a ``timed`` recording."""
        times = self._run()
        if self._timestamps:
            device = self._context.device
            with vulkan_errors("reading timestamps"):
                stamps = [sequence.get_timestamps() for sequence in self._sequences] if times else []
            # The counter has so many bits, and may pass its end between two stamps.
            mask = (1 << device.timestamp_bits) - 1
            took = [int((stamps[s][k + 1] - stamps[s][k] & mask) * device.timestamp_period) for s, k in self._positions]
        else:
            took = [times[s] for s, _ in self._positions]
        return [KernelTime(d.node, d.label, t) for d, t in zip(self._dispatches, took, strict=True)]


def _memory_barrier(tensors: list[Any], *, to_host: bool) -> Any:
    kp = kompute()
    if to_host:
        return kp.OpMemoryBarrier(
            tensors,
            src_access_mask=kp.AccessFlagBits.shader_write,
            dst_access_mask=kp.AccessFlagBits.host_read,
            src_stage_mask=kp.PipelineStageFlagBits.compute_shader,
            dst_stage_mask=kp.PipelineStageFlagBits.host,
        )
    return kp.OpMemoryBarrier(tensors)
