"""Device buffers that the host can write and read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array, checked
from dml.enums.naming import no_attribute
from dml.errors import DMLError
from dml.runtime.memory import Piece, Use

if TYPE_CHECKING:
    from dml.runtime.context import Context

Words = npt.NDArray[np.uint32]

#: Replacements for the methods of ID3D12Resource.
_RESOURCE = {
    **dict.fromkeys(("map", "unmap", "write_to_subresource", "read_from_subresource"),
                    "write(array, offset) and read(dtype, count, offset) copy"),
    **dict.fromkeys(("get_desc", "get_desc1", "get_size"), "size is its number of bytes"),
    "get_gpu_virtual_address": "a binding takes the buffer itself: DML_BUFFER_BINDING(buffer, offset, size)",
    "release": "its memory is free when nothing refers to it",
}  # fmt: skip

#: Larger transfers are split into parts of this many bytes, which bounds the staging memory.
TRANSFER_PART = 16 << 20


class Buffer:
    """``size`` bytes on a device, zeroed if ``zero`` is set. keep: as in ``Pool.take``.

    If host and device share memory, the host works on the buffer itself; otherwise only the bytes written or read move,
    through staging memory. Transfers happen in submission order: later work sees a write, and a read waits for earlier
    work.
    """

    def __init__(
        self, context: Context, size: int, *, host: bool = True, zero: bool = True, keep: bool = False
    ) -> None:
        self.context = context
        self.size = size
        shared = host and context.unified
        self._host = host
        self.piece: Piece = context.take(Use.SHARED if shared else Use.DEVICE, size, keep=keep)
        if zero:
            context.fill(self.piece)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, dir(type(self)), _RESOURCE)

    def __repr__(self) -> str:
        return f"<Buffer: {self.size} bytes on {self.context.device.name}>"

    def _check(self, offset: int, size: int) -> None:
        if not self._host:
            raise DMLError(f"a buffer of {self.size} bytes is in device memory: the host cannot read or write it")
        if offset < 0 or size < 0 or offset + size > self.size:
            raise DMLError(f"Buffer: bytes {offset} to {offset + size} are not within its {self.size} bytes")

    @checked
    def write(self, data: npt.ArrayLike, offset: int = 0) -> None:
        """Copy an array's bytes (row-major) into the buffer, ``offset`` bytes from its start.

        Raises DMLError if they do not fit.
        """
        source = np.ascontiguousarray(as_array(data, "Buffer.write")).reshape(-1).view(np.uint8)
        self.write_parts(source.size, lambda start, part: np.copyto(part, source[start : start + part.size]), offset)

    def write_parts(self, size: int, write: Callable[[int, npt.NDArray[np.uint8]], None], offset: int = 0) -> None:
        """Fill ``size`` bytes starting at ``offset``, part by part, by calls of ``write(start, part)``. start: the
        part's first byte, counted from ``offset``.

        Raises DMLError if they do not fit.
        """
        self._check(offset, size)
        for start in range(0, size, TRANSFER_PART):
            count = min(TRANSFER_PART, size - start)
            self.context.upload(count, partial(write, start), self.piece, offset + start)

    @checked
    def read(self, dtype: npt.DTypeLike = np.uint8, count: int | None = None, offset: int = 0) -> npt.NDArray[Any]:
        """Return ``count`` elements of ``dtype`` starting at byte ``offset``, as a copy; by default as many as fit.

        Raises DMLError if the buffer holds fewer.
        """
        try:
            width = np.dtype(dtype).itemsize
        except (TypeError, ValueError):
            width = 0
        if width == 0 or np.dtype(dtype).hasobject:
            raise DMLError(f"Buffer.read: dtype takes a NumPy dtype with a size, found {dtype!r}")
        count = max(0, self.size - offset) // width if count is None else count
        self._check(offset, count * width)
        result = np.empty(count * width, np.uint8)
        for start in range(0, result.size, TRANSFER_PART):
            self.context.download(self.piece, offset + start, result[start : start + TRANSFER_PART])
        return result.view(dtype)


class Mirror:
    """The host's side of a copy that a recording makes: staging memory, or the buffer itself if memory is shared.

    use: Use.UPLOAD or Use.READBACK. size: number of bytes to copy from the buffer's start; None for all. staging:
    memory to copy through; None allocates it. Its contents are undefined.
    """

    def __init__(self, buffer: Buffer, use: Use, size: int | None = None, staging: Piece | None = None) -> None:
        self.buffer = buffer
        size = buffer.size if size is None else size
        if staging is None and not buffer.context.unified:
            staging = buffer.context.take(use, size)
        #: Staging memory; None if host and device share memory.
        self.staging = staging
        view = (staging or buffer.piece).view
        assert view is not None
        #: The copied bytes as 32-bit words.
        self.words: Words = view.view(np.uint32)[: -(-size // 4)]
