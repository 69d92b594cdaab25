"""One Vulkan device opened through Kompute: its memory, pipelines and queue."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from dml.compiler.selection import reads_texels
from dml.compiler.target import DeviceClass
from dml.compiler.tuned import NOTHING_TUNED
from dml.errors import HRESULT, DMLError
from dml.runtime import commands, features, names
from dml.runtime.buffer import Buffer
from dml.runtime.devices import VulkanDevice
from dml.runtime.huge_pages import huge_pages
from dml.runtime.memory import Bytes, Piece, Pool, Use
from dml.runtime.memory_limit import VARIABLE, memory_limit
from dml.runtime.native import kompute, vulkan_errors
from dml.runtime.pipelines import Pipelines
from dml.runtime.queue import ASKING, Fence, Gate, Queue
from dml.runtime.texels import buffer_size

#: Pieces of at least this many bytes get their own allocation. On devices with much memory the threshold rises, so that
#: even a full device stays below the number of allocations that every driver allows.
OWN_ALLOCATION, MOST_OWN_ALLOCATIONS = 8 << 20, 1024


class Spare(Protocol):
    """An owner of device memory that can be released."""

    def clear(self) -> None: ...


class Context:
    """A device opened through Kompute. ``open_context`` makes it, once per process."""

    def __init__(self, device: VulkanDevice) -> None:
        self.device = device
        #: Whether Vulkan objects get debug names (see ``names``).
        self.named = names.are_wanted()
        kp = kompute()
        with vulkan_errors(f"opening {device.name}"):
            extensions, structures = features.opening(device.target.features, device.api_version)
            self.manager = kp.Manager(
                device.index,
                desired_extensions=extensions,
                debug_names=self.named,
                features=structures,
                api_version=features.packed(features.INSTANCE_VERSION),
            )
        #: Whether host and device share memory.
        self.unified = device.device_class in (DeviceClass.CPU, DeviceClass.INTEGRATED)
        #: Whether the driver compiles a kernel at its first run, which cannot be interrupted.
        self.compiles_late = device.device_class is DeviceClass.CPU
        #: Whether the device can time a dispatch.
        self.has_timestamps = device.timestamp_bits > 0
        #: Bytes after a region that are bound along with it. The conformance suite uses them to detect accesses beyond
        #: a region, which CPU drivers would otherwise drop.
        self.margin = 0
        #: Caches to clear when memory is short.
        self.spare: weakref.WeakSet[Spare] = weakref.WeakSet()
        #: S_OK until Vulkan reports the device lost.
        self.removed_reason = HRESULT.S_OK
        self.gate = Gate()
        asking = 0.0 if self.compiles_late else ASKING
        self.queue = Queue(self.manager, self.gate, device.name, self._lost, asking)
        self.pipelines = Pipelines(device, self.manager, self.gate, named=self.named, late=self.compiles_late)
        self._process = os.getpid()
        #: Limit on allocated bytes; None: no limit but the device's memory.
        self.memory_limit = memory_limit()
        self._pools: dict[Use, Pool] = {}
        self._lock = threading.RLock()
        self._shared: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()

    def _lost(self, reason: HRESULT) -> None:
        self.removed_reason = reason

    def check_process(self) -> None:
        """Raise DMLError in a child process forked after the device was opened: the driver's threads do not exist
        there."""
        if self._process != os.getpid():
            raise _forked(self.device)

    # Memory

    def buffer(self, size: int, *, host: bool = True, zero: bool = True, keep: bool = False) -> Buffer:
        return Buffer(self, size, host=host, zero=zero, keep=keep)

    def take(self, use: Use, size: int, *, keep: bool = False) -> Piece:
        """Allocate memory for a use. keep: as in ``Pool.take``.

        Raises DMLError (E_OUTOFMEMORY) with a summary of the device's memory.
        """
        self.check_process()
        if size > self.device.max_allocation:
            raise DMLError(
                f"a buffer of {size} bytes is above the limit of {self.device.max_allocation} bytes "
                f"(maxMemoryAllocationSize) on {self.device.name}",
                HRESULT.E_OUTOFMEMORY,
            )
        pool = self._pool(use)
        try:
            return pool.take(size, keep=keep)
        except DMLError as error:
            if error.hresult != HRESULT.E_OUTOFMEMORY:
                raise
        # Memory can come from caches, from dropped objects whose work is still in flight, and from chunks of other
        # pools.
        for spare in list(self.spare):
            spare.clear()
        self.queue.finish()
        for other in list(self._pools.values()):
            other.release()
        try:
            return pool.take(size, keep=keep)
        except DMLError as error:
            raise DMLError(f"{error}; {self.describe_memory()}", error.hresult) from error

    def release_kept(self) -> None:
        """Return the memory reserved for large pieces (see ``Pool.take``) to the driver, when the work on it is
        done."""
        keeping = [pool for pool in list(self._pools.values()) if pool.keeps]
        if keeping:
            self.queue.finish()
        for pool in keeping:
            pool.release(kept=True)

    def constant(self, data: Bytes) -> Buffer:
        """Make an immutable buffer with these bytes. No work in flight can refer to it, so the upload waits for
        none."""
        buffer = self.buffer(data.size, zero=False)
        if buffer.piece.view is not None:
            buffer.piece.view[: data.size] = data
        else:
            self.upload(data.size, lambda part: np.copyto(part, data), buffer.piece, 0)
        return buffer

    def shared(self, key: Hashable) -> Any:
        """Return the buffer or arena published under ``key``; None if it no longer exists."""
        with self._lock:
            return self._shared.get(key)

    def share(self, key: Hashable, holder: Any) -> None:
        """Publish an immutable buffer or arena under ``key``, so that others can share it."""
        with self._lock:
            self._shared.setdefault(key, holder)

    def describe_memory(self) -> str:
        """Return a text about the memory that this library has allocated on the device, and about the device's
        heaps."""
        pools = [(use, pool.in_use, *pool.allocated) for use, pool in list(self._pools.items())]
        ours = ", ".join(
            f"{used} of {size} bytes in {count} allocations for {use.value}"
            for use, used, count, size in pools
            if count
        )
        heaps = "; ".join(
            f"{'device' if own else 'host'} heap of {size} bytes, {usage} used of {budget} available"
            for size, own, budget, usage in self.manager.heaps()
        )
        return f"in use: {ours or 'nothing'}; {heaps}"

    def _pool(self, use: Use) -> Pool:
        with self._lock:
            if use not in self._pools:

                def allocate(size: int) -> Any:
                    self._check_limit(size)
                    with vulkan_errors(f"allocating {size} bytes for {use.value} on {self.device.name}"):
                        named = {"name": f"dml {use.value} memory"} if self.named else {}
                        size = buffer_size(size) if reads_texels(self.device.target) else size
                        native = self.manager.buffer(size, getattr(kompute().BufferUse, use.value), **named)
                    if self.compiles_late and use is not Use.DEVICE:
                        huge_pages(native.data())
                    return native

                own_from = max(OWN_ALLOCATION, self.device.memory // MOST_OWN_ALLOCATIONS)
                self._pools[use] = Pool(allocate, own_from, host=use is not Use.DEVICE)
            return self._pools[use]

    def _check_limit(self, size: int) -> None:
        if self.memory_limit is not None:
            allocated = sum(pool.allocated[1] for pool in list(self._pools.values()))
            if allocated + size > self.memory_limit:
                limit = f"the {self.memory_limit} bytes of {VARIABLE}"
                message = f"{size} bytes and the {allocated} that are allocated would exceed {limit}"
                raise DMLError(message, HRESULT.E_OUTOFMEMORY)

    # Transfers

    def fill(self, piece: Piece) -> None:
        """Zero all bytes of the piece."""
        if piece.view is not None:
            piece.view[:] = 0
        else:
            self._run([commands.before_all(), kompute().OpFill(piece.native, piece.offset, piece.size)], piece)

    def upload(self, size: int, write: Callable[[Bytes], None], piece: Piece, offset: int) -> None:
        """Let ``write`` fill ``size`` bytes of the piece, or memory that is copied there, ``offset`` bytes from its
        start."""
        if piece.view is not None:
            self.queue.finish()
            write(piece.view[offset : offset + size])
        elif size:
            staging = self.take(Use.UPLOAD, size, keep=True)
            assert staging.view is not None
            write(staging.view[:size])
            copy = kompute().OpCopy(staging.native, staging.offset, piece.native, piece.offset + offset, size)
            fence = self._run([commands.before_all(), copy], (staging, piece))
            if size >= OWN_ALLOCATION:
                fence.wait()  # bounds the staging memory that a large transfer uses at once

    def download(self, piece: Piece, offset: int, result: Bytes) -> None:
        """Copy the piece's bytes starting at ``offset`` to the host."""
        if piece.view is not None:
            self.queue.finish()
            result[:] = piece.view[offset : offset + result.size]
        elif result.size:
            staging = self.take(Use.READBACK, result.size)
            assert staging.view is not None
            copy = kompute().OpCopy(piece.native, piece.offset + offset, staging.native, staging.offset, result.size)
            self._run([commands.before_all(), copy, commands.to_host()], (staging, piece)).wait()
            result[:] = staging.view[: result.size]

    def _run(self, operations: Sequence[Any], keep: object) -> Fence:
        self.check_process()
        with vulkan_errors("recording"):
            sequence = self.manager.sequence()
            for operation in operations:
                sequence.record(operation)
        return self.queue.submit([sequence], keep)

    # Closing

    def close(self) -> None:
        """Block further calls into the driver, wait for those inside and for submitted work, and save the pipeline
        cache."""
        if self._process == os.getpid():
            self.queue.finish()
            self.gate.close()
            self.pipelines.keep()


_contexts: dict[VulkanDevice, Context] = {}
_opening = threading.Lock()
#: Whether this process was forked from one with an open device.
_is_forked = False


def _forked(device: VulkanDevice) -> DMLError:
    return DMLError(
        f"{device.name}: a device was opened before this process was forked, and drivers do not survive that; start "
        "the process with multiprocessing's 'spawn', or open devices only in the children",
        HRESULT.DXGI_ERROR_UNSUPPORTED,
    )


def open_context(device: VulkanDevice) -> Context:
    """Return the process's context of the device. A device seen as several kinds has a context for each; tuning tables
    make no difference.

    Raises DMLError in a process forked from one with an open device: lavapipe would open the device again, but
    SwiftShader hangs at the first dispatch.
    """
    if _is_forked:
        raise _forked(device)
    device = device.tuned_by(NOTHING_TUNED)
    with _opening:
        if device not in _contexts:
            _contexts[device] = Context(device)
        return _contexts[device]


@atexit.register
def _close_all() -> None:
    for context in list(_contexts.values()):
        context.close()


def _forget_all() -> None:
    """In a forked child, abandon the parent's devices: destroying them, or exiting normally, would wait for driver
    threads that exist only in the parent."""
    global _opening, _is_forked
    if not _contexts:
        return
    _opening, _is_forked = threading.Lock(), True
    for context in _contexts.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(context))
    _contexts.clear()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):
        # glibc runs exit handlers last to first, so this one prevents Mesa's, which would hang
        libc.on_exit(libc._exit, None)


os.register_at_fork(after_in_child=_forget_all)
