"""Buffers: bytes on a device that the host writes and reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array, checked
from dml.errors import DMLError
from dml.runtime.memory import Piece, Use

if TYPE_CHECKING:
    from dml.runtime.context import Context

Words = npt.NDArray[np.uint32]

#: Larger transfers are made in parts of this many bytes, so that the staging memory for a large buffer stays small.
TRANSFER_PART = 32 << 20


class Buffer:
    """``size`` bytes on a device, zero at first where ``zero`` asks for it.

    Where the host shares the device's memory it works on the buffer itself; elsewhere only the bytes that are written
    or read are moved, through staging memory. Transfers happen in the order of submissions to the device: a write is
    seen by what is executed after it, a read waits for what was executed before.
    """

    def __init__(self, context: Context, size: int, *, host: bool = True, zero: bool = True) -> None:
        self.context = context
        self.size = size
        shared = host and context.unified
        self._host = host
        self.piece: Piece = context.take(Use.SHARED if shared else Use.DEVICE, size)
        if zero:
            context.fill(self.piece)

    def __repr__(self) -> str:
        return f"<Buffer: {self.size} bytes on {self.context.device.name}>"

    def _check(self, offset: int, size: int) -> None:
        if not self._host:
            raise DMLError(f"a buffer of {self.size} bytes is the device's alone: the host neither reads nor writes it")
        if offset < 0 or size < 0 or offset + size > self.size:
            raise DMLError(f"bytes {offset} to {offset + size} are not all in a buffer of {self.size} bytes")

    @checked
    def write(self, data: npt.ArrayLike, offset: int = 0) -> None:
        """Copy an array's bytes (row-major) to ``offset`` bytes from the start, and nothing else.

        Raises DMLError where they do not fit.
        """
        source = np.ascontiguousarray(as_array(data, "Buffer.write")).reshape(-1).view(np.uint8)
        self._check(offset, source.size)
        for start in range(0, source.size, TRANSFER_PART):
            self.context.upload(source[start : start + TRANSFER_PART], self.piece, offset + start)

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
        self._check(offset, count * width)
        result = np.empty(count * width, np.uint8)
        for start in range(0, result.size, TRANSFER_PART):
            self.context.download(self.piece, offset + start, result[start : start + TRANSFER_PART])
        return result.view(dtype)


class Mirror:
    """What the host writes or reads where a recording copies to or from a buffer: staging memory, or the buffer itself
    where host and device share memory.

    use: Use.UPLOAD or Use.READBACK. size: how many of the buffer's first bytes it is about; all of them if None.
    staging: memory for that use to copy through, new if None; its contents are whatever was there.
    """

    def __init__(self, buffer: Buffer, use: Use, size: int | None = None, staging: Piece | None = None) -> None:
        self.buffer = buffer
        size = buffer.size if size is None else size
        if staging is None and not buffer.context.unified:
            staging = buffer.context.take(use, size)
        #: Staging memory, None where there is nothing to copy.
        self.staging = staging
        view = (staging or buffer.piece).view
        assert view is not None
        #: Those bytes as 32-bit words.
        self.words: Words = view.view(np.uint32)[: -(-size // 4)]
