"""Uniform buffer contents of kernels (Dispatch.parameters), one buffer per recording."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dml.compiler.program import Dispatch
from dml.runtime.context import Context
from dml.runtime.memory import Bytes

#: Blocks are padded to vectors of four words, as std140 requires of arrays.
BLOCK_BYTES = 16


class Parameters:
    """The dispatches' parameter blocks on the device, without duplicates."""

    def __init__(self, context: Context, dispatches: Iterable[Dispatch]) -> None:
        alignment = max(BLOCK_BYTES, context.device.target.uniform_buffer_alignment)
        #: Block -> its offset in the buffer, and its size.
        self._places: dict[tuple[int, ...], tuple[int, int]] = {}
        end = 0
        for block in dict.fromkeys(dispatch.parameters for dispatch in dispatches):
            if block:
                self._places[block] = end, -(-4 * len(block) // BLOCK_BYTES) * BLOCK_BYTES
                end += -(-4 * len(block) // alignment) * alignment
        #: The buffer; None if no dispatch has parameters.
        self.buffer = context.constant(self._bytes(end)) if end else None

    def _bytes(self, size: int) -> Bytes:
        words = np.zeros(size // 4, np.uint32)
        for block, (start, _) in self._places.items():
            words[start // 4 : start // 4 + len(block)] = block
        return words.view(np.uint8)

    def range(self, dispatch: Dispatch) -> list[tuple[Any, int, int]]:
        """Return the dispatch's block as Kompute binds it: (buffer, offset, size); empty without parameters."""
        if self.buffer is None or not dispatch.parameters:
            return []
        start, size = self._places[dispatch.parameters]
        piece = self.buffer.piece
        return [(piece.native, piece.offset + start, size)]
