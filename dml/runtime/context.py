"""One Vulkan device opened through Kompute: its buffers and pipelines."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array, checked
from dml.compiler.target import DeviceClass
from dml.errors import HRESULT, DMLError
from dml.runtime.devices import VulkanDevice

Words = npt.NDArray[np.uint32]


@cache
def kompute() -> Any:
    """The ``kp`` module.

    Raises DMLError where it is not installed.
    """
    try:
        import kp
    except ImportError as error:
        raise DMLError(
            f"Kompute's Python package kp does not load ({error}); tools/setup builds it",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        ) from error
    logging.getLogger("kp").setLevel(logging.ERROR)
    return kp


@contextlib.contextmanager
def vulkan_errors(what: str) -> Iterator[None]:
    """Turn what Kompute throws into a DMLError that says what was being done."""
    try:
        yield
    except DMLError:
        raise
    except (RuntimeError, MemoryError, ValueError) as error:
        text = str(error)
        if "DeviceLost" in text:
            code = HRESULT.DXGI_ERROR_DEVICE_REMOVED
        elif "OutOf" in text or isinstance(error, MemoryError):
            code = HRESULT.E_OUTOFMEMORY
        else:
            code = HRESULT.E_FAIL
        raise DMLError(f"{what}: {text}", code) from error


class Buffer:
    """A storage buffer of ``size`` bytes (rounded up to 16).

    ``words`` is the host's view of it, None where only the device reaches it. On devices with memory of their own the
    view is a staging copy: ``upload`` and ``download`` move it.
    """

    _serials = itertools.count()

    def __init__(self, context: Context, size: int, *, host: bool = True) -> None:
        self.context = context
        self.size = size
        self.serial = next(Buffer._serials)
        count = max(4, -(-size // 16) * 4)
        limit = min(context.device.max_allocation, context.device.target.max_storage_buffer_range, (1 << 32) - 16)
        if count * 4 > limit:
            raise DMLError(
                f"a buffer of {size} bytes is above the limit of {limit} bytes on {context.device.name}",
                HRESULT.E_OUTOFMEMORY,
            )
        kp = kompute()
        kinds = kp.TensorTypes
        self.staged = host and not context.unified
        kind = kinds.storage if not host else kinds.device if self.staged else kinds.host
        with vulkan_errors(f"allocating {size} bytes on {context.device.name}"):
            self.tensor = context.manager.tensor_t(np.zeros(count, np.uint32), kind)
            self.words: Words | None = self.tensor.data() if host else None

    def _bytes(self, offset: int, size: int) -> npt.NDArray[np.uint8]:
        if self.words is None:
            raise DMLError(f"a buffer of {self.size} bytes is the device's alone: the host neither reads nor writes it")
        if offset < 0 or size < 0 or offset + size > self.size:
            raise DMLError(f"bytes {offset} to {offset + size} are not all in a buffer of {self.size} bytes")
        return self.words.view(np.uint8)[offset : offset + size]

    @checked
    def write(self, data: npt.ArrayLike, offset: int = 0) -> None:
        """Copy an array's bytes (row-major) to ``offset`` bytes from the start, and to the device.

        Raises DMLError where they do not fit.
        """
        source = np.ascontiguousarray(as_array(data, "Buffer.write")).reshape(-1).view(np.uint8)
        self._bytes(offset, source.size)[:] = source
        self.upload()

    @checked
    def read(self, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0) -> npt.NDArray[Any]:
        """A copy of ``count`` elements (all that fit) of ``dtype`` from ``offset`` bytes on.

        Raises DMLError where the buffer has fewer.
        """
        try:
            width = np.dtype(dtype).itemsize
        except (TypeError, ValueError):
            width = 0
        if width == 0 or np.dtype(dtype).hasobject:
            raise DMLError(f"Buffer.read: dtype takes a NumPy dtype with a size, found {dtype!r}")
        count = max(0, self.size - offset) // width if count is None else count
        self.download()
        return self._bytes(offset, count * width).copy().view(dtype)

    def upload(self) -> None:
        """Copy the host's view to the device."""
        if self.staged:
            self._move(kompute().OpTensorSyncDevice)

    def download(self) -> None:
        """Copy the device's contents to the host's view."""
        if self.staged:
            self._move(kompute().OpTensorSyncLocal)

    def _move(self, operation: Any) -> None:
        with vulkan_errors(f"copying {self.size} bytes"):
            self.context.manager.sequence().record(operation([self.tensor])).eval()


class Context:
    """A device opened through Kompute. Make one with ``open_context``, so that a process opens a device once."""

    def __init__(self, device: VulkanDevice) -> None:
        self.device = device
        self.lock = threading.RLock()
        kp = kompute()
        with vulkan_errors(f"opening {device.name}"):
            self.manager = kp.Manager(device.index)
        self.has_barriers = hasattr(kp, "OpMemoryBarrier")
        #: Whether the host works on the device's own buffers: it takes a barrier towards the host, which stock Kompute
        #: lacks.
        self.unified = self.has_barriers and device.device_class in (DeviceClass.CPU, DeviceClass.INTEGRATED)
        #: Whether the device tells how long a dispatch took. Stock Kompute never resets its queries, as Vulkan asks.
        self.has_timestamps = self.has_barriers and device.timestamp_bits > 0
        #: S_OK until Vulkan says that the device is lost.
        self.removed_reason = HRESULT.S_OK
        self._pipelines: weakref.WeakValueDictionary[tuple[Any, ...], Any] = weakref.WeakValueDictionary()

    def buffer(self, size: int, *, host: bool = True) -> Buffer:
        return Buffer(self, size, host=host)

    def pipeline(
        self,
        spirv: bytes,
        constants: Sequence[int],
        buffers: Sequence[Buffer],
        groups: tuple[int, int, int],
        push_words: int,
    ) -> Any:
        """Kompute's Algorithm for a kernel with these constants over these buffers; made once while one is in use."""
        key = (spirv, tuple(constants), tuple(buffer.serial for buffer in buffers), groups, push_words)
        pipeline = self._pipelines.get(key)
        if pipeline is None:
            with vulkan_errors("making a compute pipeline"):
                pipeline = self.manager.algorithm(
                    [buffer.tensor for buffer in buffers],
                    spirv,
                    groups,
                    np.array(constants, np.uint32),
                    np.zeros(push_words, np.uint32),
                )
            self._pipelines[key] = pipeline
        return pipeline


_contexts: dict[VulkanDevice, Context] = {}
_opening = threading.Lock()


def open_context(device: VulkanDevice) -> Context:
    """The process's context of that device; another one where it is seen as another kind of device."""
    with _opening:
        if device not in _contexts:
            _contexts[device] = Context(device)
        return _contexts[device]
