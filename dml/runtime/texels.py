"""What llvmpipe knows of a texel buffer as it compiles a kernel is the same for all of them.

That of Mesa 22.3.6 compiles a kernel anew for each combination, over its texel buffers, of two facts: whether the size
of the buffer is a power of two, and whether bits 8 to 15 of the size of the view are zero (it takes them for the last
mipmap level).
"""

from __future__ import annotations

from dml.runtime.memory import PIECE_ALIGNMENT


def buffer_size(size: int) -> int:
    """Bytes to allocate for so many: no power of two, and views may reach PIECE_ALIGNMENT bytes further."""
    size += PIECE_ALIGNMENT
    return size if size & (size - 1) else size + PIECE_ALIGNMENT


def view_size(size: int) -> int:
    """The size of a view of at least so many bytes whose bits 8 to 15 are not all zero."""
    return size if size >> 8 & 0xFF else size + PIECE_ALIGNMENT
