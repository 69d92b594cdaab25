"""A device's pipelines: one per kernel and layout, shared by all that run it on any buffers.

All cores compile them as soon as a program is compiled. The driver's cache outlives the process (see
``pipeline_cache``).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import Any, NamedTuple

from dml import stages
from dml.compiler.program import Dispatch
from dml.errors import DMLError
from dml.recent import Recent
from dml.runtime import names, pipeline_cache
from dml.runtime.devices import VulkanDevice
from dml.runtime.native import vulkan_errors
from dml.runtime.queue import Gate

#: Memory budget, in bytes, for unused recent pipelines; and the estimated size of one. A CPU driver keeps machine code
#: and LLVM's data: 3.2 MiB each on lavapipe, measured over 63 pairs of matrix products.
KEPT_PIPELINE_BYTES = 128 << 20
PIPELINE_BYTES, CPU_PIPELINE_BYTES = 64 << 10, 3 << 20

#: Pipelines that take the driver this many seconds are written to disk at once rather than at exit.
KEEP_SECONDS = 2.0

#: Number of pipelines of a CPU driver after which memory freed by its compiler is returned to the system: SwiftShader
#: frees up to 200 MiB after a large tile, which glibc would keep in the threads' arenas.
_TRIM_AFTER = 8


class Pipeline:
    """A kernel's pipeline. ``ran``: whether the driver has run it, and so has compiled all of it."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.ran = False


class _Key(NamedTuple):
    """All that a pipeline depends on. push_size: bytes of push constants. texels: per buffer (StorageBinding)."""

    spirv: bytes
    buffers: int
    push_size: int
    uniform: bool
    texels: tuple[int, ...]

    @staticmethod
    def of(dispatch: Dispatch, spirv: bytes) -> _Key:
        buffers = len(dispatch.bindings)
        push_size = 4 * (buffers + len(dispatch.push))
        texels = tuple([texel for _, _, texel in dispatch.bindings])
        return _Key(spirv, buffers, push_size, bool(dispatch.parameters), texels)


class _Task(NamedTuple):
    """A pipeline to make, unless its future has been dropped."""

    key: _Key
    dispatch: Dispatch
    future: weakref.ref[Future[Pipeline]]


class Pipelines:
    """The pipelines of an open device. Thread-safe.

    manager: Kompute's. named: whether Vulkan objects get debug names. late: whether the driver compiles a kernel at its
    first run, as CPU drivers do.
    """

    def __init__(self, device: VulkanDevice, manager: Any, gate: Gate, *, named: bool, late: bool) -> None:
        self._device = device
        self._manager = manager
        self._gate = gate
        self._named = named
        #: Estimated bytes of one pipeline.
        self.bytes_each = CPU_PIPELINE_BYTES if late else PIPELINE_BYTES
        #: Pipelines made so far, and the count when memory was last returned to the system.
        self.made = 0
        self._trimmed = 0 if late else None
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._present: weakref.WeakValueDictionary[_Key, Pipeline] = weakref.WeakValueDictionary()
        self._recent: Recent[_Key, Pipeline] = Recent(KEPT_PIPELINE_BYTES // self.bytes_each)
        self._begun: weakref.WeakValueDictionary[_Key, Future[Pipeline]] = weakref.WeakValueDictionary()
        self._waiting: deque[_Task] = deque()
        self._workers = 0
        #: Driver seconds spent on pipelines not yet on disk.
        self._unkept = 0.0
        pipeline_cache.load(device, manager)

    def __len__(self) -> int:
        return len(self._present)

    def begin(self, dispatches: Sequence[Dispatch], kernels: Sequence[bytes]) -> object:
        """Start making these pipelines on all cores and return at once. The result keeps them alive; dropped requests
        are cancelled. ``get`` retries failures."""
        requested: dict[_Key, object] = {}
        if self._process != os.getpid():
            return requested  # the first use of the device raises: a forked child lacks the driver's threads
        with self._lock:
            for dispatch, spirv in zip(dispatches, kernels, strict=True):
                key = _Key.of(dispatch, spirv)
                if key not in requested:
                    requested[key] = self._present.get(key) or self._begun.get(key) or self._add(key, dispatch)
            starting = max(0, min(len(self._waiting), (os.cpu_count() or 1) - self._workers))
            self._workers += starting
        for _ in range(starting):
            # A daemon: the interpreter need not wait for pipelines that nobody will run
            threading.Thread(target=self._work, name="dml pipelines", daemon=True).start()
        return requested

    def _add(self, key: _Key, dispatch: Dispatch) -> Future[Pipeline]:
        future: Future[Pipeline] = Future()
        self._begun[key] = future
        self._waiting.append(_Task(key, dispatch, weakref.ref(future)))
        return future

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._workers -= 1
                    break
                task = self._waiting.popleft()
            future = task.future()
            if future is None or not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._make(task.key, task.dispatch))
            except Exception as error:
                future.set_exception(error)
        self._trim()

    def _trim(self) -> None:
        """Return memory that the driver's compiler freed to the system, every few pipelines."""
        with self._lock:
            if self._trimmed is None or self.made - self._trimmed < _TRIM_AFTER:
                return
            self._trimmed = self.made
        libc = ctypes.CDLL(None)
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)

    def get(self, dispatch: Dispatch, spirv: bytes) -> Pipeline:
        """Return the pipeline for a dispatch's kernel. Raises DMLError if the driver cannot make it."""
        key = _Key.of(dispatch, spirv)
        pipeline = self._recent.get(key)
        if pipeline is not None:
            return pipeline
        with self._lock:
            pipeline = self._present.get(key)
            begun = self._begun.get(key)
        if pipeline is None:
            with stages.stage("pipelines"):
                if begun is not None and not begun.cancel():
                    with contextlib.suppress(DMLError, CancelledError):
                        pipeline = begun.result()
                pipeline = pipeline or self._make(key, dispatch)
        self._recent.put(key, pipeline)
        return pipeline

    def _make(self, key: _Key, dispatch: Dispatch) -> Pipeline:
        stages.saw("kernels", (dispatch.label, key.spirv))
        stages.saw("pipelines", key)
        named = {"name": names.of_kernel(dispatch, key.spirv)} if self._named else {}
        start = time.perf_counter()
        with self._gate, vulkan_errors("making a compute pipeline"):
            native = self._manager.pipeline(
                key.spirv, (), key.buffers, key.push_size, uniform=key.uniform, texels=key.texels, **named
            )
        with self._lock:
            self.made += 1
            self._unkept += time.perf_counter() - start
            much = self._unkept >= KEEP_SECONDS
            # Another thread may have made it first
            pipeline = self._present.setdefault(key, Pipeline(native))
        if much:
            with self._gate:
                self.keep()
        return pipeline

    def keep(self) -> None:
        """Write the driver's pipeline cache to disk if it has new entries."""
        with self._lock:
            new, self._unkept = self._unkept > 0, 0.0
        if new:
            pipeline_cache.keep(self._device, self._manager)
